"""explain.compare, repeated, slow, directions, strides, loader, device: their texts."""

import re

import pytest

import pellucid as torch
from pellucid import explain
from pellucid.overrides import TorchFunctionMode
from pellucid.utils._python_dispatch import TorchDispatchMode
from tests.devices.programs import run_program


def chain(x):
    h = x * 2
    return (h + x.sin()).sum()


class Counting(TorchDispatchMode):
    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


class CountingCalls(TorchFunctionMode):
    seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


def test_memory_without_values_is_not_compared():
    def write():
        torch.empty(4096).random_(1, 9)
        return torch.empty(4096).fill_(2.0)

    assert explain.compare(write, write).startswith("call 1 of 4")
    zeros = lambda: torch.empty(4096).zero_()  # noqa: E731
    assert explain.compare(zeros, zeros) == "the same bits in all 2 calls"


def test_modes_around_compared_runs_see_the_ops_of_the_runs_alone():
    x = torch.linspace(0, 1, 8)
    with Counting() as ops, CountingCalls() as calls:
        text = explain.compare(lambda: x * 2, lambda: x * 3)
    assert "differs first" in text and "largest difference" in text
    assert ops.seen == calls.seen == 2

    def within():
        with Counting() as ops:
            chain(x)
        assert ops.seen == 4

    assert explain.compare(within, within) == "the same bits in all 4 calls"


def test_runs_are_compared_op_by_op():
    x = torch.linspace(0, 1, 8)
    same = explain.compare(lambda: chain(x), lambda: chain(x))
    assert same == "the same bits in all 4 calls"
    changed = x.clone()
    changed[3] = 5
    text = explain.compare(lambda: chain(x), lambda: chain(changed))
    head, cause, difference = text.splitlines()
    assert head.startswith("call 0 of 4 differs first: aten.mul.Tensor at test_explain")
    assert "argument 0 differs" in cause
    assert "1 of 8 elements, first at 3: 0.8571429 beside 10;" in difference
    text = explain.compare(lambda: torch.rand(3), lambda: torch.rand(3))
    assert "numbers are drawn, set torch.manual_seed in both" in text
    text = explain.compare(lambda: x.exp(), lambda: x.log())
    assert text.startswith("other ops from call 0: aten.exp.default at ")
    text = explain.compare(lambda: x.exp(), lambda: x.exp().sum())
    assert "then one run goes on with aten.sum" in text


def test_work_that_is_done_twice_is_named():
    x = torch.linspace(0, 1, 8)

    def twice():
        return [x.exp() for _ in range(3)], x.log()

    head, row = explain.repeated(twice).splitlines()
    assert head == "2 of 4 calls repeat another on the same values, same bits"
    assert re.match(r" +3x  aten.exp.default  test_explain_runs.py:\d+", row)
    assert explain.repeated(chain, x) == "nothing was computed twice: 4 calls"


def test_what_is_slow_in_silence_is_listed():
    def reads(x):
        for _ in range(3):
            x = x + x.sum().item()
        return x

    text = explain.slow(reads, torch.ones(4))
    assert "6 calls; besides computing:" in text
    assert re.search(r"ms +3x  values read by Python \(aten::item\)", text)
    with torch.autograd.set_detect_anomaly(True):
        assert "anomaly mode is on" in explain.slow(torch.exp, torch.ones(2))


def test_directions_of_a_line_are_shown_together():
    w = torch.ones(32, 32, requires_grad=True)

    def step():
        h = w @ w
        h.exp().sum().backward()

    head, *rows = explain.directions(step).splitlines()
    assert re.match(r"forward [\d.]+ ms, backward [\d.]+ ms: [\d.]+x;", head)
    assert len(rows) == 2 and all("x  " in row and "step" in row for row in rows)
    assert explain.directions(torch.exp, w) == "no backward pass ran"


def test_strides_say_how_much_of_a_line_is_used():
    text = explain.strides(torch.ones(512, 512).t())
    assert "strides [1, 512]: along the last dimension 1/16 of every line" in text
    assert "a pass over it takes" in text and "contiguous() " in text
    assert "contiguous; every byte" in explain.strides(torch.ones(8, 8))


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, k):
        return torch.full((4,), float(k)).square().sum()


def test_the_parts_of_a_batch_are_reported():
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4)
    text = explain.loader(loader)
    assert "ms a batch, of 3, with 0 workers" in text
    for name in ("sampler", "dataset", "collate"):
        assert f" ms  {name}" in text
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=1)
    text = explain.loader(loader)
    for name in ("dataset, in a worker", "collate, in a worker", "receive, here"):
        assert f" ms  {name}" in text
    assert "a batch is copied once, 16 B, to shared memory; a worker has " in text
    assert len(text.splitlines()) < 20
    with pytest.raises(ValueError, match="no batches of indices"):
        explain.loader(torch.utils.data.DataLoader(Squares(), batch_size=None))


def test_what_a_backend_lacks_is_counted():
    output = run_program(
        """
import pellucid as torch
from toy_device import Toy

class Maps(Toy):
    forms = frozenset({"map"})

torch.devices.register(Maps())
x = torch.ones(3, device="toy")
print(torch.explain.device(lambda: ((x + 1).sum(), (x + 2).sum())))
print(torch.explain.device(lambda: x + 1))
print(torch.explain.device(lambda: torch.ones(2)))
"""
    )
    head, row, *others = output.splitlines()
    assert head == "2 of 4 steps ran on the CPU instead:"
    assert "2x  aten::sum: " in row and row.endswith("is not in forms")
    assert others == [
        "all 1 steps ran on the device",
        "no step ran on a backend's device",
    ]
