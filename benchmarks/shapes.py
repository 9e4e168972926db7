"""Single calls by shape: dims, widths, layouts and modes that other families leave out.

`breadth.py` says how a row becomes cases.
"""

from __future__ import annotations

from typing import Any

from layers import Table

# name -> shapes of both factors
PRODUCTS: dict[str, list[tuple[int, ...]]] = {
    "tall": [(4096, 64), (64, 64)],
    "deep": [(64, 4096), (4096, 64)],
    "wide": [(64, 64), (64, 4096)],
    "one row": [(1, 1024), (1024, 1024)],
    "8 columns": [(1024, 1024), (1024, 8)],
    "outer of 8": [(1024, 8), (8, 1024)],
    "odd": [(33, 65), (65, 129)],
    "of 100": [(100, 100), (100, 100)],
    "1000 of 8": [(1000, 8, 8), (1000, 8, 8)],
    "64 of 64": [(64, 64, 64), (64, 64, 64)],
    "batch by a matrix": [(8, 64, 64), (64, 128)],
}
EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(64, 64), (64, 64)],
    "bij,bjk->bik": [(32, 32, 32), (32, 32, 32)],
    "bi,bj->bij": [(64, 64), (64, 64)],
    "bij->bji": [(32, 64, 64)],
    "ii->i": [(512, 512)],
    "bhwc,cd->bhwd": [(4, 14, 14, 64), (64, 64)],
}


def shapes(torch: Any) -> Table:
    return (
        _products(torch)
        | _middle_dims(torch)
        | _permuted(torch)
        | _widths(torch)
        | _selections(torch)
        | _indices(torch)
        | _borders(torch)
    )


def _products(torch: Any) -> Table:
    table: Table = {}
    for name, factors in PRODUCTS.items():
        table[f"matmul {name}"] = (torch.matmul, factors)
    for name, factors in EQUATIONS.items():
        table[f"einsum {name}"] = (lambda *x, e=name: torch.einsum(e, *x), factors)
    table["matmul, both transposed"] = (
        lambda x, y: torch.matmul(x.t(), y.t()),
        [(128, 256), (192, 128)],
    )
    table["addmm"] = (torch.addmm, [(128,), (256, 64), (64, 128)])
    table["baddbmm"] = (torch.baddbmm, [(32, 32, 32)] * 3)
    table["dot"] = (torch.dot, [(100_000,), (100_000,)])
    table["tensordot"] = (
        lambda x, y: torch.tensordot(x, y, 2),
        [(64, 16, 16), (16, 16, 64)],
    )
    table["kron"] = (torch.kron, [(32, 32), (16, 16)])
    table["cross"] = (lambda x, y: torch.linalg.cross(x, y), [(4096, 3), (4096, 3)])
    return table


def _middle_dims(torch: Any) -> Table:
    """Reductions, scans and sorts along the dims of a volume."""
    table: Table = {}
    names = "sum mean amax prod var std softmax logsumexp cumsum cumprod logcumsumexp"
    for name in (*names.split(), "argsort"):
        for dim in (0, 1):
            function = getattr(torch, name)
            table[f"{name} of dim {dim} of 3"] = (
                lambda x, f=function, d=dim: f(x, dim=d),
                (48, 64, 40),
            )
    for name in ("min", "max", "cummax", "median", "mode", "sort"):
        function = getattr(torch, name)
        table[f"{name} of dim 1 of 3"] = (
            lambda x, f=function: f(x, dim=1)[0],
            (48, 64, 40),
        )
    for order in (1, 2, 3, float("inf")):
        table[f"norm {order} of dim 1 of 3"] = (
            lambda x, o=order: torch.linalg.vector_norm(x, o, dim=1),
            (48, 64, 40),
        )
    table["sum of a million"] = (torch.sum, (1_000_000,))
    table["var of a million"] = (torch.var, (1_000_000,))
    table["cumsum of a million"] = (lambda x: x.cumsum(0), (1_000_000,))
    table["sum of rows of 8"] = (lambda x: x.sum(1), (20_000, 8))
    table["diff"] = (torch.diff, (512, 512))
    table["trapezoid"] = (torch.trapezoid, (512, 512))
    return table


