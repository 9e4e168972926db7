"""``torch.multiprocessing.pool``: Python's pool, which sends tensors as they are."""

from multiprocessing.pool import Pool as Pool

__all__ = ["Pool"]
