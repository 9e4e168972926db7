"""Where each op's samples come from: OpInfo, with the adapters that schemas need.

Used only by check_opinfo.py. An entry yields ``(args, kwargs, reference)`` with arrays
for tensors; ``reference`` takes the tensors in order of appearance.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare import REGISTRY, Op
from pellucid_compiler.declare.key import bind_arguments
from pellucid_compiler.declare.options import Options

DATABASE = {(o.name, o.variant_test_name): o for o in op_db}
DTYPE = torch.float64


class Entry(NamedTuple):
    samples: Callable[[], Iterator[Any]]
    errors: Callable[[], Iterator[Any]]
    op: Any = None  # an op made for the check, instead of the registry's
    fixed: tuple[str, ...] = ()  # keyword arguments PyTorch does not differentiate
    declaration: str | None = None  # the registry's op, if the entry has another name


def convert(value):
    """Arrays for tensors, names for dtypes, through lists."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().numpy().copy()
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [convert(v) for v in value]
    return value


def rebuilt(args, kwargs, function):
    """``function`` of the flat tensors found in ``(args, kwargs)``, in order."""

    def fill(value, tensors):
        if isinstance(value, torch.Tensor):
            return next(tensors)
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(fill(v, tensors) for v in value)
        return value

    def reference(*tensors):
        flat = iter(tensors)
        filled = [fill(a, flat) for a in args]
        return function(*filled, **{k: fill(v, flat) for k, v in kwargs.items()})

    return reference


def sample_parts(sample):
    return (sample.input, *sample.args), dict(sample.kwargs)


def from_opinfo(name, variant="", adapt=None, function=None, limit=None):
    """An entry whose arguments are OpInfo's, after ``adapt(args, kwargs)``.

    ``adapt`` returns the declaration's arguments, or None to skip the sample.
    """
    info = DATABASE[name, variant]
    adapt = adapt or (lambda args, kwargs: (args, kwargs))

    def adapted(sample):
        args, kwargs = sample_parts(sample)
        found = adapt(args, kwargs)
        if found is None:
            return None
        mine, named = found
        return [convert(a) for a in mine], {k: convert(v) for k, v in named.items()}

    def samples():
        count = 0
        for sample in info.sample_inputs("cpu", DTYPE, requires_grad=False):
            mine = adapted(sample)
            if mine is None or (limit and count >= limit):
                continue
            count += 1
            args, kwargs = sample_parts(sample)
            yield *mine, rebuilt(args, kwargs, function or info.op)

    def errors():
        if info.error_inputs_func is None:
            return
        for error in info.error_inputs("cpu"):
            try:
                mine = adapted(error.sample_input)
            except Exception:
                continue
            if mine is not None and "out" not in mine[1]:
                yield *mine, error.error_type, str(error.error_regex)

    return Entry(samples, errors)


def where_arguments(args, kwargs):
    x, condition, y = args
    return (condition, x, y), kwargs


def where_entry():
    entry = from_opinfo("where", adapt=where_arguments)

    def samples():
        for args, kwargs, _ in entry.samples():
            yield args, kwargs, torch.where

    return Entry(samples, entry.errors)


def as_dims(kwargs, name="dim"):
    value = kwargs.get(name)
    return {**kwargs, name: [value]} if isinstance(value, int) else kwargs


def var_mean_arguments(args, kwargs):
    x, *rest = args
    kwargs = dict(kwargs)
    if rest and isinstance(rest[0], bool):
        kwargs["correction"] = int(rest.pop(0))
    if "unbiased" in kwargs:
        kwargs["correction"] = int(kwargs.pop("unbiased"))
    if rest:
        kwargs["dim"] = rest.pop(0)
    return (x,), as_dims(kwargs)


def sum_arguments(args, kwargs):
    x, *rest = args
    if rest:
        kwargs = {**kwargs, "dim": rest[0]}
    return (x,), as_dims({"dim": None, **kwargs})


def pool_arguments(args, kwargs):
    kwargs = dict(kwargs)
    if not kwargs.pop("return_indices", False):
        return None
    if kwargs.get("stride", 1) is None:
        kwargs["stride"] = []
    return args, kwargs


def conv_arguments(args, kwargs):
    return None if isinstance(kwargs.get("padding"), str) else (args, kwargs)


def conv_padding_arguments(args, kwargs):
    return (args, kwargs) if isinstance(kwargs.get("padding"), str) else None


def bilinear_arguments(args, kwargs):
    x, *rest = args
    size = rest[0] if rest else kwargs.get("size")
    scale = kwargs.get("scale_factor")
    if x.dim() != 4:
        return None
    size = [size] * 2 if isinstance(size, int) else size
    scale = [scale] * 2 if isinstance(scale, (int, float)) else scale
    if scale is not None:
        scale = [float(s) for s in scale]
    if kwargs.get("recompute_scale_factor") and scale:
        size = [int(n * s) for n, s in zip(x.shape[2:], scale, strict=True)]
        scale = None
    if size is None:
        size = [int(n * s) for n, s in zip(x.shape[2:], scale, strict=True)]
    corners = bool(kwargs.get("align_corners"))
    return (x, size, corners, *(scale or [None, None])), {}


