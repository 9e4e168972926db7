"""Cases of tensor kinds: sparse products, gradients, structure, optimizers; products of
narrow dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[], Callable[[], object]]
GRAPHS = {
    "2708 rows of 4, 16 columns": (2708, 4, 16),
    "10000 rows of 10, 64 columns": (10_000, 10, 64),
    "2000 rows of 200, 64 columns": (2000, 200, 64),
}


NARROW = (
    *((32, 768, 3072), (128, 768, 768), (512, 1024, 1024), (1024, 1024, 1024)),
    (1, 4096, 4096),
)


def kinds(torch: Any) -> dict[str, Case]:
    """The sizes are those of citation graphs, of meshes and of wide matrices."""
    cases: dict[str, Case] = {}
    for name, sizes in GRAPHS.items():
        cases[f"CSR @ dense, {name}"] = lambda s=sizes: _product(torch, *s, "csr")
        cases[f"COO @ dense, {name}"] = lambda s=sizes: _product(torch, *s, "coo")
    small = GRAPHS["2708 rows of 4, 16 columns"]
    cases["COO @ dense, both gradients"] = lambda: _gradients(torch, *small)
    cases |= _structure(torch)
    for m, k, n in NARROW:
        size = f"{m}x{k}x{n}"
        for layout in ("rows", "columns"):
            for dtype in ("bfloat16", "int8"):
                cases[f"{dtype} {size}, B by {layout}"] = (
                    lambda d=dtype, s=(m, k, n), y=layout: _narrow(torch, d, *s, y)
                )
    for optimizer in ("SparseAdam", "SGD", "Adagrad"):
        cases[f"{optimizer}, 512 of 100000 rows"] = lambda o=optimizer: _step(torch, o)
    return cases


def _narrow(
    torch: Any, dtype: str, m: int, k: int, n: int, layout: str
) -> Callable[[], object]:
    """Random bits of int8; the product of bfloat16, or int32 of int8."""
    a, b = torch.randint(-128, 128, (m, k)), torch.randint(-128, 128, (k, n))
    a, b = (x.to(getattr(torch, dtype)) for x in (a, b))
    if layout == "columns":
        b = b.t().contiguous().t()
    product = torch._int_mm if dtype == "int8" else torch.mm
    return lambda: product(a, b)


def _matrix(torch: Any, rows: int, each: int) -> Any:
    """A COO matrix with ``each`` elements per row, some of them duplicates."""
    generator = torch.Generator().manual_seed(0)
    columns = torch.randint(0, rows, (rows * each,), generator=generator)
    indices = torch.stack([torch.arange(rows).repeat_interleave(each), columns])
    values = torch.randn(rows * each, generator=generator)
    return torch.sparse_coo_tensor(indices, values, (rows, rows))


def _product(
    torch: Any, rows: int, each: int, columns: int, layout: str
) -> Callable[[], object]:
    matrix, dense = _matrix(torch, rows, each).coalesce(), torch.randn(rows, columns)
    matrix = matrix.to_sparse_csr() if layout == "csr" else matrix
    return lambda: matrix @ dense


def _gradients(torch: Any, rows: int, each: int, columns: int) -> Callable[[], object]:
    matrix = _matrix(torch, rows, each).coalesce().requires_grad_()
    dense = torch.randn(rows, columns, requires_grad=True)

    def step() -> None:
        matrix.grad = dense.grad = None
        torch.sparse.mm(matrix, dense).sum().backward()

    return step


def _structure(torch: Any) -> dict[str, Case]:
    first = _matrix(torch, 2708, 4).coalesce()
    second = first.t().coalesce()
    by_rows, transposed = first.to_sparse_csr(), second.to_sparse_csr()

    def coalesce() -> Callable[[], object]:
        indices = torch.randint(0, 3000, (2, 1_000_000))
        matrix = torch.sparse_coo_tensor(indices, torch.randn(1_000_000), (3000, 3000))
        return lambda: matrix.coalesce()

    calls: dict[str, Callable[[], object]] = {
        "sparse + sparse": lambda: first + second,
        "CSR + CSR": lambda: by_rows + transposed,
        "sparse @ sparse": lambda: torch.sparse.mm(first, first),
        "relu of a sparse tensor": lambda: torch.relu(first),
        "sparse * 2": lambda: first * 2,
        "COO to CSR": lambda: first.to_sparse_csr(),
    }
    cases: dict[str, Case] = {"coalesce, 1M elements": coalesce}
    return cases | {name: (lambda call=call: call) for name, call in calls.items()}


def _step(torch: Any, optimizer: str) -> Callable[[], object]:
    table = torch.nn.Embedding(100_000, 64, sparse=True)
    instance = getattr(torch.optim, optimizer)(table.parameters(), 0.01)
    table(torch.randint(0, 100_000, (512,))).sum().backward()
    return instance.step
