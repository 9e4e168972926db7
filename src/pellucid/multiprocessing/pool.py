"""``torch.multiprocessing.pool``: Python's pool, with tensors in shared memory."""

from multiprocessing.pool import Pool as Pool

__all__ = ["Pool"]
