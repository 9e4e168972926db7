"""Calls ops with operands in random layouts; prints cases in which the layout changes a
value.

    python tests/native/layouts.py <seed> <count>

A tensor's strides are not part of its value: a call's results and gradients must
be those of the same call with contiguous copies of its operands and of its cotangents.
Operands are permuted, stepped over and expanded, each dim in its own way, have dims of
size 1 whose strides join nothing, and dims of size 0; sizes meet whole vectors and what
is left of one. Pointwise ops, reductions and scans are drawn from the registry at
random sizes, all other ops with the registry's samples, and functions that choose among
kernels by shapes and strides from the list below. Run by test_fuzz.py in a process of
its own; run it by hand for longer.
"""

import random
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.op_samples import calls

import pellucid as torch
from pellucid.nn import functional as F
from pellucid_compiler.declare import REGISTRY
from tests.declarations.refusals import ERRORS
from tests.exec.support import native_arguments
from tests.native.cases import NAMES

TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-8}  # of the largest element
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40)
ELEMENTS = 20_000


class Draw:
    """Operands of one call, drawn from one random stream."""

    def __init__(self, stream, dtype):
        self.random, self.dtype = stream, dtype
        self.values = np.random.default_rng(stream.getrandbits(32))

    def size(self, low=1, high=40):
        return self.random.choice([n for n in SIZES if low <= n <= high])

    def sizes(self, rank):
        """Sizes of ``rank`` dims with no more than ``ELEMENTS`` elements."""
        drawn = [self.size() for _ in range(rank)]
        while np.prod(drawn) > ELEMENTS:
            drawn[drawn.index(max(drawn))] = self.size(high=5)
        if rank and self.chance(0.03):
            drawn[self.random.randrange(rank)] = 0
        return drawn

    def chance(self, probability):
        return self.random.random() < probability

    def one_of(self, *choices):
        return self.random.choice(choices)

    def floats(self, *sizes, repeated=True, positive=False):
        """Normal numbers; ``repeated``: dims may be expanded."""

        def drawn(held):
            values = self.values.standard_normal(held)
            return np.abs(values) + 0.1 if positive else values

        return self.with_layout(sizes, drawn, repeated)

    def places(self, bound, *sizes):
        """Integers of [0, bound)."""
        return self.with_layout(
            sizes, lambda held: self.values.integers(0, bound, held)
        )

    def with_layout(self, sizes, drawn, repeated=True):
        """A tensor of these sizes with a random stride pattern per dim.

        ``drawn`` gives the array of the sizes that are held; ``repeated``: dims may be
        expanded.
        """
        rank = range(len(sizes))
        strided, order = self.chance(0.4), list(rank)
        if self.chance(0.5):
            self.random.shuffle(order)
        if len(sizes) == 4 and self.chance(0.2):
            order = [0, 2, 3, 1]
        expanded = repeated and self.chance(0.3)
        held = [1 if expanded and self.chance(0.5) else n for n in sizes]
        steps = [self.one_of(1, 1, 2, 3) if strided else 1 for _ in rank]
        starts = [self.random.randrange(step) for step in steps]
        base = np.asarray(drawn([held[k] * steps[k] for k in order]))
        if self.dtype is torch.float32 and base.dtype == np.float64:
            base = base.astype(np.float32)
        view = torch.from_numpy(base).permute([order.index(k) for k in rank])
        where = tuple(slice(a, None, b) for a, b in zip(starts, steps, strict=True))
        return view[where].expand(*sizes) if sizes else view


class Case:
    """A function of operands, and the operands in their layouts."""

    def __init__(self, label, function, *operands):
        self.label, self.function, self.operands = label, function, operands

    def __str__(self):
        of = [f"{x.dtype} {tuple(x.shape)} {x.stride()}" for x in self.operands]
        return f"{self.label}({', '.join(of)})"


def contiguous(x):
    """A copy that NumPy makes."""
    return torch.from_numpy(np.array(x.detach().numpy(), order="C", copy=True))


