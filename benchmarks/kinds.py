"""Cases of tensor kinds: sparse products, gradients, structure, optimizers; products of
narrow dtypes, quantized networks; nested tensors.

Float cases stand beside the quantized ones: quantization is to be faster than both.
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
    middle = GRAPHS["10000 rows of 10, 64 columns"]
    cases["COO @ dense, both gradients, 10000 rows"] = lambda: _gradients(
        torch, *middle
    )
    cases |= _structure(torch) | _weights(torch) | _networks(torch) | _nested(torch)
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


def _weights(torch: Any) -> dict[str, Case]:
    """Linear layers: float32, dynamically quantized, and with narrow weights."""

    def linear(m: int, k: int, n: int) -> Callable[[], object]:
        x, weight = torch.randn(m, k), torch.randn(n, k)
        return lambda: torch.nn.functional.linear(x, weight)

    def dynamic(m: int, k: int, n: int) -> Callable[[], object]:
        layer = torch.nn.Sequential(torch.nn.Linear(k, n))
        quantized = torch.ao.quantization.quantize_dynamic(layer, {torch.nn.Linear})
        x = torch.randn(m, k)
        return lambda: quantized(x)

    def int8(k: int, n: int) -> Callable[[], object]:
        weight = torch.randint(-128, 128, (n, k), dtype=torch.int8)
        x, scales = torch.randn(1, k), torch.rand(n)
        return lambda: torch._weight_int8pack_mm(x, weight, scales)

    def int4(k: int, n: int) -> Callable[[], object]:
        integers = torch.randint(0, 16, (n, k), dtype=torch.int32)
        weight = torch._convert_weight_to_int4pack_for_cpu(integers, 1)
        x, scales = torch.randn(1, k), torch.rand(k // 128, n, 2)
        return lambda: torch._weight_int4pack_mm_for_cpu(x, weight, 128, scales)

    cases: dict[str, Case] = {}
    for size in NARROW:
        name = "x".join(map(str, size))
        cases[f"float32 linear {name}"] = lambda s=size: linear(*s)
        cases[f"dynamic int8 linear {name}"] = lambda s=size: dynamic(*s)
    cases["int8 weight, one row, 4096x4096"] = lambda: int8(4096, 4096)
    cases["4-bit weight, one row, 4096x4096"] = lambda: int4(4096, 4096)
    return cases


def _networks(torch: Any) -> dict[str, Case]:
    """A small CNN, quantized statically, and an encoder of MiniLM's width, dynamically;
    beside each, the float network.
    """
    nn, quantization = torch.nn, torch.ao.quantization

    def images() -> Any:
        sizes = ((3, 32), (32, 64), (64, 64), (64, 128))
        layers = [
            layer
            for k, (inputs, outputs) in enumerate(sizes)
            for layer in (nn.Conv2d(inputs, outputs, 3, 1 + k % 2, 1), nn.ReLU())
        ]
        head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)
        return nn.Sequential(*layers, *head).eval()

    def cnn(is_quantized: bool) -> Callable[[], object]:
        network, x = images(), torch.randn(8, 3, 64, 64)
        if is_quantized:
            network = quantization.QuantWrapper(network)
            network.qconfig = quantization.get_default_qconfig("x86")
            quantization.prepare(network, inplace=True)
            network(x)
            quantization.convert(network, inplace=True)
        return lambda: network(x)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.projections = nn.Linear(384, 1152)
            self.out = nn.Linear(384, 384)
            self.first, self.second = nn.Linear(384, 1536), nn.Linear(1536, 384)
            self.norms = nn.ModuleList([nn.LayerNorm(384), nn.LayerNorm(384)])

        def forward(self, x: Any) -> Any:
            heads = self.projections(x).view(*x.shape[:2], 3, 12, 32)
            q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
            x = self.norms[0](x + self.out(mixed.transpose(1, 2).flatten(2)))
            return self.norms[1](x + self.second(nn.functional.gelu(self.first(x))))

    def encoder(is_quantized: bool) -> Callable[[], object]:
        network = nn.Sequential(*(Block() for _ in range(6))).eval()
        if is_quantized:
            network = quantization.quantize_dynamic(network, {nn.Linear})
        x = torch.randn(4, 64, 384)
        return lambda: network(x)

    made = {"small CNN": cnn, "encoder of width 384": encoder}
    return {
        f"{name}, {kind}": lambda n=network, q=kind == "int8": _without_gradients(
            torch, n(q)
        )
        for name, network in made.items()
        for kind in ("float32", "int8")
    }


def _without_gradients(torch: Any, call: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with torch.no_grad():
            return call()

    return run


def _nested(torch: Any) -> dict[str, Case]:
    """Jagged tensors: a small op, softmax and attention along the ragged dim."""
    lengths = [10 + 117 * k // 31 for k in range(32)]

    def jagged(rows: list[int], *width: int) -> Any:
        offsets = torch.tensor([0, *rows]).cumsum(0)
        values = torch.randn(sum(rows), *width)
        return torch.nested.nested_tensor_from_jagged(values, offsets)

    def relu() -> Callable[[], object]:
        x = jagged([2, 3, 5], 8)
        return lambda: torch.relu(x)

    def softmax() -> Callable[[], object]:
        x = jagged(lengths, 256)
        return lambda: torch.softmax(x, 1)

    def attention() -> Callable[[], object]:
        x = jagged(lengths, 4, 64).transpose(1, 2)
        return lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x)

    return {
        "nested relu, 10 rows": relu,
        "nested softmax along 32 examples": softmax,
        "nested attention, 32 examples": attention,
    }


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
