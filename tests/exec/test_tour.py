"""The tour: the map of layers from the source, with the stage of a call in each."""

import subprocess
import sys
from pathlib import Path

import pytest

import pellucid as torch
import pellucid_compiler


def test_the_map_is_that_of_the_source():
    root = Path(pellucid_compiler.__file__).parent
    folders = {path.parent.name for path in root.glob("*/__init__.py")}
    actual = torch.tour.layers()
    assert {layer.name for layer in actual} == folders
    assert all(layer.purpose and layer.files and layer.lines for layer in actual)


def test_a_call_is_shown_at_every_stage():
    x = torch.randn(8, 8)
    tour = torch.tour(lambda: torch.softmax(x, -1).relu())
    stages = dict(tour.stages())
    assert stages["declare"].startswith("softmax.int(Tensor self")
    assert "fuse 6->3" in stages["passes"] and " = rows(" in stages["lower"]
    assert stages["codegen"] == "rows (f32) () -> (f32)"
    names = [name.strip() for name, _ in tour.runs()]
    assert names[0].startswith("call aten::softmax") and "call aten::relu" in names
    assert len(str(tour).splitlines()) <= 30


def test_a_function_without_ops_is_refused():
    with pytest.raises(ValueError, match="called no op"):
        torch.tour(lambda: None)


def test_the_command_walks_through_a_call_of_its_own():
    command = [sys.executable, "-m", "pellucid.tour"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "softmax" in done.stdout and len(done.stdout.splitlines()) <= 30
