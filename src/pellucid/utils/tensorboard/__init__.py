"""``torch.utils.tensorboard``: event files that TensorBoard shows.

The package tensorboard (its protocol buffers and file writer) does the writing;
``summary.py`` makes the messages, ``writer.py`` has the classes of users.
"""

try:
    from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter
except ImportError as _error:
    raise ImportError(
        "torch.utils.tensorboard writes through the package tensorboard, which is not "
        "installed: pip install tensorboard"
    ) from _error


from pellucid.utils.tensorboard.writer import FileWriter as FileWriter
from pellucid.utils.tensorboard.writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
