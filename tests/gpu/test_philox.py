"""Random numbers of devices that have generators: Philox, by kernels."""

import numpy as np
import pytest

from pellucid_compiler.declare.words import philox
from pellucid_compiler.ir.evaluate import evaluate
from pellucid_compiler.ir.expr import const
from tests.devices.programs import run_program

START = """
import pellucid as torch
from pellucid.devices import emulated
device = emulated.Emulated(order=0)
torch.devices.register(device)
"""
PI = "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" ".join(["00000000"] * 6), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (" ".join(["ffffffff"] * 6), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (PI, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_words_are_those_of_the_published_vectors(given, expected):
    """Of Random123's ``kat_vectors``: the counter, then the key, low words first."""
    words = [int(word, 16) for word in given.split()]
    wide = [a | b << 32 for a, b in zip(words[::2], words[1::2], strict=True)]
    low, high, key = (const(int(np.uint64(w).astype(np.int64)), "int64") for w in wide)
    drawn = [int(evaluate(word)) % 2**32 for word in philox(key, (low, high))]
    assert " ".join(f"{word:08x}" for word in drawn) == expected


def test_a_kernel_draws_these_words_whatever_the_grid():
    output = run_program(
        START
        + """
def words(seed, offset, blocks=700):
    zero = torch.zeros((), dtype=torch.int64).to("emu")
    drawn = torch._C._pellucid._philox_words(zero, zero, seed, offset, blocks)
    return drawn.cpu()

first = words(0, 0)
print(" ".join(f"{word % 2**32:08x}" for word in first[0].tolist()))
same = []
for order, blocks in ((1, 1), (7, 2), (8, 5)):
    device.order, emulated.BLOCKS = order, blocks
    same.append(torch.equal(words(0, 0), first))
zero = torch.zeros((), dtype=torch.int64)
on_cpu = torch._C._pellucid._philox_words(zero, zero, 5, 8, 3)
print(same, torch.equal(words(5, 8, 3), on_cpu))
print((words(5, 12, 3) == on_cpu).any().item())
print(torch.devices.counts("emu")["fallbacks"])
"""
    )
    assert output.splitlines() == [
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        "[True, True, True] True",
        "False",
        "0",
    ]


def test_fills_and_elementwise_draws_take_no_step_on_the_cpu():
    output = run_program(
        START
        + """
with torch.devices.trace() as log:
    x = torch.rand(3, 5, device="emu")
    for fill in ("uniform_", "normal_", "random_", "bernoulli_", "exponential_",
                 "cauchy_", "log_normal_"):
        getattr(x, fill)()
    x.geometric_(0.5), x.t().uniform_(), x[:, ::2].normal_()
    torch.randn_like(x), torch.randint(3, (4,), device="emu"), torch.rand_like(x)
    torch.nn.functional.dropout(x, 0.25), torch.bernoulli(x.uniform_())
    torch.normal(x, 1.0), torch.randn(2, dtype=torch.complex64, device="emu")
print(sorted({event.outcome for event in log}), len(log) > 30)
"""
    )
    assert output.splitlines() == ["['launched'] True"]


def test_draws_have_their_distributions():
    output = run_program(
        START
        + """
torch.manual_seed(2)
def drawn(make):
    return make().double().cpu()
empty = lambda dtype, n=4000: torch.empty(n, dtype=dtype, device="emu")
for dtype in (torch.float64, torch.float32, torch.bfloat16):
    u = drawn(lambda: empty(dtype).uniform_(-1, 1))
    z = drawn(lambda: empty(dtype).normal_(2, 3))
    print(u.min().item() >= -1, u.max().item() < 1, abs(u.mean().item()) < 0.05,
          abs(z.mean().item() - 2) < 0.2, abs(z.std().item() - 3) < 0.15)
wide = empty(torch.int64).random_(-2**62, 2**63 - 1).cpu()
full = empty(torch.int64).random_(-2**63, None).cpu()
thirds = empty(torch.int64, 20000).random_(0, 3 * 2**61).cpu().double() / 2**61
thirds = thirds.long().bincount() / 20000
off = (thirds - torch.tensor([0.375, 0.375, 0.25])).abs()
print((off < 0.02).all().item())
dice = torch.randint(1, 7, (3000,), device="emu").cpu()
bytes = empty(torch.uint8).random_().cpu()
print(wide.min() >= -2**62, wide.max() > 2**61, (full < 0).double().mean().item() > 0.4)
print(dice.bincount().min() == 0, (dice.bincount()[1:] > 420).all(), bytes.max() > 250)
print(sorted(torch.randperm(60, device="emu").tolist()) == list(range(60)))
rates = torch.full((2000,), 4.0).to("emu")
print(abs(torch.poisson(rates).mean().item() - 4) < 0.2,
      abs(torch._standard_gamma(rates).mean().item() - 4) < 0.2,
      abs(torch.binomial(rates, rates / 8).mean().item() - 2) < 0.2)
chosen = torch.multinomial(torch.tensor([1.0, 0, 3]).to("emu"), 400, True).bincount()
print(chosen[1].item(), 250 < chosen[2].item() < 350)
"""
    )
    for line in output.splitlines()[:-1]:
        assert "False" not in line, output
    assert output.splitlines()[-1] == "0 True"


