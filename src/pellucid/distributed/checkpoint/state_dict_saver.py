"""``torch.distributed.checkpoint.state_dict_saver``: ``save`` where libraries find
it.
"""

from pellucid.distributed.checkpoint._state import async_save, save

__all__ = ["async_save", "save"]
