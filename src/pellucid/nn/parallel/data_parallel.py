"""``torch.nn.parallel.data_parallel``: the module from which libraries import it."""

from pellucid.nn.parallel import DataParallel as DataParallel

__all__ = ["DataParallel"]