def loss_arguments(args, kwargs):
    kwargs = dict(kwargs)
    if "reduction" in kwargs:
        kwargs["reduction"] = ("none", "mean", "sum").index(kwargs["reduction"])
    return args, kwargs


def cat_arguments(args, kwargs):
    tensors, *rest = args
    return (list(tensors), *rest), kwargs


def attention_arguments(args, kwargs):
    kwargs = dict(kwargs)
    if kwargs.get("dropout_p"):
        return None
    return args, {
        ("attn_mask" if k == "attn_mask_" else k): v for k, v in kwargs.items()
    }


def index_put_arguments(args, kwargs):
    x, indices, *rest = args
    return (x, list(indices), *rest), kwargs


def nonzero_arguments(args, kwargs):
    return None if kwargs.get("as_tuple") else (args, {})


def index_entry():
    """Advanced indexing, for which OpInfo has no entry under this name."""
    x = torch.randn(5, 4, 3, 2, dtype=DTYPE)
    i, j = torch.tensor([0, 2, -1]), torch.tensor([[1], [0]])
    mask = torch.rand(5, 4) > 0.5
    cases = [[i], [i, None, j], [None, i, None, i % 2], [mask], [mask, None, j % 2]]

    def samples():
        for indices in cases:
            yield (
                [convert(x), convert(indices)],
                {},
                rebuilt((x, indices), {}, torch.ops.aten.index),
            )

    bad = [
        ([torch.tensor([7])], IndexError, "index 7 out of bounds"),
        ([torch.tensor([1.0])], IndexError, "float index"),
        ([mask.T], IndexError, "mask of another shape"),
        ([i] * 5, IndexError, "too many indices"),
        ([i, torch.tensor([0, 1])], IndexError, "indices that do not broadcast"),
    ]

    def errors():
        for indices, error, message in bad:
            yield [convert(x), convert(indices)], {}, error, message

    return Entry(samples, errors)


def ctc_entry():
    def samples():
        for sample in DATABASE["nn.functional.ctc_loss", ""].sample_inputs(
            "cpu", DTYPE
        ):
            logp = sample.input.detach()[:20].log_softmax(2)
            targets, lengths, counts = sample.args
            lengths = torch.as_tensor(lengths).clamp(max=20) - torch.arange(16) % 3
            counts = torch.as_tensor(counts).clamp(max=6)
            args = (logp, targets[:, :6].contiguous(), lengths, counts)
            kwargs = dict(sample.kwargs)
            yield [convert(a) for a in args], kwargs, rebuilt(args, kwargs, F.ctc_loss)
            flat = torch.cat([t[:c] for t, c in zip(targets, counts, strict=True)])
            args = (logp, flat, lengths, counts)
            yield [convert(a) for a in args], kwargs, rebuilt(args, kwargs, F.ctc_loss)

    return Entry(samples, lambda: iter(()))


def embedding_arguments(args, kwargs):
    """torch.nn.functional puts the indices first and leaves max_norm to Python."""
    kwargs = dict(kwargs)
    if kwargs.pop("max_norm", None) is not None or kwargs.get("sparse"):
        return None
    kwargs.pop("norm_type", None)
    if kwargs.get("padding_idx", 0) < 0 or kwargs.get("scale_grad_by_freq"):
        return None  # the second derivative that PyTorch gives forgets the scale
    weight, indices = args
    return (weight, indices), kwargs


def svd_entry():
    """Singular vectors are unique up to their sign: compare absolute values."""

    def arguments(args, kwargs):
        small = args[0].numel() < 40
        return (args, {}) if small and not kwargs.get("full_matrices") else None

    def reference(a, full_matrices):
        u, s, vh = torch.linalg.svd(a, full_matrices=False)
        return u.abs(), s, vh.abs()

    def absolute(a):
        u, s, vh = REGISTRY["_linalg_svd"](a)
        return abs(u), s, abs(vh)

    schema = "svd_abs(Tensor A) -> (Tensor, Tensor, Tensor)"
    op = Op(absolute, schema, "library", Options())
    entry = from_opinfo("linalg.svd", adapt=arguments, function=reference)
    return entry._replace(op=op)


def fits(name, **renamed):
    """An adapter that keeps the samples that the declaration ``name`` accepts."""
    schema = REGISTRY[name].schema

    def is_right(argument, value):
        if value is None:
            return argument.optional or argument.has_default
        if argument.is_list:
            return isinstance(value, (list, tuple, int, torch.Size))
        if argument.is_tensor:
            return isinstance(value, torch.Tensor)
        if argument.type == "str":
            return isinstance(value, str)
        return not isinstance(value, (torch.Tensor, list, tuple, str))

    def adapt(args, kwargs):
        named = {renamed.get(name, name): value for name, value in kwargs.items()}
        try:
            values = bind_arguments(schema, args, named)
        except TypeError:
            return None
        pairs = zip(schema.arguments, values, strict=True)
        return (args, named) if all(is_right(a, v) for a, v in pairs) else None

    return adapt


