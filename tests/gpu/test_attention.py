"""Attention on a grid of threads: values, bits, barriers, and what it refuses."""

import functools

import numpy as np
import pytest

from pellucid.devices import emulated
from pellucid.devices.emulated import Compiled, Placed, compiled, run_grid
from pellucid_compiler.codegen.builder import I64
from pellucid_compiler.codegen.targets.x86 import host_target
from pellucid_compiler.devices.parse import parse_kernel
from pellucid_compiler.gpu.block_roles import Roles
from pellucid_compiler.gpu.builder import EmulatedFunction
from pellucid_compiler.gpu.generate import grid_module
from pellucid_compiler.pack.jit import Executable, compile_blob
from tests.gpu.attention_cases import KINDS, Case, block, shape_of

ORDERS = (0, 1, 7)  # ascending, descending, random
# Two tiles of queries and of keys, the last ones smaller; of float64 tiles are small.
SMALL = (1, 40, 35, 24), "float64"


def run(case, order=0):
    launch, results, _memory = case.launch()
    placed = Placed.of(launch)
    code = compiled(launch.kernel, placed.shape)
    assert run_grid(code, launch, placed, order) == 0
    return results


class Skipping(EmulatedFunction):
    """Leaves out the barrier whose number, counted from 1, the status is at first."""

    def barrier(self):
        number = self.module.num_barriers + 1
        is_other = self.load(self.status, I64).differs(number)
        self.branch(is_other, super().barrier)


@functools.cache
def compiled_to_skip(backward):
    launch, *_ = Case("causal", *SMALL, backward).launch()
    module = grid_module(launch.kernel, Placed.of(launch).shape, Skipping)
    executable = Executable(compile_blob(module.printed(), host_target()))
    return Compiled(executable, module.shared_bytes)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("kind", "sizes", "dtype"),
    [
        *((kind, (2, 40, 50, 16), "float64") for kind in KINDS),
        ("causal", (1, 130, 70, 40), "float32"),
        ("causal", (1, 3, 70, 7), "float64"),
    ],
)
def test_values_are_those_of_whole_matrices(kind, sizes, dtype, backward):
    case = Case(kind, sizes, dtype, backward)
    bound = 2e-6 if dtype == "float32" else 1e-14
    for actual, expected in zip(run(case), case.expected(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("backward", [False, True])
def test_the_grid_and_the_order_of_threads_do_not_change_a_bit(backward, monkeypatch):
    case = Case("causal", *SMALL, backward)
    expected = run(case)
    for order, blocks in zip(ORDERS, (1, 3, 5), strict=True):
        monkeypatch.setattr(emulated, "BLOCKS", blocks)
        for one, other in zip(run(case, order), expected, strict=True):
            assert one.tobytes() == other.tobytes()


BARRIERS = {False: 4, True: 16}


@pytest.mark.parametrize(
    ("backward", "barrier"),
    [(b, k) for b, count in BARRIERS.items() for k in range(count)],
)
def test_every_barrier_is_missed_when_it_is_removed(backward, barrier):
    launch, _, _memory = Case("causal", *SMALL, backward).launch()
    arguments = compiled_to_skip(backward), launch, Placed.of(launch), 7
    with pytest.raises(RuntimeError, match="shared memory that"):
        run_grid(*arguments, before=barrier + 1)


@pytest.mark.parametrize("backward", [False, True])
def test_the_barriers_are_all_that_there_are(backward):
    _, kernel, _ = block("causal", backward=backward)
    module = grid_module(kernel, shape_of(kernel, 32), EmulatedFunction)
    assert module.num_barriers == BARRIERS[backward]
    assert module.shared_bytes < 48 << 10


def test_the_softmax_is_online_and_the_gradient_takes_three_sweeps():
    for kind in KINDS:
        _, forward, _ = block(kind)
        _, backward, _ = block(kind, backward=True)
        sweeps = [Roles(k.form, len(k.outputs)).num_sweeps for k in (forward, backward)]
        assert sweeps == [1, 3]


@pytest.mark.parametrize("backward", [False, True])
def test_the_text_of_a_block_is_read_back(backward):
    _, kernel, _ = block("additive", backward=backward)
    assert parse_kernel(kernel.text).text == kernel.text


def test_wide_heads_are_refused():
    _, kernel, _ = block("plain")
    assert Placed.of(Case("plain", (1, 2, 2, 129)).launch()[0]).shape.reduced == 256
    with pytest.raises(NotImplementedError, match="more than 128 features"):
        grid_module(kernel, shape_of(kernel, 256))
