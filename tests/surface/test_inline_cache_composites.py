"""Repeated composites and joins: what one call decided must fit the next.

As in test_inline_cache.py, every case first calls often enough to be kept, and then
changes the one thing that must not be taken from there (runtime/intrinsics/repeat.h).
"""

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd.graph import saved_tensors_hooks
from pellucid.utils._python_dispatch import TorchDispatchMode

Tensor = torch.Tensor


def again(call: Callable[[], Any]) -> Any:
    """The result of a call that has come often enough to be kept."""
    for _ in range(5):
        result = call()
    return result


@pytest.fixture
def a() -> Tensor:
    return torch.arange(6.0).reshape(2, 3)


# Composites


def test_a_view_or_a_copy_by_the_strides(a: Tensor) -> None:
    def flat(x: Tensor) -> Tensor:
        return x.reshape(6)

    assert again(lambda: flat(a)).data_ptr() == a.data_ptr()
    turned = a.t()
    copied = again(lambda: flat(turned))
    assert copied.data_ptr() != a.data_ptr()
    assert copied.tolist() == [0, 3, 1, 4, 2, 5]
    assert again(lambda: a.flatten())._base is flat(a)._base
    again(lambda: a.reshape(6))[5] = 50
    assert a[1, 2].item() == 50


def test_the_tensor_itself_or_a_copy(a: Tensor) -> None:
    assert again(lambda: a.contiguous()) is a
    assert again(lambda: a.t().contiguous()).tolist() == a.t().tolist()
    b = torch.ones(2, 3)
    assert b.contiguous() is b
    assert again(lambda: a.to(torch.float32)) is a
    assert a.to(torch.float32, copy=True) is not a
    assert again(lambda: a.to(torch.float32, copy=True)) is not a
    assert again(lambda: b.to(a)) is b
    assert b.to(a.double()).dtype == torch.float64
    assert again(lambda: a.flatten(0, 0)) is a


def test_sizes_and_dtypes_are_part_of_the_call(a: Tensor) -> None:
    assert again(lambda: a.reshape(3, -1)).shape == (3, 2)
    assert a.reshape(-1, 6).shape == (1, 6)
    assert torch.ones(2, 6).reshape(3, -1).shape == (3, 4)
    with pytest.raises(RuntimeError):
        torch.ones(2, 2).reshape(3, -1)
    assert again(lambda: a.to(torch.int32)).dtype == torch.int32
    assert a.double().to(torch.int32).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert a.to(torch.int64).dtype == torch.int64
    sizes = [2, 3]
    again(lambda: a.reshape(sizes))
    sizes.reverse()
    assert a.reshape(sizes).shape == (3, 2)


def test_gradients_go_through_cached_calls() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert not again(lambda: x.reshape(6)).requires_grad
    x.requires_grad_()
    y = again(lambda: x.reshape(6))
    assert y.grad_fn.name() == "ViewBackward0"
    z = again(lambda: x.to(torch.float64))
    (y.sum() + (z * 2).sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [[3] * 3] * 2
    assert x.grad.dtype == torch.float32
    with torch.no_grad():
        assert again(lambda: x.to(torch.float64)).grad_fn is None
        assert again(lambda: x.reshape(6)).grad_fn is None
    assert not again(lambda: x.detach()).requires_grad
    assert again(lambda: x.contiguous()) is x


def test_writes_into_a_cached_view_are_recorded() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    again(lambda: x.reshape(6))
    y = x * 2
    y.reshape(6).mul_(3)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[6] * 3] * 2
    with pytest.raises(RuntimeError, match="leaf"):
        x.reshape(6).add_(1)


def test_detached_tensors_share_memory_and_versions(a: Tensor) -> None:
    alias = again(lambda: a.detach())
    alias[0, 0] = 7
    assert a[0, 0].item() == 7
    assert a._version == alias._version