def _permuted(torch: Any) -> Table:
    """Operands that are views in another order."""
    functional, square = torch.nn.functional, (512, 512)
    return {
        "exp transposed": (lambda x: x.t().exp(), square),
        "exp of every second": (lambda x: x[:, ::2].exp(), square),
        "sum of rows, transposed": (lambda x: x.t().sum(1), square),
        "softmax of rows, transposed": (lambda x: x.t().softmax(1), square),
        "sum of expanded": (lambda x: x.expand(512, 512).sum(), (512, 1)),
        "add of expanded": (lambda x, y: x + y, [(64, 1, 64), (1, 64, 64)]),
        "heads of attention": (
            lambda x: x.view(8, 64, 4, 32).transpose(1, 2).contiguous(),
            (8, 64, 128),
        ),
        "layer_norm, transposed": (
            lambda x: functional.layer_norm(x.transpose(1, 2), (256,)),
            (8, 256, 64),
        ),
        "relu of channels last": (
            lambda x: x.contiguous(memory_format=torch.channels_last).relu(),
            (8, 64, 28, 28),
        ),
    }


def _widths(torch: Any) -> Table:
    """Rows of several widths, from a few numbers to a vocabulary."""
    functional, table = torch.nn.functional, {}
    for rows, width in ((4096, 10), (512, 100), (64, 4096), (16, 32_000)):
        labels = torch.randint(0, width, (rows,))
        shape = (rows, width)
        table[f"softmax of {width}"] = (lambda x: x.softmax(1), shape)
        table[f"log_softmax of {width}"] = (lambda x: x.log_softmax(1), shape)
        table[f"cross_entropy of {width}"] = (
            lambda x, y=labels: functional.cross_entropy(x, y),
            shape,
        )
        table[f"layer_norm of {width}"] = (
            lambda x, w, b, n=width: functional.layer_norm(x, (n,), w, b),
            [shape, (width,), (width,)],
        )
        table[f"rms_norm of {width}"] = (
            lambda x, w, n=width: functional.rms_norm(x, (n,), w),
            [shape, (width,)],
        )
        table[f"linear to {width}"] = (functional.linear, [(64, 64), (width, 64)])
    classes, digits = torch.randint(0, 21, (2, 64, 64)), torch.randint(0, 10, (4096,))
    table["cross_entropy of images"] = (
        lambda x: functional.cross_entropy(x, classes),
        (2, 21, 64, 64),
    )
    table["nll_loss"] = (lambda x: functional.nll_loss(x, digits), (4096, 10))
    for name in ("huber_loss", "l1_loss", "poisson_nll_loss"):
        table[name] = (getattr(functional, name), [(256, 256), (256, 256)])
    table["triplet_margin_loss"] = (functional.triplet_margin_loss, [(256, 64)] * 3)
    return table


def _selections(torch: Any) -> Table:
    table: Table = {}
    for rows, width, count in ((64, 32_000, 50), (8, 100_000, 100), (4096, 8, 2)):
        table[f"topk {count} of {rows} rows of {width}"] = (
            lambda x, k=count: x.topk(k)[0],
            (rows, width),
        )
    table["topk of dim 0"] = (lambda x: x.topk(5, 0)[0], (512, 256))
    table["kthvalue of 100000"] = (lambda x: x.kthvalue(500)[0], (4, 100_000))
    table["median of all"] = (torch.median, (100_000,))
    table["sort of rows of 16"] = (lambda x: x.sort()[0], (4096, 16))
    table["sort of dim 0"] = (lambda x: x.sort(0)[0], (512, 256))
    table["stable sort, descending"] = (
        lambda x: x.sort(descending=True, stable=True)[0],
        (64, 1000),
    )
    table["msort of a million"] = (torch.msort, (1_000_000,))
    table["quantile of rows"] = (lambda x: x.quantile(0.3, 1), (64, 1000))
    return table


