"""Tests of ``torch.utils.tensorboard``, through the package where it is installed."""

import importlib.util
import subprocess
import sys

import pytest

import pellucid as torch

_IS_HERE = importlib.util.find_spec("tensorboard") is not None
needs_package = pytest.mark.skipif(not _IS_HERE, reason="tensorboard is not installed")


def test_a_missing_package_is_named():
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "try:\n    import pellucid.utils.tensorboard\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install tensorboard" in done.stdout


def _values(folder):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (file,) = folder.glob("events*")
    events = list(EventFileLoader(str(file)).Load())
    return {v.tag: (e.step, v) for e in events for v in e.summary.value}


@needs_package
def test_what_is_written_is_read(tmp_path):
    from pellucid.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(1.5), 7)
        writer.add_histogram("weights", torch.arange(8.0), 1)
        writer.add_images("images", torch.rand(9, 1, 4, 5))
        writer.add_text("note", "hello")
        writer.add_graph(torch.nn.Sequential(torch.nn.Linear(3, 2)), torch.ones(1, 3))
    found = _values(tmp_path)
    assert found["loss"][0] == 7
    assert {"loss", "weights", "images", "note/text_summary"} <= set(found)


@needs_package
def test_histograms_count_values():
    from pellucid.utils.tensorboard import summary

    made = summary.histogram("h", torch.tensor([1.0, 2, 2, 3]), bins=[0, 1, 2, 3, 4])
    held = made.value[0].histo
    assert list(held.bucket) == [0, 1, 2, 1]
    assert (held.min, held.max, held.num, held.sum) == (1, 3, 4, 8)
    with pytest.raises(ValueError, match="no values"):
        summary.histogram("h", torch.ones(0), bins=[0, 1])
