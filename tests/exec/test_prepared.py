"""A repeated call runs prepared (``plan/prepared.h`` for plans,
``kernels/prepared_map.h`` for pointwise ops) and must give the same results.

The first call of a shape runs its plan, the second one is recorded, later ones repeat
the recorded launches. So every case is called several times, with different numbers
and memory.
"""

import threading
from collections.abc import Callable

import pytest

import pellucid as torch

F = torch.nn.functional
Tensor = torch.Tensor

CASES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda a, b: a.sum(1),
    "mean": lambda a, b: a.mean(0, keepdim=True),
    "product": lambda a, b: a @ b,
    "product of transposed": lambda a, b: (a.t() @ b.t()).t(),
    "product with itself": lambda a, b: a @ a,
    "cat": lambda a, b: torch.cat([a, b.t(), a], 1),
    "stack": lambda a, b: torch.stack([a, b]),
    "softmax": lambda a, b: torch.softmax(a, -1),
    "layer_norm": lambda a, b: F.layer_norm(a, (6,), b[0], b[1]),
    "greatest": lambda a, b: a.max(1)[0],
    "cumsum": lambda a, b: a.cumsum(1),
    "flip": lambda a, b: a.flip(0),
    "pad": lambda a, b: F.pad(a, (1, 2, 0, 1)),
    "gather": lambda a, b: torch.gather(a, 1, (b > 0).long()),
    "view": lambda a, b: a.reshape(4, 9).t(),
    "convolution": lambda a, b: F.conv1d(a.reshape(1, 6, 6), b.reshape(6, 6, 1)),
    "zeros": lambda a, b: a + torch.zeros(6, 6),
    "scatter_add": lambda a, b: a.scatter_add(1, (b > 0).long(), b),
    "row": lambda a, b: a + b[0],
    "column and number": lambda a, b: torch.add(b[:, :1], a, alpha=2),
    "outer": lambda a, b: a[:, :1] * b[:1],
    "element": lambda a, b: torch.where(a > 0, a, b[0, 0]),
    "other dtype": lambda a, b: a * (b > 0),
    "row in place": lambda a, b: a.clone().mul_(b[1]),
    "joined rows": lambda a, b: torch.cat([a.contiguous(), b[:1].contiguous()]),
    "joined columns": lambda a, b: torch.cat([a.contiguous(), b.contiguous()], 1),
    "stacked inside": lambda a, b: torch.stack([a.contiguous(), b.contiguous()], -1),
}


def by_hand(case: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    """The case in float64: other calls, and rounding that cannot hide an error."""
    return case(a.double(), b.double()).to(torch.float32)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transposed", [False, True])
def test_repeated_call_computes_from_its_own_operands(
    name: str, transposed: bool
) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    first: list[tuple[Tensor, Tensor, Tensor]] = []
    for _ in range(5):
        a, b = torch.randn(6, 6), torch.randn(6, 6)
        if transposed:
            a, b = a.t(), b.t()
        first.append((a, b, case(a, b)))
    for a, b, result in first:
        assert torch.equal(case(a, b), result)
        assert torch.allclose(result, by_hand(case, a, b), atol=1e-5)


def test_gradients_of_repeated_calls() -> None:
    for scale in range(1, 6):
        a = torch.full((3, 3), float(scale), requires_grad=True)
        (a @ a.t()).sum().backward()
        assert a.grad is not None
        assert torch.equal(a.grad, torch.full((3, 3), 6.0 * scale))


def test_operands_that_share_memory_after_calls_that_did_not() -> None:
    for _ in range(4):
        torch.eye(3) @ torch.ones(3, 3)
    a = torch.arange(9.0).reshape(3, 3)
    assert (a @ a).tolist() == [[15, 18, 21], [42, 54, 66], [69, 90, 111]]


def test_writes_that_share_memory_after_writes_that_did_not() -> None:
    for _ in range(4):
        torch.ones(3, 3).add_(torch.ones(3))
    a = torch.arange(9.0).reshape(3, 3)
    a.add_(a[0].clone())
    assert a[0].tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError):
        a.add_(a[0])


def test_dtypes_of_calls_with_tensors_of_no_dims() -> None:
    square, row = torch.ones(3, 3), torch.ones(3)
    one = torch.tensor(1.0, dtype=torch.float64)
    for _ in range(4):
        assert torch.addcmul(row, square, one).dtype == torch.float32
        assert torch.addcmul(row, square, one.reshape(1)).dtype == torch.float64


@pytest.mark.parametrize("dims", [5, 6, 12, 16])
def test_writes_in_place_in_many_dimensions(dims: int) -> None:
    x, row = torch.ones([1] * (dims - 2) + [3, 4]), torch.arange(4.0)
    for _ in range(4):
        x.mul_(row)
        y = torch.add(x, row)
    assert x.flatten().tolist() == [0, 1, 16, 81] * 3
    assert y.flatten().tolist() == [0, 2, 18, 84] * 3


def test_writes_in_place_count_as_versions() -> None:
    a = torch.zeros(2, 3)
    for count in range(1, 6):
        a.add_(torch.ones(3))
        assert a._version == count


def test_view_of_a_repeated_call_writes_to_its_own_base() -> None:
    bases = [torch.zeros(2, 3) for _ in range(4)]
    for number, base in enumerate(bases):
        base.t().add_(number)
    assert [base.sum().item() for base in bases] == [0, 6, 12, 18]


def test_index_out_of_bounds_is_an_error_in_a_repeated_call() -> None:
    weight = torch.randn(4, 2)
    for _ in range(4):
        F.embedding(torch.tensor([0, 3]), weight)
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([0, 4]), weight)


def test_default_dtype_between_repeated_calls() -> None:
    for _ in range(4):
        assert torch.zeros(2).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(2).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_repeated_calls_on_several_threads() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        a = torch.full((5, 5), float(number))
        for _ in range(50):
            if (a @ torch.eye(5)).sum().item() != 25 * number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
