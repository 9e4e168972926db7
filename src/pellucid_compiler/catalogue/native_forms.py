"""The ops under which PyTorch's dispatch modes see layers: ``native_layer_norm`` for
``layer_norm``, ``convolution`` for ``conv2d``.

They compute the same as the layers' ops, and also return what PyTorch saves for
backward. The layers' declarations name them (``seen_as``).
"""

from pellucid_compiler.catalogue.attention import attention
from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.convolution import CONVOLUTIONS, TRANSPOSED
from pellucid_compiler.catalogue.loss import LABEL_MESSAGE, nll_with_weight
from pellucid_compiler.catalogue.normalization import (
    group_norm,
    layer_norm,
    log_softmax,
    log_softmax_gradient,
    softmax,
    softmax_gradient,
)
from pellucid_compiler.catalogue.pooling import ADAPTIVE_MEANS
from pellucid_compiler.catalogue.real_only import NARROW
from pellucid_compiler.catalogue.statistics import moments
from pellucid_compiler.composites.losses import NONE
from pellucid_compiler.declare import (
    cast,
    const,
    contraction,
    detach,
    exp,
    fused,
    greatest_over,
    isinf,
    log,
    loop,
    make,
    num_elements,
    require,
    reshape,
    rsqrt,
    tabulate,
    total_over,
    transpose_last,
    where,
)


def _require_same_dtype(name, half_to_float):
    require(
        not half_to_float,
        f"{name}: half_to_float is of CUDA tensors; convert with .float() first",
    )


@fused(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    method=False,
    rare=True,
    backward="_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor",
    backward_reads="output=result, input_dtype=dtype(grad)",
    backward_out="",
    core=True,
)
def _softmax(x, dim, half_to_float):
    """``softmax`` in the input's dtype."""
    _require_same_dtype("_softmax", half_to_float)
    return softmax(x, dim, None)


@fused(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    method=False,
    rare=True,
    backward="_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor",
    backward_reads="output=result, input_dtype=dtype(grad)",
    backward_out="",
    core=True,
)
def _log_softmax(x, dim, half_to_float):
    """``log_softmax`` in the input's dtype."""
    _require_same_dtype("_log_softmax", half_to_float)
    return log_softmax(x, dim, None)


_softmax.vjp("saved values: saves y alone")(softmax_gradient)
_log_softmax.vjp("saved values: saves y alone")(log_softmax_gradient)


def _statistics(x, dims, eps):
    """(mean, one over the standard deviation)."""
    variance, center = moments(x, dims, 0, True)
    return center, rsqrt(variance + eps)


@fused(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
    "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    method=False,
    rare=True,
    backward="native_layer_norm_backward(mean=result1, rstd=result2)",
    unrecorded=(1, 2),
    core=True,
)
def native_layer_norm(x, normalized_shape, weight, bias, eps):
    """``layer_norm``, the means, and one over the standard deviations."""
    y = layer_norm(x, normalized_shape, weight, bias, eps, True)
    return y, *_statistics(
        detach(x), [-1 - d for d in range(len(normalized_shape))], eps
    )


