"""Event files for TensorBoard, written through the package ``tensorboard``.

Example::

    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        for step in range(100):
            writer.add_scalar("loss", 1 / (step + 1), step)
"""

try:
    from tensorboard.summary.writer.record_writer import RecordWriter
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "tensorboard":
        raise
    raise ModuleNotFoundError(
        "torch.utils.tensorboard writes its files through the package tensorboard, "
        "which is not installed: pip install tensorboard",
        name="tensorboard",
    ) from None

from pellucid.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