def test_empty_tensors_are_new_and_as_requested() -> None:
    first, second = again(lambda: torch.empty(2, 3)), torch.empty(2, 3)
    assert first.data_ptr() != second.data_ptr()
    assert torch.empty(3, 2).shape == (3, 2)
    assert again(lambda: torch.empty(2, dtype=torch.int64)).dtype == torch.int64
    assert again(lambda: torch.empty(2, device="meta")).device.type == "meta"
    assert torch.empty(2, requires_grad=True).requires_grad
    last = again(lambda: torch.empty(1, 2, 3, 4, memory_format=torch.channels_last))
    assert last.stride() == (24, 1, 8, 2)
    with torch.inference_mode():
        assert again(lambda: torch.empty(2, 3)).is_inference()
    assert not torch.empty(2, 3).is_inference()


def test_modes_see_the_ops_of_cached_composites(a: Tensor) -> None:
    seen: list[str] = []

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    def call() -> Tensor:
        return torch.cat([a.reshape(6), a.reshape(6)]).to(torch.float64)

    again(call)
    with Dispatched():
        call()
    assert seen == ["aten.view.default"] * 2 + [
        "aten.cat.default",
        "aten._to_copy.default",
    ]
    assert again(call).shape == (12,)


def test_hooks_on_saved_tensors_and_autocast(a: Tensor) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    packed: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tensor)
        return tensor

    again(lambda: (x.reshape(6) * x.reshape(6)).sum())
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        (x.reshape(6) * x.reshape(6)).sum()
    assert len(packed) == 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert again(lambda: a.reshape(2, 3) @ a.t()).dtype == torch.bfloat16


def run(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_kernel_of_the_op_beneath_that_is_replaced() -> None:
    program = """
import pellucid as torch
x = torch.tensor([0.5])
for _ in range(5): x.to(torch.float64)
library = torch.library.Library("aten", "IMPL")
calls = []
def copied(given, **options):
    calls.append(1)
    return torch.ones(1, dtype=torch.float64) + 100
library.impl("_to_copy", copied, "CPU")
print(*[x.to(torch.float64).item() for _ in range(5)], len(calls))
"""
    assert run(program) == ["101.0"] * 5 + ["5"]


def test_ops_of_users_are_called_every_time() -> None:
    program = """
import pellucid as torch
library = torch.library.Library("mine", "FRAGMENT")
library.define("count(Tensor x) -> Tensor")
calls = []
def count(x):
    calls.append(1)
    return x + len(calls)
library.impl("count", count, "CompositeExplicitAutograd")
x = torch.zeros(1)
print(*[torch.ops.mine.count(x).item() for _ in range(6)])
"""
    assert run(program) == [f"{float(k)}" for k in range(1, 7)]


# Lists of tensors


def test_the_pieces_of_the_next_list(a: Tensor) -> None:
    pieces = [a, a]
    again(lambda: torch.cat(pieces))
    pieces[1] = a + 1
    assert torch.cat(pieces).tolist() == [[0, 1, 2], [3, 4, 5], [1, 2, 3], [4, 5, 6]]
    pieces.append(a)
    assert torch.cat(pieces).shape == (6, 3)
    assert torch.cat((a, a)).shape == (4, 3)
    assert torch.cat(pieces, 1).shape == (2, 9)
    assert again(lambda: torch.stack(pieces, -1)).shape == (2, 3, 3)
    pieces[0] = torch.ones(3, 2)
    with pytest.raises(RuntimeError):
        torch.stack(pieces, -1)


def test_pieces_of_other_kinds(a: Tensor) -> None:
    assert again(lambda: torch.cat([a, a])).dtype == torch.float32
    assert torch.cat([a, a.double()]).dtype == torch.float64
    assert torch.cat([a, torch.tensor([])]).tolist() == a.tolist()
    turned = torch.ones(3, 2).t()
    assert again(lambda: torch.cat([turned, a], 1)).shape == (2, 6)
    assert torch.cat([a, turned], 1)[:, 3:].tolist() == [[1] * 3] * 2
    with pytest.raises(TypeError):
        torch.cat([a, 1])
    with pytest.raises(TypeError):
        torch.cat([a, [a]])
    with pytest.raises((RuntimeError, ValueError)):
        torch.cat([])


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 20])
def test_any_number_of_pieces(count: int) -> None:
    pieces = [torch.full((2,), float(k)) for k in range(count)]
    expected = [float(k) for k in range(count) for _ in range(2)]
    assert again(lambda: torch.cat(pieces)).tolist() == expected
    wide = [torch.ones((1,) * 8 + (2,)) for _ in range(count)]
    assert again(lambda: torch.cat(wide, 8)).shape[8] == 2 * count


