"""Cases of tensor kinds: sparse products, gradients, structure, optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[], Callable[[], object]]
GRAPHS = {
    "2708 rows of 4, 16 columns": (2708, 4, 16),
    "10000 rows of 10, 64 columns": (10_000, 10, 64),
    "2000 rows of 200, 64 columns": (2000, 200, 64),
}


def kinds(torch: Any) -> dict[str, Case]:
    """The sizes are those of citation graphs, of meshes and of wide matrices."""
    cases: dict[str, Case] = {}
    for name, sizes in GRAPHS.items():
        cases[f"CSR @ dense, {name}"] = lambda s=sizes: _product(torch, *s, "csr")
        cases[f"COO @ dense, {name}"] = lambda s=sizes: _product(torch, *s, "coo")
    small = GRAPHS["2708 rows of 4, 16 columns"]
    cases["COO @ dense, both gradients"] = lambda: _gradients(torch, *small)
    cases |= _structure(torch)
    for optimizer in ("SparseAdam", "SGD", "Adagrad"):
        cases[f"{optimizer}, 512 of 100000 rows"] = lambda o=optimizer: _step(torch, o)
    return cases


def _matrix(torch: Any, rows: int, each: int) -> Any:
    """A COO matrix with ``each`` elements a row, some of them duplicates."""
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
        made = torch.sparse_coo_tensor(indices, torch.randn(1_000_000), (3000, 3000))
        return lambda: made.coalesce()

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
    made = getattr(torch.optim, optimizer)(table.parameters(), 0.01)
    table(torch.randint(0, 100_000, (512,))).sum().backward()
    return made.step
