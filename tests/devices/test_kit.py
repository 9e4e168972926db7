"""The conformance kit: its report for correct backends and for faulty ones.

Each program runs in a process of its own: the first backend is its accelerator.
"""

import json

import pytest

from tests.devices.programs import ROOT, run, run_program

SABOTAGED = """
import numpy as np
import pellucid as torch
from pellucid.devices import check, reference
from toy_device import BASE, Toy

class Wrong(Toy):
    {body}

print(check.run(Wrong(), {sections}))
"""


@pytest.mark.parametrize("name", ["toy", "twin", "emu"])
def test_right_backends_pass(name):
    report = json.loads(run(str(ROOT / "tests" / "devices" / "run_kit.py"), name))
    assert report["failures"] == [], report["text"]
    assert min(report["checked"].values()) >= 2
    if name == "emu":
        assert report["launched"] > 1000
    if name == "toy":
        assert report["checked"]["ops"] > 1900
        assert report["launched"] > 10_000


@pytest.mark.parametrize(
    ("body", "section", "words"),
    [
        # Blocks are too short and share bytes.
        (
            "def allocate(self, device, nbytes): "
            "return Toy.allocate(self, device, max(nbytes - 64, 1))",
            "memory",
            "inside of a block that is not released",
        ),
        # Memory is never freed.
        ("def release(self, *rest): pass", "memory", "no free block"),
        # All devices share one memory.
        (
            "def to_host(self, device, address, into): "
            "Toy.to_host(self, 0, address, into)",
            "memory",
            "differ",
        ),
        (
            "def from_host(self, device, address, data): pass",
            "serialization",
            "was found",
        ),
        (
            "def allocate(self, device, n): return Toy.allocate(self, device * 5, n)",
            "memory",
            "IndexError",
        ),
        ("def launch(self, launch): return None", "views", "differ"),
        ("def launch(self, launch): return 1", "autograd", "returned 1; return None"),
        ("def launch(self, launch): raise OSError('fire')", "dtypes", "OSError: fire"),
        # The result is written past the end of its block.
        (
            "def launch(self, launch):\n"
            "        out = launch.operands[0]\n"
            "        end = 64 * max(1, *out.sizes) if out.sizes else 64\n"
            "        at = out.address - BASE\n"
            "        self.memories[launch.device].bytes[at : at + 4096] = 7",
            "views",
            "bytes behind a block",
        ),
    ],
)
def test_wrong_backends_are_found(body, section, words):
    output = run_program(SABOTAGED.format(body=body, sections=[section]))
    verdict = next(line for line in output.splitlines() if f"  {section} " in line)
    assert verdict.endswith("failed"), output
    assert words in output


HANGING = """
import time
import pellucid as torch
from pellucid.devices import check
from toy_device import Toy

class Hanging(Toy):
    def launch(self, launch):
        time.sleep(600)

check.run(Hanging(), ["dtypes"], timeout=1)
"""


def test_a_backend_that_hangs_ends_the_run_and_is_named():
    text = run_program(HANGING, expected=1)
    assert "has not ended after 1 s" in text
    assert "in launch" in text


REGISTERED = """
import pellucid as torch
from toy_device import Toy

class Wrong(Toy):
    {body}

try:
    torch.devices.register(Wrong())
    (torch.ones(3, device="toy") + 1).tolist()
except BaseException as error:
    print(type(error).__name__, error, *getattr(error, "__notes__", ()))
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("to_host = None", "TypeError toy has no method to_host(), which every"),
        ("streams = True", "TypeError toy has no method new_stream(), which streams"),
        ("forms = {'mapp'}", "ValueError toy: forms has ['mapp']; the forms are"),
        ("name = 'item'", "RuntimeError a backend cannot be named 'item': Tensor.item"),
        ("count = -1", "ValueError toy: count must be an int in 1..127, not -1"),
        (
            "alignment = 64\n"
            "    def allocate(self, *given): return Toy.allocate(self, *given) + 1",
            "which is not a multiple of the alignment 64",
        ),
        (
            "def allocate(self, *rest): raise MemoryError('full')",
            "OutOfMemoryError toy:0 has no memory for",
        ),
        (
            "def allocate(self, *rest): raise OSError('fire')",
            "OSError fire raised by toy's allocate() for toy:0",
        ),
        (
            "def to_host(self, *rest): raise OSError('fire')",
            "OSError fire raised by toy's to_host() for toy:0",
        ),
        (
            "def launch(self, launch): raise OSError('fire')",
            "OSError fire raised by launch() of",
        ),
    ],
)
def test_wrong_backends_get_an_error_that_names_them(body, words):
    text = run_program(REGISTERED.format(body=body))
    assert words in text
    assert len(text.splitlines()) <= 10


def test_the_command_names_what_it_expects():
    done = run("-m", "pellucid.devices.check", "json:loads", expected=1)
    assert "names 0 subclasses of pellucid.devices.Backend" in done
    done = run("-m", "pellucid.devices.check", "twin", "nothing", expected=1)
    assert "no section 'nothing'; there are memory," in done


def test_the_command_prints_a_report():
    text = run("-m", "pellucid.devices.check", "examples/toy_device.py", "streams")
    assert text.splitlines()[0].startswith("toy: 2 devices; launches gemm, map,")
    assert text.splitlines()[1].split() == ["streams", "2", "checks", "ok"]
    assert "2 checks, 0 failed" in text