def test_a_state_is_the_seed_and_the_offset():
    output = run_program(
        START
        + """
torch.manual_seed(9)
own = torch.Generator("emu:1")
print(own.device, own.initial_seed(), torch.emu.initial_seed(), torch.rand(2).tolist())
state = torch.emu.get_rng_state()
a, b = (torch.rand(5, device="emu") for _ in range(2))
print(state.tolist(), torch.emu.default_generators[0].get_offset())
torch.emu.set_rng_state(state)
print(torch.equal(torch.rand(5, device="emu"), a), torch.equal(a, b))
own.manual_seed(9).set_offset(4)
copy, shared = own.clone_state(), own.graphsafe_get_state()
print(torch.equal(torch.rand(5, device="emu", generator=own), b))
print(copy.get_offset(), shared.get_offset())
copy.graphsafe_set_state(own)
torch.rand(1, device="emu", generator=copy)
print(own.get_offset(), len(torch.emu.get_rng_state_all()))
for wrong in (
    lambda: own.set_offset(6),
    lambda: own.set_offset(-4),
    lambda: own.set_offset(2**63),
    lambda: torch.rand(1, device="emu", generator=copy.set_offset(2**63 - 4)),
    lambda: torch.Generator().get_offset(),
    lambda: torch.Generator().graphsafe_get_state(),
    lambda: own.set_state(torch.default_generator.get_state()),
    lambda: torch.rand(1, device="emu", generator=torch.Generator()),
    lambda: torch.rand(1, generator=own),
):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, error)
"""
    )
    lines = output.splitlines()
    assert lines[0].startswith("emu:1 67280421310721 9 [0.")
    assert lines[1] == f"{[9] + [0] * 15} 8"
    assert lines[2:6] == ["True False", "True", "4 8", "12 2"]
    assert lines[6].startswith("RuntimeError the offset of a generator is a multiple")
    assert "4 from 0 to 2**63 - 4, and not negative" in lines[7]
    assert "4 from 0 to 2**63 - 4, and not as great" in lines[8]
    assert lines[9].endswith(
        "at the offset 9223372036854775804 has no 4 words left; seed it again"
    )
    assert lines[10].startswith("RuntimeError get_offset(): a generator of the CPU")
    assert lines[11].startswith("NotImplementedError graphsafe_get_state(): ")
    assert lines[12].startswith("RuntimeError the state of a device's generator has 16")
    assert "of the type 'emu', from which emu draws, but got one of 'cpu'" in lines[13]
    assert "of the type 'cpu', from which cpu draws, but got one of 'emu'" in lines[14]


def test_forks_and_checkpoints_restore_the_devices_states():
    output = run_program(
        START
        + """
from pellucid.utils.checkpoint import (
    checkpoint, get_device_states, set_device_states
)
generator = torch.emu.default_generators[0]
with torch.random.fork_rng(devices=[0], device_type="emu"):
    first = torch.rand(3, device="emu")
print(generator.get_offset(), torch.equal(torch.rand(3, device="emu"), first))
for reentrant in (True, False):
    x = torch.ones(300, device="emu", requires_grad=True)
    y = checkpoint(torch.nn.functional.dropout, x, use_reentrant=reentrant)
    before = generator.get_offset()
    torch.rand(3, device="emu")
    y.sum().backward()
    print(torch.equal(x.grad, y.detach()), generator.get_offset() - before)
devices, states = get_device_states(x)
y = torch.nn.functional.dropout(x)
set_device_states(devices, states, device_type=x.device.type)
print(torch.equal(torch.nn.functional.dropout(x), y))
"""
    )
    assert output.splitlines() == ["0 True", "True 4", "True 4", "True"]