def _indices(torch: Any) -> Table:
    functional, square = torch.nn.functional, (512, 512)
    few, many = torch.randint(0, 512, (64,)), torch.randint(0, 512, (512, 512))
    tokens, pairs = torch.randint(0, 30_000, (8, 128)), torch.randint(0, 512, (2, 4096))
    return {
        "index_select of columns": (lambda x: x.index_select(1, few), square),
        "index of columns": (lambda x: x[:, few], square),
        "index of pairs": (lambda x: x[pairs[0], pairs[1]], square),
        "index_put of pairs, accumulated": (
            lambda x, y: x.index_put((pairs[0], pairs[1]), y, accumulate=True),
            [square, (4096,)],
        ),
        "index_put of rows": (
            lambda x, y: x.index_put((few,), y),
            [square, (64, 512)],
        ),
        "index_add of columns": (
            lambda x, y: x.index_add(1, few, y),
            [square, (512, 64)],
        ),
        "index_copy": (lambda x, y: x.index_copy(0, few, y), [square, (64, 512)]),
        "index_fill": (lambda x: x.index_fill(1, few, 0.0), square),
        "gather of dim 0": (lambda x: x.gather(0, many), square),
        "take": (lambda x: x.take(many), square),
        "take_along_dim": (lambda x: x.take_along_dim(many, 1), square),
        "scatter_add of dim 1": (
            lambda x, y: x.scatter_add(1, many, y),
            [square, square],
        ),
        "scatter_reduce amax": (
            lambda x, y: x.scatter_reduce(0, many, y, "amax"),
            [square, square],
        ),
        "embedding of tokens": (
            lambda w: functional.embedding(tokens, w),
            (30_000, 128),
        ),
        "one step of a slice": (lambda x: x[:, 5:300:3].contiguous(), square),
        "split and cat": (lambda x: torch.cat(x.split(128, 1)[::-1], 1), square),
        "unbind and stack": (lambda x: torch.stack(x.unbind(1)), (64, 16, 256)),
        "roll of both dims": (lambda x: x.roll((3, 5), (0, 1)), square),
        "rot90": (lambda x: x.rot90(), square),
        "flip of both dims": (lambda x: x.flip(0, 1), square),
        "triu": (torch.triu, square),
        "diag_embed": (torch.diag_embed, (64, 64)),
        "expand and copy": (lambda x: x.expand(512, 512).contiguous(), (512, 1)),
        "tile": (lambda x: x.tile(4, 4), (128, 128)),
    }


def _borders(torch: Any) -> Table:
    """Padding and sampling by other modes and in other ranks."""
    functional, table = torch.nn.functional, {}
    for mode in ("constant", "replicate", "reflect"):
        table[f"pad volumes, {mode}"] = (
            lambda x, m=mode: functional.pad(x, (1, 1, 1, 1, 1, 1), mode=m),
            (2, 8, 16, 16, 16),
        )
    for border in ("border", "reflection"):
        table[f"grid_sample {border}"] = (
            lambda x, g, b=border: functional.grid_sample(
                x, g, padding_mode=b, align_corners=True
            ),
            [(8, 16, 32, 32), (8, 32, 32, 2)],
        )
    table["grid_sample bicubic"] = (
        lambda x, g: functional.grid_sample(x, g, mode="bicubic", align_corners=False),
        [(8, 3, 32, 32), (8, 32, 32, 2)],
    )
    table["grid_sample of volumes"] = (
        lambda x, g: functional.grid_sample(x, g, align_corners=False),
        [(2, 8, 16, 16, 16), (2, 16, 16, 16, 3)],
    )
    wide, narrow = torch.hann_window(1024), torch.hann_window(512)
    table["stft of 10 s"] = (
        lambda x: torch.stft(x, 1024, 256, window=wide, return_complex=True).abs(),
        (160_000,),
    )
    table["istft"] = (
        lambda x, y: torch.istft(torch.complex(x, y), 512, 128, window=narrow),
        [(4, 257, 126), (4, 257, 126)],
    )
    for size in (128, 1009):
        table[f"fft of inner dim, {size}"] = (
            lambda x: torch.fft.fft(torch.complex(x, x), dim=1),
            (8, size, 64),
        )
    table["irfft2"] = (
        lambda x: torch.fft.irfft2(torch.complex(x, x)),
        (4, 128, 65),
    )
    return table