@fused(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
    "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    method=False,
    symbolic=("group",),
    rare=True,
    backward="native_group_norm_backward(mean=result1, rstd=result2)",
    core=True,
)
def native_group_norm(x, weight, bias, samples, channels, pixels, groups, eps):
    """``group_norm``, the means, and one over the standard deviations."""
    y = group_norm(x, groups, weight, bias, eps, True)
    sizes = (x.shape[0], x.shape[1], num_elements(x, range(2, x.rank)))
    for size, stated in zip(sizes, (samples, channels, pixels), strict=True):
        require(
            size == stated, "native_group_norm: {} given for a size of {}", stated, size
        )
    rows = reshape(x, [samples, groups, channels // groups * pixels])
    statistics = _statistics(rows, [2], eps)
    return y, *(reshape(t, [samples, groups]) for t in statistics)


def _declare_nll(dims, rank):
    name = f"nll_loss{dims}_forward"
    options = (
        "Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index"
    )

    @fused(
        f"{name}({options}) -> (Tensor output, Tensor total_weight)",
        refuses=("integers", "bool"),
        method=False,
        function=False,
        out=False,
        forms=(
            f"{name}.output({options}, *, Tensor(a!) output, Tensor(b!) total_weight) "
            "-> (Tensor(a!), Tensor(b!))",
        ),
        node=f"NllLoss{dims.upper()}Backward0",
        index_message=LABEL_MESSAGE,
        rare=True,
        backward=f"nll_loss{dims}_backward(Tensor grad_output, Tensor self, Tensor "
        f"target, Tensor? weight, int reduction, SymInt ignore_index, Tensor "
        f"total_weight) -> Tensor",
        backward_reads="total_weight=result1",
    )
    def nll_loss_forward(x, target, weight, reduction, ignore_index):
        """``nll_loss`` and the sum of the weights that it divides by."""
        require(x.rank in rank, f"{name}: the input has {x.rank} dims; give {rank[-1]}")
        loss, count = nll_with_weight(x, target, weight, reduction, ignore_index)
        if reduction == NONE:
            return loss, tabulate([], lambda: cast(const(0.0), x.dtype))
        return loss, detach(count)


_declare_nll("", (1, 2))
_declare_nll("2d", (4,))


@contraction(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
    "SymInt groups) -> Tensor",
    refuses=("bool",),
    method=False,
    rare=True,
    backward="convolution_backward(Tensor grad_output, Tensor input, Tensor weight, "
    "SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
    "transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
    "(Tensor, Tensor, Tensor)",
    backward_reads="bias_sizes=channels(bias)",
    backward_out="out",
    core=("convolution", "convolution_backward"),
)
def convolution(
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """The convolution, or the transposed one, over the spatial dims of the weight."""
    dims = weight.rank - 2
    require(
        dims in CONVOLUTIONS,
        f"convolution: a weight of rank {weight.rank}; give (out, in, *kernel) over 1, "
        "2 or 3 dims",
    )

    def of_all_dims(values):
        return [*values] * dims if len(values) == 1 else values

    stride, padding, dilation, output_padding = map(
        of_all_dims, (stride, padding, dilation, output_padding)
    )
    if not transposed:
        return CONVOLUTIONS[dims](x, weight, bias, stride, padding, dilation, groups)
    require(
        x.dtype not in NARROW,
        f"a transposed convolution of {x.dtype} tensors is not implemented: convert "
        "with .to(torch.int64) first",
        error=NotImplementedError,
    )
    return TRANSPOSED[dims](
        x, weight, bias, stride, padding, output_padding, groups, dilation
    )


def _declare_adaptive_mean(dims):
    name = f"_adaptive_avg_pool{dims}d"

    @loop(
        f"{name}(Tensor self, SymInt[{dims}] output_size) -> Tensor",
        refuses=("integers", "bool"),
        method=False,
        rare=True,
        backward=f"{name}_backward(Tensor grad_output, Tensor self) -> Tensor",
        backward_out="out",
        core=(name, f"{name}_backward") if dims == 2 else True,
    )
    def mean_of_windows(x, output_size):
        """The means of windows that cover the last dims evenly."""
        return ADAPTIVE_MEANS[dims](x, output_size)


for _dims in (2, 3):
    _declare_adaptive_mean(_dims)


@contraction(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, "
    "Tensor value, float dropout_p=0.0, bool is_causal=False, *, "
    "Tensor? attn_mask=None, float? scale=None) "
    "-> (Tensor output, Tensor logsumexp)",
    method=False,
    out=False,
    rare=True,
    backward="_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, "
    "Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, "
    "float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) "
    "-> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    backward_reads="out=result, logsumexp=result1",
    backward_out="",
    tags="nondeterministic_seeded",
)
def flash_attention(q, k, v, dropout_p, is_causal, mask, scale):
    """``scaled_dot_product_attention`` and the logarithms of its rows' sums."""
    require(
        all(t.rank == 4 for t in (q, k, v)) and q.is_floating,
        f"flash attention takes float tensors of (batch, heads, rows, features), not "
        f"{q.dtype} ones of {q.rank} dims",
    )
    y = attention(q, k, v, mask, dropout_p, is_causal, scale, False)
    q, k = detach(q), detach(k)
    scale = 1 / make("sqrt", q.shape[-1]) if scale is None else scale
    score = matmul(q * scale, transpose_last(k))
    if is_causal:
        rows = score
        score = tabulate(
            rows.shape, lambda *p: where(p[-1] <= p[-2], rows[p], -float("inf"))
        )
    if mask is not None:
        score = score + detach(mask)
    top = greatest_over(score, [-1], keepdim=True)
    top = where(isinf(top), 0.0, top)
    sums = total_over(exp(score - top), [-1], keepdim=True)
    lse = top + log(sums)
    return y, reshape(lse, lse.shape[:-1])
