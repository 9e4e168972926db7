"""Joins: cat and stack of lists of any length, their gradients, formats and errors."""

from __future__ import annotations

import os

import numpy as np
import pytest

import pellucid as torch
from pellucid._C._runtime import tracing as _trace

JOINS = {"cat": (torch.cat, np.concatenate), "stack": (torch.stack, np.stack)}
JOIN = pytest.mark.parametrize("join, reference", JOINS.values(), ids=JOINS)
LENGTHS = pytest.mark.parametrize("length", (1, 2, 3, 17, 200))


def _pieces(length: int, dtype: type = np.float32) -> list[torch.Tensor]:
    elements = np.arange(length * 12, dtype=dtype).reshape(length, 2, 3, 2)
    return [torch.from_numpy(piece) for piece in elements]


@pytest.fixture
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a call needs a plan that is not frozen."""

    def answer(what: str, request: str) -> bytes:
        raise AssertionError(f"traced: {what} {request[:60]}")

    monkeypatch.setattr(_trace, "answer", answer)


@JOIN
@LENGTHS
@pytest.mark.parametrize("dim", (0, 1, -1))
def test_any_length_without_tracing(untraced, join, reference, length, dim):
    pieces = _pieces(length)
    want = reference([p.numpy() for p in pieces], dim)
    np.testing.assert_array_equal(join(pieces, dim).numpy(), want)


@JOIN
@LENGTHS
@pytest.mark.parametrize("dim", (0, -1))
def test_gradients_of_any_length(untraced, join, reference, length, dim):
    pieces = [p.clone().requires_grad_() for p in _pieces(length)]
    joined = join(pieces, dim)
    numbers = np.arange(joined.numel(), dtype=np.float32)
    weights = torch.from_numpy(numbers.reshape(joined.shape))
    (joined * weights).sum().backward()
    if join is torch.cat:
        want = torch.split(weights, pieces[0].shape[dim], dim)
    else:
        want = weights.unbind(dim)
    for piece, grad in zip(pieces, want, strict=True):
        assert piece.grad is not None
        np.testing.assert_array_equal(piece.grad.numpy(), grad.numpy())


def _resident_bytes() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@JOIN
def test_lists_of_new_lengths_do_not_accumulate_memory(join, reference):
    piece = torch.ones(1, requires_grad=True)
    longest = 3000
    join([piece] * longest, 0)
    before = _resident_bytes()
    for length in range(1, longest):
        join([piece] * length, 0)
    # A list of sizes and inputs for each length would take 36 MB.
    assert _resident_bytes() - before < 12e6


@JOIN
def test_one_node_joins_all(join, reference):
    pieces = [p.clone().requires_grad_(k != 1) for k, p in enumerate(_pieces(5))]
    node = join(pieces).grad_fn
    assert node.name() == f"{join.__name__.capitalize()}Backward0"
    assert [n is None for n, _ in node.next_functions] == [k == 1 for k in range(5)]


@JOIN
def test_second_derivatives(join, reference):
    pieces = [p.double().requires_grad_() for p in _pieces(3)]
    assert torch.autograd.gradcheck(lambda *p: join(p, 1) ** 2, pieces)
    assert torch.autograd.gradgradcheck(lambda *p: join(p, 1) ** 3, pieces)


@JOIN
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.int64, torch.bool))
def test_other_dtypes_and_layouts(join, reference, dtype):
    pieces = [p.to(dtype).transpose(0, 2) for p in _pieces(9, np.int32)]
    joined = join(pieces, 1)
    assert joined.dtype == dtype and joined.is_contiguous()
    want = reference([p.float().numpy() for p in pieces], 1)
    np.testing.assert_array_equal(joined.float().numpy(), want)


def test_pieces_of_several_sizes_and_none():
    pieces = [torch.full((k, 2), float(k)) for k in (3, 0, 1, 2)]
    assert torch.cat(pieces)[:, 0].tolist() == [3, 3, 3, 1, 2, 2]
    assert torch.cat([torch.ones(2, 3), torch.tensor([])]).shape == (2, 3)


def test_dtypes_promote():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.float64)
    joined = torch.cat([a, b])
    joined.sum().backward()
    assert joined.dtype == torch.float64
    assert a.grad is not None and a.grad.dtype == torch.float32


@JOIN
def test_destinations(join, reference):
    pieces = _pieces(40)
    want = join(pieces, 1)
    out = torch.empty(0)
    assert join(pieces, 1, out=out) is out
    assert torch.equal(out, want)
    wide = torch.zeros(*want.shape[:-1], 2 * want.shape[-1])
    before = wide._version
    join(pieces, 1, out=wide[..., ::2])
    assert wide._version > before
    assert torch.equal(wide[..., ::2], want) and not wide[..., 1::2].any()


def test_images_in_channels_last_stay_so():
    images = [
        torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(3)
    ]
    joined = torch.cat(images, 1)
    assert joined.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(joined, torch.cat([i.contiguous() for i in images], 1))
    assert torch.cat([images[0], images[1].contiguous()], 1).is_contiguous()


@JOIN
def test_meta_shapes(join, reference):
    pieces = [p.to("meta") for p in _pieces(11)]
    joined = join(pieces, 1)
    assert joined.is_meta
    assert joined.shape == reference([np.empty(p.shape) for p in pieces], 1).shape


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.cat([]), ValueError),
        (lambda: torch.stack([]), RuntimeError),
        (lambda: torch.cat([torch.ones(()), torch.ones(())]), RuntimeError),
        (lambda: torch.cat([torch.ones(2), torch.ones(2, 2)]), RuntimeError),
        (lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 2)]), RuntimeError),
        (lambda: torch.cat([torch.ones(2)] * 9, 1), IndexError),
        (lambda: torch.stack([torch.ones(2), torch.ones(3)]), RuntimeError),
        (lambda: torch.stack([torch.ones(2)] * 9, 2), IndexError),
    ],
)
def test_mistakes(call, error):
    with pytest.raises(error) as caught:
        call()
    assert len(str(caught.value).splitlines()) <= 10
