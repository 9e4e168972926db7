"""Some 1,500 single calls over every family of ops, forward and with their gradients.

Each family is a table: name -> (function, shapes of its operands). They are float32
unless the family says otherwise. A case times the call without recording; in families
with gradients there is a second case, ``..., grad``: the recorded call and its backward
from a gradient of ones. Further families: `layers.py`, `shapes.py`, `dtypes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dtypes import in_each_dtype, of_other_dtypes
from layers import Row, Table, layers
from shapes import shapes

Case = Callable[[], Callable[[], object]]


def breadth(torch: Any) -> dict[str, Case]:
    """Every case by name; those of families with gradients are listed twice."""
    cases: dict[str, Case] = {}
    families = (layers, shapes, _spectra, _pointwise, _reductions, _moving, _matrices)
    for family in families:
        for name, row in family(torch).items():
            _add(cases, torch, name, row, torch.float32)
    for name, row, dtype in in_each_dtype(torch):
        _add(cases, torch, name, row, dtype)
    for name, make in (*_without_gradients(torch), *of_other_dtypes(torch)):
        cases[name] = lambda call=make: call
    return cases


def _add(cases: dict[str, Case], torch: Any, name: str, row: Row, dtype: Any) -> None:
    function, shapes = row
    listed = [shapes] if isinstance(shapes, tuple) else shapes
    cases[name] = lambda: _forward(torch, function, _operands(torch, listed, dtype))
    cases[f"{name}, grad"] = lambda: _both(
        torch, function, _operands(torch, listed, dtype)
    )


def _operands(torch: Any, shapes: list[tuple[int, ...]], dtype: Any) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def _forward(
    torch: Any, function: Callable[..., Any], operands: list[Any]
) -> Callable[[], object]:
    def call() -> object:
        with torch.no_grad():
            return function(*operands)

    return call


def _both(
    torch: Any, function: Callable[..., Any], operands: list[Any]
) -> Callable[[], object]:
    for x in operands:
        x.requires_grad_()
    result = function(*operands)
    outputs = [y for y in _listed(result) if y.requires_grad]
    gradients = [torch.ones_like(y) for y in outputs]

    def call() -> object:
        outputs = [y for y in _listed(function(*operands)) if y.requires_grad]
        return torch.autograd.grad(outputs, operands, gradients, allow_unused=True)

    return call


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _spectra(torch: Any) -> Table:
    """Fourier transforms of lengths with small, large and prime factors."""
    fft, table = torch.fft, {}
    lengths = (16, 60, 100, 128, 256, 1000, 1009, 1024, 4096, 65536)
    for length in lengths:
        rows = max(1, 65536 // length)
        shape = (rows, length)
        table[f"rfft of {length}"] = (fft.rfft, shape)
        table[f"fft of {length}"] = (lambda x: fft.fft(torch.complex(x, x)), shape)
    table["fft of dim 0, 1024"] = (
        lambda x: fft.fft(torch.complex(x, x), dim=0),
        (1024, 64),
    )
    table["fft2 of 256"] = (lambda x: fft.fft2(torch.complex(x, x)), (4, 256, 256))
    table["rfft2 of 224"] = (fft.rfft2, (3, 224, 224))
    table["irfft of 1024"] = (lambda x: fft.irfft(torch.complex(x, x)), (64, 513))
    table["fftn of 32"] = (lambda x: fft.fftn(torch.complex(x, x)), (32, 32, 32))
    window = torch.hann_window(400)
    table["stft of 1 s of speech"] = (
        lambda x: torch.stft(x, 400, 160, window=window, return_complex=True).abs(),
        (4, 16000),
    )
    table["fftshift"] = (fft.fftshift, (256, 256))
    return table


def _pointwise(torch: Any) -> Table:
    """Elementary functions of a quarter of a million elements."""
    functional, side = torch.nn.functional, (512, 512)
    one = "exp log1p sin cos tanh sigmoid erf sqrt abs sign expm1 atan reciprocal"
    two = "add mul div sub maximum atan2 hypot"
    table: Table = {name: (getattr(torch, name), side) for name in one.split()}
    for name in two.split():
        function = getattr(torch, name)
        table[name] = (lambda x, y, f=function: f(x, y), [side, side])
        table[f"{name} of a row"] = (lambda x, y, f=function: f(x, y), [side, (512,)])
    for name in ("relu", "gelu", "silu", "softplus", "elu", "hardswish", "leaky_relu"):
        table[name] = (getattr(functional, name), side)
    table["clamp"] = (lambda x: x.clamp(-0.5, 0.5), side)
    table["pow 3"] = (lambda x: x**3, side)
    table["where"] = (lambda x, y: torch.where(x > 0, x, y), [side, side])
    table["lerp"] = (lambda x, y: torch.lerp(x, y, 0.3), [side, side])
    table["addcmul"] = (torch.addcmul, [side, side, side])
    table["add transposed"] = (lambda x, y: x + y.t(), [side, side])
    table["glu"] = (functional.glu, side)
    return table


def _reductions(torch: Any) -> Table:
    table: Table = {}
    first, second = "sum mean amax logsumexp prod", "cumsum var softmax log_softmax"
    for where, dim in (("rows", 1), ("columns", 0)):
        for name in (*first.split(), *second.split()):
            function = getattr(torch, name)
            table[f"{name} of {where}"] = (
                lambda x, f=function, d=dim: f(x, dim=d),
                (512, 512),
            )
    table["sum"] = (torch.sum, (512, 512))
    table["mean of images"] = (lambda x: x.mean((2, 3)), (16, 64, 28, 28))
    table["sum of channels"] = (lambda x: x.sum((0, 2, 3)), (16, 64, 28, 28))
    table["norm"] = (torch.linalg.vector_norm, (512, 512))
    table["norm of rows"] = (lambda x: torch.linalg.vector_norm(x, dim=1), (512, 512))
    table["cumprod"] = (lambda x: torch.cumprod(x, 1), (64, 512))
    table["logcumsumexp"] = (lambda x: torch.logcumsumexp(x, 1), (64, 512))
    table["max with indices"] = (lambda x: x.max(1), (512, 512))
    table["median"] = (lambda x: x.median(1), (64, 1024))
    table["topk 10 of 1000"] = (lambda x: x.topk(10), (64, 1000))
    table["topk 5 of 100000"] = (lambda x: x.topk(5), (4, 100_000))
    table["sort of 1000"] = (lambda x: x.sort(), (64, 1000))
    table["sort of 100000"] = (lambda x: x.sort(), (100_000,))
    table["kthvalue"] = (lambda x: x.kthvalue(50), (64, 1000))
    return table


def _moving(torch: Any) -> Table:
    """Ops that move elements: copies, joins, padding, indexing."""
    functional, square = torch.nn.functional, (512, 512)
    rows = torch.randint(0, 10_000, (4096,))
    wide = torch.randint(0, 512, (4096, 64))
    columns = torch.randint(0, 512, (512, 128))
    mask = torch.arange(512 * 512).reshape(512, 512) % 3 == 0
    table: Table = {
        "flip": (lambda x: x.flip(0), square),
        "flip of columns": (lambda x: x.flip(1), square),
        "roll": (lambda x: x.roll(7, 1), square),
        "clone": (torch.clone, square),
        "contiguous of t": (lambda x: x.t().contiguous(), square),
        "permute images": (
            lambda x: x.permute(0, 2, 3, 1).contiguous(),
            (8, 64, 28, 28),
        ),
        "cat of rows": (lambda x, y: torch.cat([x, y]), [square, square]),
        "cat of columns": (lambda x, y: torch.cat([x, y], 1), [square, square]),
        "stack": (lambda x, y: torch.stack([x, y], -1), [square, square]),
        "repeat": (lambda x: x.repeat(4, 4), (128, 128)),
        "repeat_interleave": (lambda x: x.repeat_interleave(4, 0), (128, 512)),
        "tril": (torch.tril, square),
        "to float64": (lambda x: x.double(), square),
        "to bfloat16": (lambda x: x.bfloat16(), square),
        "to float16": (lambda x: x.half(), square),
        "index_select of rows": (lambda x: x.index_select(0, rows), (10_000, 64)),
        "index by a tensor": (lambda x: x[rows], (10_000, 64)),
        "gather": (lambda x: x.gather(1, columns), square),
        "gather of rows": (lambda x: x.gather(0, wide), (512, 64)),
        "masked_fill": (lambda x: x.masked_fill(mask, 0.0), square),
        "masked_select": (lambda x: x[mask], square),
        "index_add of rows": (
            lambda x, y: x.index_add(0, rows, y),
            [(10_000, 64), (4096, 64)],
        ),
        "scatter_add of rows": (
            lambda x, y: x.scatter_add(0, wide, y),
            [(512, 64), (4096, 64)],
        ),
        "scatter": (
            lambda x, y: x.scatter(1, columns, y),
            [square, (512, 128)],
        ),
        "embedding": (
            lambda w: functional.embedding(rows, w),
            (10_000, 64),
        ),
        "unfold of images": (lambda x: functional.unfold(x, 3), (4, 16, 32, 32)),
        "fold": (lambda x: functional.fold(x, (32, 32), 3), (4, 144, 900)),
        "unfold of a signal": (lambda x: x.unfold(1, 400, 160), (4, 16000)),
    }
    table |= _of_few_columns(torch)
    for mode in ("constant", "reflect", "replicate", "circular"):
        table[f"pad images, {mode}"] = (
            lambda x, m=mode: functional.pad(x, (2, 2, 2, 2), mode=m),
            (8, 16, 64, 64),
        )
        table[f"pad signals, {mode}"] = (
            lambda x, m=mode: functional.pad(x, (200, 200), mode=m),
            (4, 1, 16000),
        )
    return table


def _of_few_columns(torch: Any) -> Table:
    """Copies whose innermost dim is shorter than a vector."""
    shuffle = torch.nn.functional.pixel_shuffle
    return {
        "pixel_shuffle by 3": (lambda x: shuffle(x, 3), (8, 63, 28, 28)),
        "pixel_shuffle of 64 columns": (lambda x: shuffle(x, 2), (8, 64, 28, 64)),
        "image to channels last": (
            lambda x: x.permute(0, 2, 3, 1).contiguous(),
            (4, 3, 224, 224),
        ),
        "image from channels last": (
            lambda x: x.permute(0, 3, 1, 2).contiguous(),
            (8, 30, 30, 3),
        ),
        "queries, keys and values": (
            lambda x: x.view(4, 128, 3, 4, 16).permute(2, 0, 3, 1, 4).contiguous(),
            (4, 128, 192),
        ),
        "two columns of five": (lambda x: x[:, :, :2].contiguous(), (64, 20, 5)),
        "cat with two columns": (
            lambda x, y: torch.cat([x, y], 1),
            [(4000, 64), (4000, 2)],
        ),
    }


def _matrices(torch: Any) -> Table:
    """Products, distances, and LAPACK on one matrix and on many small ones."""
    linalg, table = torch.linalg, {}

    def definite(x: Any) -> Any:
        return x @ x.mT + x.shape[-1] * torch.eye(x.shape[-1])

    shapes = {"1000 of 4": (1000, 4, 4), "64": (64, 64)}
    shapes |= {"200 of 9": (200, 9, 9), "100 of 17": (100, 17, 17)}
    for size in (128, 256, 512):
        shapes[str(size)] = (size, size)
    for name, shape in shapes.items():
        table[f"matmul, {name}"] = (torch.matmul, [shape, shape])
        table[f"solve, {name}"] = (linalg.solve, [shape, shape])
        table[f"inv, {name}"] = (linalg.inv, shape)
        table[f"det, {name}"] = (linalg.det, shape)
        table[f"qr, {name}"] = (linalg.qr, shape)
        table[f"cholesky, {name}"] = (lambda x: linalg.cholesky(definite(x)), shape)
        table[f"eigh, {name}"] = (lambda x: linalg.eigh(definite(x))[0], shape)
        table[f"svd, {name}"] = (linalg.svdvals, shape)
        table[f"lstsq, {name}"] = (lambda x, y: linalg.lstsq(x, y)[0], [shape, shape])
        table[f"triangular, {name}"] = (
            lambda x, y: linalg.solve_triangular(definite(x).tril(), y, upper=False),
            [shape, shape],
        )
    for name, p in (("1", 1.0), ("2", 2.0), ("inf", float("inf")), ("3", 3.0)):
        table[f"cdist, p {name}"] = (
            lambda x, y, p=p: torch.cdist(x, y, p),
            [(300, 32), (200, 32)],
        )
        table[f"pdist, p {name}"] = (
            lambda x, p=p: torch.nn.functional.pdist(x, p),
            (300, 32),
        )
    table["bmm 64 of 32"] = (torch.bmm, [(64, 32, 32), (64, 32, 32)])
    table["einsum"] = (
        lambda x, y: torch.einsum("bhid,bhjd->bhij", x, y),
        [(4, 8, 64, 32), (4, 8, 64, 32)],
    )
    table["outer"] = (torch.outer, [(1000,), (1000,)])
    table["matrix times vector"] = (torch.mv, [(1000, 1000), (1000,)])
    table["matrix_exp of 64"] = (torch.matrix_exp, (64, 64))
    return table


def _without_gradients(torch: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls on integers and bools, and random draws."""
    sorted_values = torch.randn(10_000).sort()[0]
    values, integers = torch.randn(100_000), torch.randint(0, 1000, (100_000,))
    x, big = torch.randn(512, 512), torch.randn(1_000_000)
    calls: dict[str, Callable[[], object]] = {
        "searchsorted": lambda: torch.searchsorted(sorted_values, values),
        "bucketize": lambda: torch.bucketize(values, sorted_values[:100]),
        "argmax of rows": lambda: x.argmax(1),
        "argsort": lambda: values.argsort(),
        "argsort of integers": lambda: integers.argsort(),
        "unique": lambda: integers.unique(),
        "bincount": lambda: integers.bincount(),
        "histc": lambda: values.histc(100),
        "nonzero": lambda: (x > 0).nonzero(),
        "isnan": lambda: x.isnan(),
        "any": lambda: (x > 9).any(),
        "comparison": lambda: x > 0.5,
        "to int64": lambda: x.long(),
        "to uint8": lambda: x.to(torch.uint8),
        "integers to float32": lambda: integers.float(),
        "sum of integers": lambda: integers.sum(),
        "sum of bools": lambda: (x > 0).sum(),
        "integer remainder": lambda: integers % 7,
        "integer division": lambda: integers // 7,
        "and": lambda: (x > 0) & (x < 1),
        "randn": lambda: torch.randn(100_000),
        "rand": lambda: torch.rand(100_000),
        "randperm": lambda: torch.randperm(100_000),
        "dropout": lambda: torch.nn.functional.dropout(x, 0.1),
        "multinomial": lambda: torch.multinomial(x.abs(), 4, replacement=True),
        "quantile": lambda: values.quantile(0.3),
        "zeta": lambda: torch.special.zeta(x, x),
        "one_hot": lambda: torch.nn.functional.one_hot(integers[:10_000], 1000),
        "add_": lambda: big.add_(1.0, alpha=0.0),
        "copy_": lambda: x.copy_(x.flip(0)),
        "fill_": lambda: torch.empty(1_000_000).fill_(1.0),
    }
    yield from calls.items()
