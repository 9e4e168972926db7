"""The chip of ``examples/toy_device.py``: kernels launched in NumPy, and bad backends.

Each program runs in a process of its own: the first backend is its accelerator.
"""

import pytest

from tests.devices.programs import ROOT, run, run_program


def test_the_example_has_at_most_150_lines():
    path = ROOT / "examples" / "toy_device.py"
    assert len(path.read_text().splitlines()) <= 150


def test_no_step_of_a_perceptrons_training_runs_on_the_host():
    lines = run(str(ROOT / "examples" / "toy_device.py")).splitlines()
    assert float(lines[0].split()[1].rstrip(";")) < 0.6
    steps = [line for line in lines if line.startswith("aten::") or "::" in line]
    assert len(steps) > 5
    assert [line for line in steps if "host:" in line and "normal" not in line] == []


PRELUDE = """
import numpy as np
import pellucid as torch
from toy_device import Toy
"""


def test_the_names_of_a_registered_type():
    output = run_program(
        PRELUDE
        + """
torch.devices.register(Toy())
x = torch.ones(2).toy(1)
print(x.is_toy, x.device, torch.toy.device_count(), torch.toy.is_available())
torch.toy.set_device(1)
print(torch.empty(1, device="toy").device, torch.get_device_module("toy").__name__)
weight = torch.nn.Linear(2, 2).toy().weight
print(weight.device, torch.accelerator.current_accelerator())
"""
    )
    assert output.splitlines() == [
        "True toy:1 2 True",
        "toy:1 pellucid.toy",
        "toy:1 toy",
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def allocate(self, device, nbytes): return None", "returned None; expected"),
        ("def allocate(self, device, nbytes): return 64", "not released yet"),
        ("name = 'npu1'", "letters alone"),
        ("name = 'cuda'", "torch.cuda exists"),
        ("count = 0", "1..127"),
        ("def to_host(self, *rest): raise OSError('bus')", "bus"),
        ("def launch(self, launch): raise OSError('fire')", "fire"),
        ("def launch(self, launch): return 0", "returned 0; return None"),
        (
            "def allocate(self, *rest): raise MemoryError('full')",
            "no memory for 8 byte",
        ),
    ],
)
def test_a_broken_backend_gets_an_error_that_names_it(body, words):
    output = run_program(
        PRELUDE
        + f"""
class Broken(Toy):
    {body}

try:
    torch.devices.register(Broken())
    x, y = torch.ones(2, device="toy"), torch.ones(2, device="toy")
    print(x.tolist(), (x + y).tolist())
except Exception as error:
    print(error)
"""
    )
    assert words in output
    assert len(output.splitlines()) <= 10


def test_a_kernel_of_an_op_precedes_launches():
    output = run_program(
        PRELUDE
        + """
torch.devices.register(Toy())
library = torch.library.Library("aten", "IMPL")
library.impl("sin", lambda x: torch.full_like(x, 7), "PrivateUse1")
print(torch.ones(2, device="toy").sin().tolist())
"""
    )
    assert output.strip() == "[7.0, 7.0]"


def test_forms_that_a_backend_does_not_list_run_on_the_host():
    output = run_program(
        PRELUDE
        + """
class Maps(Toy):
    forms = frozenset({"map"})

torch.devices.register(Maps())
with torch.devices.trace() as log:
    x = torch.ones(3, device="toy")
    (x + 1).sum()
print([(e.op, e.outcome) for e in log if e.op.startswith(("aten::add", "aten::sum"))])
"""
    )
    assert output.strip() == str(
        [
            ("aten::add.Tensor", "launched"),
            ("aten::sum", "host: reduce is not in forms"),
        ]
    )


def test_what_is_no_backend_is_refused():
    output = run_program(
        PRELUDE
        + """
for given in (object(), Toy):
    try:
        torch.devices.register(given)
    except TypeError as error:
        print(error)
"""
    )
    assert output.count("an object of a subclass of pellucid.devices.Backend") == 2


def test_a_failed_kernel_raises_the_cpus_error_and_the_device_goes_on():
    output = run_program(
        PRELUDE
        + """
torch.devices.register(Toy())
def messages(device):
    x, zero = torch.arange(4, device=device), torch.zeros(4, device=device).long()
    for call in (
        lambda: x // zero,
        lambda: x.float()[torch.tensor([9], device=device)],
        lambda: x.float()[torch.tensor([[1, 2], [7, 9]], device=device)],
        lambda: torch.nn.functional.embedding(x + 5, x.view(2, 2)),
        lambda: torch.nn.functional.binary_cross_entropy(x.double(), zero.double()),
    ):
        try:
            call()
        except Exception as error:
            yield type(error).__name__, str(error)
    yield (x + 1).tolist()
found, known = list(messages("toy")), list(messages("cpu"))
print(len(found), found == known, found if found != known else "")
"""
    )
    assert output.split()[:2] == ["6", "True"], output


def test_no_step_of_a_transformers_training_runs_on_the_host():
    output = run_program(
        PRELUDE
        + """
from pellucid.devices.check.training import MODELS, losses_of
torch.devices.register(Toy())
for name in MODELS:
    for optimizer in ("SGD", "AdamW"):
        torch.devices.set_fallback("toy", "error")
        before = torch.devices.counts("toy")
        losses = losses_of(name, "toy", optimizer)
        torch.devices.set_fallback("toy", "allow")
        known = losses_of(name, "cpu", optimizer)
        counts = torch.devices.counts("toy")
        close = max(abs(a - b) for a, b in zip(losses, known)) < 1e-4
        print(close, counts["fallbacks"] - before["fallbacks"], known[0] > known[-1])
"""
    )
    assert output.splitlines() == ["True 0 True"] * 6