def results_of(function, operands, cotangents):
    """(results, gradients); ``cotangents(shapes)`` gives those of the results."""
    leaves = []
    for k, x in enumerate(operands):
        if x.is_floating_point():
            operands[k] = x.detach().requires_grad_()
            leaves.append(operands[k])
    results = function(*operands)
    results = results if isinstance(results, (tuple, list)) else [results]
    results = [y for y in results if isinstance(y, torch.Tensor)]
    smooth = [y for y in results if y.requires_grad and y.is_floating_point()]
    if not smooth:
        return results, []
    grads = torch.autograd.grad(
        smooth, leaves, cotangents([y.shape for y in smooth]), allow_unused=True
    )
    return results, list(grads)


def difference(actual, expected):
    """The difference of a tensor that should equal another, or None."""
    if actual is None or expected is None:
        return None if actual is expected else "one of two gradients is None"
    if actual.shape != expected.shape or actual.dtype is not expected.dtype:
        return f"{actual.dtype} {actual.shape} for {expected.dtype} {expected.shape}"
    a, b = actual.detach().numpy(), expected.detach().numpy()
    if not actual.is_floating_point():
        return None if np.array_equal(a, b) else "differs"
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, finite.max()) if finite.size else 1.0
    near = TOLERANCE.get(actual.dtype, 0.05)
    if np.allclose(a / scale, b / scale, rtol=near, atol=near, equal_nan=True):
        return None
    return f"differs by {np.nanmax(np.abs(a - b)):g}"


REFUSED = "both refuse the call"


def attempt(case, draw):
    """The failure of the case, or None; REFUSED if there is nothing to compare."""
    inputs = []

    def with_layout(shapes):
        inputs.extend(draw.floats(*shape) for shape in shapes)
        return inputs

    copies = [contiguous(x) for x in case.operands]
    actual = expected = None
    try:
        actual = results_of(case.function, list(case.operands), with_layout)
    except ERRORS as error:
        actual = error
    try:
        expected = results_of(
            case.function, copies, lambda shapes: [contiguous(ct) for ct in inputs]
        )
    except ERRORS as error:
        expected = error
    if isinstance(actual, Exception) or isinstance(expected, Exception):
        same = type(actual) is type(expected)
        return REFUSED if same else f"{actual!r:.200} for {expected!r:.200}"
    for kind, these, those in zip(
        ("result", "gradient"), actual, expected, strict=True
    ):
        for k, (a, b) in enumerate(zip(these, those, strict=True)):
            wrong = difference(a, b)
            if wrong:
                return f"{kind} {k} {wrong}"
    return None


def shaped(name):
    """Whether an op takes tensors of any sizes that broadcast, and dims of them."""
    op = REGISTRY[name]
    required = [a for a in op.schema.arguments if not a.has_default]
    dims = [a for a in required if a.name == "dim"]
    tensors = [a for a in required if a.type == "Tensor" and not a.is_list]
    pointwise = op.kind == "pointwise" and tensors
    return (
        pointwise or (op.kind in ("reduction", "scan") and len(tensors) == 1)
    ) and len(tensors) + len(dims) == len(required)


SHAPED = [name for name in NAMES if shaped(name)]
SAMPLED = [name for name in NAMES if name not in SHAPED]


def call_of_sizes(draw):
    """A pointwise op, a reduction or a scan at random sizes."""
    name = draw.one_of(*SHAPED)
    op = REGISTRY[name]
    sizes = draw.sizes(draw.random.randint(1, 4))
    operands, rest = [], {}
    for argument in op.schema.arguments:
        if argument.type == "Tensor" and not argument.has_default:
            near = [1 if draw.chance(0.2) else n for n in sizes] if operands else sizes
            cut = draw.random.randrange(len(sizes)) if operands else 0
            operands.append(draw.floats(*near[cut:], positive=draw.chance(0.5)))
        elif argument.name == "dim":
            chosen = draw.random.sample(
                range(len(sizes)), draw.random.randint(1, len(sizes))
            )
            rest["dim"] = chosen if argument.is_list else chosen[0]
        elif argument.name == "keepdim":
            rest["keepdim"] = draw.chance(0.5)
    return Case(f"{name} {rest}", partial(torch._C._op_named(name), **rest), *operands)


