"""``torch.nn.parallel.data_parallel``: the module where libraries import it."""

from pellucid.nn.parallel import DataParallel as DataParallel

__all__ = ["DataParallel"]