def test_gradients_of_joins(a: Tensor) -> None:
    again(lambda: torch.cat([a, a]))
    x = torch.ones(2, 3, requires_grad=True)
    joined = again(lambda: torch.cat([a, x]))
    joined.backward(torch.arange(12.0).reshape(4, 3))
    assert x.grad is not None and x.grad.tolist() == [[6, 7, 8], [9, 10, 11]]
    assert not torch.cat([a, a]).requires_grad


def test_a_destination_is_written_every_time(a: Tensor) -> None:
    out = torch.empty(4, 3)
    again(lambda: torch.cat([a, a], out=out))
    b = a + 10
    torch.cat([b, b], out=out)
    assert out.tolist() == b.tolist() * 2


def test_pieces_are_not_kept_alive(a: Tensor) -> None:
    def cached_call() -> "weakref.ref[Tensor]":
        other = torch.ones(2, 3)
        again(lambda: torch.cat([a, other]))
        again(lambda: other.reshape(6))
        again(lambda: other.contiguous())
        return weakref.ref(other)

    died = cached_call()
    gc.collect()
    assert died() is None
    assert torch.cat([a, a]).shape == (4, 3)


def test_threads_call_at_once() -> None:
    failures: list[object] = []

    def work(seed: int) -> None:
        for _ in range(300):
            x = torch.full((2, 3), float(seed))
            y = torch.cat([x.reshape(6), x.flatten()]).to(torch.float64)
            if y.tolist() != [float(seed)] * 12:
                failures.append((seed, y))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# Operands whose elements are in another order


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int8])
@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 5), (4, 3), (15, 17), (16, 16), (40, 30)]
)
def test_transposed_operands(dtype: torch.dtype, rows: int, columns: int) -> None:
    count = rows * columns
    a = (torch.arange(count) % 50).to(dtype).reshape(columns, rows)
    b = (torch.arange(count) % 7).to(dtype).reshape(rows, columns)
    expected = a.t().contiguous() * b
    left, right = again(lambda: a.t() * b), again(lambda: b * a.t())
    assert left.tolist() == right.tolist() == expected.tolist()
    assert right.stride() == (columns, 1)
    assert left.stride() == ((1, rows) if rows > 1 else left.stride())
    left.mul_(0)
    assert (a.t() * b).tolist() == expected.tolist()
    assert again(lambda: (a.t() * b) * 1).stride() == left.stride()


def test_a_permuted_result_knows_its_layout() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = again(lambda: x.permute(2, 0, 1).neg())
    assert y.stride() == (1, 12, 4) and not y.is_contiguous()
    assert y.contiguous() is not y
    assert again(lambda: x.permute(2, 0, 1).neg().permute(1, 2, 0)).is_contiguous()
    assert y.reshape(-1).tolist() == (-x).permute(2, 0, 1).flatten().tolist()


def test_transposed_operands_of_in_place_calls() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y = torch.zeros(4, 3)
    again(lambda: y.add_(x.t()))
    assert y.tolist() == (x.t() * 5).tolist()
    square = torch.arange(9.0).reshape(3, 3)
    expected = (square + square.t()).tolist()
    assert square.clone().add_(square.t()).tolist() == expected
    with pytest.raises(RuntimeError, match="memory"):
        square.add_(square.t())