def sampled_call(draw):
    """The registry's samples of an op, with the values that the samples have."""
    name = draw.one_of(*SAMPLED)
    op = REGISTRY[name]
    samples = calls(name)
    if not samples:
        return None
    call = draw.random.choice(samples)[0]

    def lay(array):
        drawn = np.array(array)
        if drawn.dtype == np.float64 and draw.dtype is torch.float32:
            drawn = drawn.astype(np.float32)
        zeros = partial(np.zeros, dtype=drawn.dtype)
        view = draw.with_layout(drawn.shape, zeros, repeated=False)
        return view.copy_(torch.from_numpy(drawn.copy()))

    def function(*tensors):
        by_position, by_keyword = [], {}
        values = native_arguments(op, call, tensors)
        for argument, value in zip(op.schema.arguments, values, strict=True):
            if argument.keyword_only:
                by_keyword[argument.name] = value
            else:
                by_position.append(value)
        return torch._C._op_named(name)(*by_position, **by_keyword)

    return Case(name, function, *(lay(array) for array in call.tensors))


def convolution(draw):
    rank, groups = draw.one_of(1, 2, 2, 2, 3), draw.one_of(1, 1, 2)
    high = {1: 40, 2: 17, 3: 7}[rank]
    window = [draw.size(high=4) for _ in range(rank)]
    image = [k - 1 + draw.size(high=high) for k in window]
    per_group, out = draw.size(high=9 if rank > 1 else 17), groups * draw.size(high=9)
    x = draw.floats(draw.size(high=4), groups * per_group, *image)
    stride, padding = draw.one_of(1, 1, 2, 3), draw.random.randint(0, 2)
    if draw.chance(0.3):
        w = draw.floats(groups * per_group, out, *window)
        function = getattr(F, f"conv_transpose{rank}d")
        return Case("conv_transpose", partial(function, stride=stride), x, w)
    if draw.chance(0.2):
        groups, per_group, out = x.shape[1], 1, x.shape[1]
    w = draw.floats(out, per_group, *window)
    function = partial(
        getattr(F, f"conv{rank}d"), stride=stride, padding=padding, groups=groups
    )
    return Case("conv", function, x, w, draw.floats(out))


def product(draw):
    batch, m, k, n = draw.size(high=5), draw.size(), draw.size(), draw.size()
    x, w, plain = draw.floats(batch, m, k), draw.floats(n, k), draw.floats(m, k)
    y, added, row = draw.floats(batch, k, n), draw.floats(batch, m, n), draw.floats(n)
    return draw.one_of(
        Case("linear", F.linear, x, w, row),
        Case("linear", F.linear, plain, w, row),
        Case("matmul", torch.matmul, x, y),
        Case("matmul of a matrix", torch.matmul, plain, y),
        Case("addmm", partial(torch.addmm, alpha=2), row, plain, w.t()),
        Case("baddbmm", partial(torch.baddbmm, beta=0.5), added, x, y),
        Case("einsum", partial(torch.einsum, "bmk,bkn->bm"), x, y),
        Case("einsum", partial(torch.einsum, "bmk,bkn->mn"), x, y),
        Case("bilinear", F.bilinear, plain, added[0], draw.floats(3, k, n)),
    )


def normalisation(draw):
    batch, channels = draw.size(2, 5), 2 * draw.size(high=9)
    image = [draw.size(2, 17), draw.size(high=17)]
    x, of_channels = draw.floats(batch, channels, *image, repeated=False), []
    of_channels += [draw.floats(channels), draw.floats(channels)]
    of_image = [draw.floats(*image), draw.floats(*image)]
    return draw.one_of(
        Case("layer_norm", lambda x, w, b: F.layer_norm(x, image, w, b), x, *of_image),
        Case("rms_norm", lambda x, w: F.rms_norm(x, image, w), x, of_image[0]),
        Case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), x, *of_channels),
        Case(
            "batch_norm",
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
            x,
            *of_channels,
        ),
        Case(
            "batch_norm of statistics",
            F.batch_norm,
            x,
            draw.floats(channels),
            draw.floats(channels, positive=True),
            *of_channels,
        ),
    )