def fitting(name, info=None, variant="", **renamed):
    """An entry with OpInfo's samples for one overload."""
    info = info or name.split(".")[0]
    entry = from_opinfo(info, variant, adapt=fits(name, **renamed))
    return entry._replace(declaration=name)


TABLE = {
    "sigmoid": from_opinfo("sigmoid"),
    "softplus": from_opinfo("nn.functional.softplus"),
    "relu": from_opinfo("nn.functional.relu"),
    "where.self": where_entry(),
    "clamp": from_opinfo("clamp"),
    "maximum": from_opinfo("maximum"),
    "minimum": from_opinfo("minimum"),
    "sum.dim_IntList": from_opinfo("sum", adapt=sum_arguments),
    "logsumexp": from_opinfo("logsumexp"),
    "var_mean.correction": from_opinfo("var_mean", adapt=var_mean_arguments),
    "max.dim": from_opinfo("max", "reduction_with_dim"),
    "softmax.int": from_opinfo("softmax", "with_dtype"),
    "log_softmax.int": from_opinfo("log_softmax", "with_dtype"),
    "layer_norm": from_opinfo("nn.functional.layer_norm"),
    "cross_entropy_loss": from_opinfo(
        "nn.functional.cross_entropy", adapt=loss_arguments
    )._replace(fixed=("weight",)),
    "cumprod": from_opinfo("cumprod"),
    "gather": from_opinfo("gather"),
    "scatter_add": from_opinfo("scatter_add"),
    "index.Tensor": index_entry(),
    "index_put": from_opinfo("index_put", adapt=index_put_arguments),
    "nonzero": from_opinfo("nonzero", adapt=nonzero_arguments),
    "cat": from_opinfo("cat", adapt=cat_arguments),
    "upsample_bilinear2d": from_opinfo(
        "nn.functional.interpolate", "bilinear", adapt=bilinear_arguments
    ),
    "max_pool2d_with_indices": from_opinfo(
        "nn.functional.max_pool2d", adapt=pool_arguments, limit=25
    ),
    "matmul": from_opinfo("matmul"),
    "linear": from_opinfo("nn.functional.linear"),
    "conv2d": from_opinfo("nn.functional.conv2d", adapt=conv_arguments),
    "conv2d.padding": from_opinfo("nn.functional.conv2d", adapt=conv_padding_arguments),
    "scaled_dot_product_attention": from_opinfo(
        "nn.functional.scaled_dot_product_attention", adapt=attention_arguments
    ),
    "_linalg_svd": svd_entry(),
    "ctc_loss.Tensor": ctc_entry(),
    "masked_fill.Scalar": fitting("masked_fill.Scalar"),
    "masked_fill.Tensor": fitting("masked_fill.Tensor"),
    "clamp.Tensor": fitting("clamp.Tensor"),
    "clamp_min": fitting("clamp_min"),
    "clamp_max.Tensor": fitting("clamp_max.Tensor"),
    "nan_to_num": fitting("nan_to_num"),
    "isclose": fitting("isclose"),
    "prelu": fitting("prelu", "nn.functional.prelu"),
    "glu": fitting("glu", "nn.functional.glu"),
    "embedding": from_opinfo("nn.functional.embedding", adapt=embedding_arguments),
    "index_select": fitting("index_select"),
    "index_add": fitting("index_add"),
    "index_copy": fitting("index_copy"),
    "index_fill.int_Scalar": fitting("index_fill.int_Scalar", "index_fill"),
    "index_fill.int_Tensor": fitting("index_fill.int_Tensor", "index_fill"),
    "masked_select": fitting("masked_select"),
    "masked_scatter": fitting("masked_scatter"),
    "scatter.src": fitting("scatter.src"),
    "scatter.value": fitting("scatter.value"),
    "scatter_reduce.sum": fitting("scatter_reduce.two", variant="sum"),
    "scatter_reduce.mean": fitting("scatter_reduce.two", variant="mean"),
    "scatter_reduce.amax": fitting("scatter_reduce.two", variant="amax"),
    "scatter_reduce.amin": fitting("scatter_reduce.two", variant="amin"),
    "take": fitting("take"),
    "take_along_dim": fitting("take_along_dim"),
    "diag": fitting("diag"),
    "diag_embed": fitting("diag_embed"),
    "constant_pad_nd": fitting("constant_pad_nd", "constant_pad_nd"),
    "sort": fitting("sort"),
    "argsort": fitting("argsort"),
    "msort": fitting("msort"),
    "topk": fitting("topk"),
    "kthvalue": fitting("kthvalue"),
    "median": fitting("median"),
    "median.dim": fitting("median.dim"),
    "nanmedian.dim": fitting("nanmedian.dim"),
    "cummax": fitting("cummax"),
    "cummin": fitting("cummin"),
    "logcumsumexp": fitting("logcumsumexp"),
    "rms_norm": fitting("rms_norm", "nn.functional.rms_norm"),
    "group_norm": fitting("group_norm", "nn.functional.group_norm"),
}