def pooling(draw):
    image = [4 + draw.size(high=17), 4 + draw.size(high=33)]
    x = draw.floats(draw.size(high=3), draw.size(high=9), *image)
    window, stride = (draw.size(high=4), draw.size(high=4)), draw.one_of(1, 2, 3)
    out = [draw.size(high=5), draw.size(high=9)]
    return draw.one_of(
        Case("max_pool2d", lambda x: F.max_pool2d(x, window, stride), x),
        Case("avg_pool2d", lambda x: F.avg_pool2d(x, window, stride), x),
        Case("avg_pool2d ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), x),
        Case("lp_pool2d", lambda x: F.lp_pool2d(x.abs() + 0.1, 2, window, stride), x),
        Case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, out), x),
        Case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, out), x),
        Case("bilinear", lambda x: F.interpolate(x, out, mode="bilinear"), x),
        Case("bicubic", lambda x: F.interpolate(x, out, mode="bicubic"), x),
        Case("nearest", lambda x: F.interpolate(x, out), x),
        Case("unfold", lambda x: F.unfold(x, window, 1, 1, stride), x),
        Case("pad", lambda x: F.pad(x, (1, 2, 3, 1), mode="reflect"), x),
    )


def folding(draw):
    window, stride = draw.size(high=3), draw.size(high=3)
    image = [4 + draw.size(high=9), 4 + draw.size(high=17)]
    count = np.prod([(n - window) // stride + 1 for n in image])
    x = draw.floats(draw.size(high=3), draw.size(high=5) * window**2, int(count))
    return Case("fold", lambda x: F.fold(x, image, window, stride=stride), x)


def attention(draw):
    batch, heads, s, t = draw.size(high=3), draw.size(high=4), draw.size(), draw.size()
    width = draw.one_of(4, 8, 16, 32, 33)
    q, k, v = (draw.floats(batch, heads, n, width) for n in (s, t, t))
    function = F.scaled_dot_product_attention
    if draw.chance(0.4):
        mask = draw.floats(draw.one_of(1, batch), draw.one_of(1, heads), s, t)
        return Case("attention under a mask", function, q, k, v, mask)
    return Case("attention", partial(function, is_causal=draw.chance(0.5)), q, k, v)


def recurrence(draw):
    kind = draw.one_of("LSTM", "GRU", "RNN")
    bidirectional, steps = draw.chance(0.3), draw.size(high=7)
    module = getattr(torch.nn, kind)(
        draw.size(high=17), draw.size(), bidirectional=bidirectional
    )
    names = [name for name, _ in module.named_parameters()]
    weights = [draw.floats(*p.shape) * 0.3 for p in module.parameters()]
    x = draw.floats(steps, draw.size(high=9), module.input_size)

    def function(x, *weights):
        inputs = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(module, inputs, (x,))[0]

    return Case(kind, function, x, *weights)


def loss(draw):
    rows, classes, more = (
        draw.size(),
        draw.size(2),
        [draw.size(high=5)][: draw.size(high=2) - 1],
    )
    x, y = draw.floats(rows, classes, *more), draw.floats(rows, classes, *more)
    target = draw.places(classes, rows, *more)
    weight = draw.floats(classes, positive=True)
    by = partial(draw.one_of, "mean", "sum", "none")
    of_classes = partial(F.cross_entropy, reduction=by(), label_smoothing=0.1)
    return draw.one_of(
        Case("cross_entropy", of_classes, x, target),
        Case("weighted", lambda x, t, w: of_classes(x, t, weight=w), x, target, weight),
        Case("cross_entropy of odds", of_classes, x, y),
        Case("nll_loss", partial(F.nll_loss, reduction=by()), x, target),
        Case("mse_loss", partial(F.mse_loss, reduction=by()), x, y),
        Case("huber_loss", partial(F.huber_loss, reduction=by()), x, y),
        Case("kl_div", partial(F.kl_div, reduction=by(), log_target=True), x, y),
        Case("softmax", lambda x: x.softmax(1), x),
        Case("log_softmax", lambda x: x.log_softmax(0), x),
        Case("logsumexp", lambda x: x.logsumexp((0, 1)), x),
    )


def indexing(draw):
    a, b, c, n = draw.size(2), draw.size(2, 17), draw.size(high=17), draw.size(high=17)
    x, y = draw.floats(a, b, c), draw.floats(n, b, c)
    i, k, whole = draw.places(a, n), draw.places(b, n), draw.places(a, n, b, c)
    return draw.one_of(
        Case("x[i]", lambda x, i: x[i], x, i),
        Case("x[:, k]", lambda x, k: x[:, k], x, k),
        Case("x[i, k]", lambda x, i, k: x[i, k], x, i, k),
        Case("x[x > 0]", lambda x: x[x > 0], x),
        Case("index_select", lambda x, i: x.index_select(0, i), x, i),
        Case("index_add", lambda x, i, y: x.index_add(0, i, y), x, i, y),
        Case("gather", lambda x, w: x.gather(0, w), x, whole),
        Case("scatter_add", lambda x, w, y: x.scatter_add(0, w, y), x, whole, y),
        Case("amax", lambda x, w, y: x.scatter_reduce(0, w, y, "amax"), x, whole, y),
        Case("put", lambda x, i, y: x.index_put((i,), y, accumulate=True), x, i, y),
        Case("where", lambda x, w, y: torch.where(w[:1] > 1, x, y[:1]), x, whole, y),
        Case("embedding", lambda x, i: F.embedding(i, x[..., 0]), x, i),
        Case("cat", lambda x, y: torch.cat([x, y]), x, y),
        Case("stack", lambda x: torch.stack([x, x], 2), x),
        Case("flip", lambda x: x.flip(1) + x.roll(1, 2), x),
        Case("tril", lambda x: x.tril() * x.triu(1), x),
        Case("reshape", lambda x: x.transpose(0, 2).reshape(-1, a) * 2, x),
    )


def written(change):
    """The change of a tensor in place, made to a copy with the tensor's strides."""

    def function(x, y):
        room = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
        room.copy_(x)
        change(room, y)
        return room

    return function


def filled(function):
    """The function written into a tensor with its first operand's strides."""

    def into(x, y):
        with torch.no_grad():
            room = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
            return function(x, y, out=room)

    return into


def at_every_second(x, y):
    x[:, ::2].mul_(y[:, ::2])


def by_the_transposed(x, y):
    x.t()[1:] = y.t()[1:] * 2
    x.add_(y, alpha=2)


def along_a_row(x, y):
    x[0].copy_(y[-1])
    x.exp_()


def where_positive(x, y):
    x.masked_fill_(y > 0, 0.5).clamp_(-1, 1)


def along_the_diagonal(x, y):
    x.diagonal().add_(y.diagonal())
    x.cumsum_(1)


def writing(draw):
    a, b = draw.size(2), draw.size(2)
    x, y = draw.floats(a, b, repeated=False), draw.floats(a, b)
    change = draw.one_of(
        at_every_second, by_the_transposed, along_a_row, where_positive,
        along_the_diagonal,
    )  # fmt: skip
    return draw.one_of(
        Case(change.__name__, written(change), x, y),
        Case("add out=", filled(torch.add), x, y),
        Case("hypot out=", filled(torch.hypot), x, y),
        Case(
            "cumsum out=", filled(lambda x, y, out: torch.cumsum(x, 0, out=out)), x, y
        ),
        Case("sort out=", filled(lambda x, y, out: out.copy_(x.sort(0)[0])), x, y),
        Case(
            "mm out=", filled(lambda x, y, out: torch.mm(x, y.t() @ y, out=out)), x, y
        ),
    )


KINDS = (
    call_of_sizes, call_of_sizes, call_of_sizes, sampled_call, convolution, product,
    normalisation, pooling, folding, attention, recurrence, loss, indexing, writing,
)  # fmt: skip


def main(seed, count):
    warnings.simplefilter("ignore")
    stream, failures, compared = random.Random(seed), 0, 0
    for _ in range(count):
        draw = Draw(stream, stream.choice(tuple(TOLERANCE)))
        case = draw.one_of(*KINDS)(draw)
        if case is None:
            continue
        print(case, file=sys.stderr, flush=True)
        wrong = attempt(case, draw)
        if wrong is REFUSED:
            continue
        compared += 1
        if wrong:
            failures += 1
            print(f"{case}: {wrong}")
    if compared < count // 2:
        failures += 1
        print(f"only {compared} of {count} cases computed anything")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
