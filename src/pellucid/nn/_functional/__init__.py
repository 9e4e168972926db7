"""``nn.functional``: the ops of the catalogue, and what needs a line of Python on top.

Ops whose declarations say that they are here, too (``also``), are put here at the end,
as the callables that ``_C._nn`` or the package has: they are not listed.
Written out below is only what differs in signature: an ``inplace`` flag, the deprecated
``size_average`` and ``reduce``, reductions by name, which ops number, defaults that
Python decides.
"""

from collections.abc import Callable
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING
from typing import Any as _Any

import pellucid as torch
from pellucid import Tensor
from pellucid._C import _nn, _nn_functional
from pellucid._C._runtime import composites as _bodies
from pellucid._package.calls.deprecation import advise as _advise
from pellucid._package.calls.overridable import make_overridable as _make_overridable
from pellucid.nn import grad as grad  # PyTorch shows this module here as well
from pellucid.nn.functional._attention import *
from pellucid.nn.functional._attention import _canonical_mask as _canonical_mask
from pellucid.nn.functional._attention import _none_or_dtype as _none_or_dtype
from pellucid.nn.functional._linear_cross_entropy import *
from pellucid.nn.functional._losses import *
from pellucid.nn.functional._losses import reduction_number as _reduction
from pellucid.nn.functional._norms import *
from pellucid.nn.functional._pooling import *
from pellucid.nn.functional._vision import *
from pellucid_compiler.composites import dropout as _dropouts

_Dtype = _Any


# Activations


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return torch.relu_(input) if inplace else torch.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return hardtanh(input, 0.0, 6.0, inplace)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: _Dtype = None,
) -> Tensor:
    """Products of groups that ``offs`` (int32) gives the ends of: rows of `mat_a` times
    each matrix of `mat_b`, each matrix of `mat_a` times columns of `mat_b`, or columns
    of `mat_a` times rows of `mat_b`. Without ``offs``, ``bmm``.
    """
    result: Tensor = torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
    return result


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    result: Tensor = _nn.softsign(input)
    return result


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``input`` limited to ``min_val .. max_val``."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} exceeds max_val {max_val}")
    op = _nn.hardtanh_ if inplace else _nn.hardtanh
    return op(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``."""
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising exponential unit."""
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``."""
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False
) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``."""
    op = _nn.leaky_relu_ if inplace else _nn.leaky_relu
    return op(input, negative_slope)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False
) -> Tensor:
    """``input`` where above ``threshold``, else ``value``."""
    op = torch.threshold_ if inplace else torch.threshold
    return op(input, threshold, value)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    return _nn.log_sigmoid(input)


def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: _Dtype | None = None,
) -> Tensor:
    """``exp(input)`` over its sum along ``dim``."""
    dim = _softmax_dim("softmax", input, _stacklevel) if dim is None else dim
    return input.softmax(dim, dtype=dtype)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: _Dtype | None = None,
) -> Tensor:
    """The softmax of ``-input``."""
    dim = _softmax_dim("softmin", input, _stacklevel) if dim is None else dim
    return (-input).softmax(dim, dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: _Dtype | None = None,
) -> Tensor:
    """The logarithm of the softmax, without overflow."""
    dim = _softmax_dim("log_softmax", input, _stacklevel) if dim is None else dim
    return input.log_softmax(dim, dtype=dtype)


def _softmax_dim(name: str, input: Tensor, stacklevel: int) -> int:
    import warnings

    warnings.warn(
        f"{name} without dim is deprecated: it takes axis 0 of inputs of 0, 1 or 3 "
        "dimensions and axis 1 of others; pass dim",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:
    """A sample of the Gumbel-softmax distribution; ``hard`` makes it one-hot.

    The hard sample has the soft one's gradient (Jang et al., 2017).
    """
    noise = torch.empty_like(
        logits, memory_format=torch.legacy_contiguous_format
    ).exponential_()
    soft = ((logits - noise.log()) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(
        logits, memory_format=torch.legacy_contiguous_format
    ).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along ``dim`` times the sigmoid of the second."""
    return _nn.glu(input, dim)


# Dropout


# A call of the ops costs more than that of their bodies.
_dropout, _dropout_ = _dropouts.dropout.body, _dropouts.dropout_.body


def _checked_probability(p: float) -> float:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeroes elements with probability ``p`` and scales the others by 1 / (1 - p)."""
    op = _dropout_ if inplace else _dropout
    dropped: Tensor = op(input, _checked_probability(p), training)
    return dropped


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of SELU activations."""
    op = torch.alpha_dropout_ if inplace else torch.alpha_dropout
    dropped: Tensor = op(input, _checked_probability(p), training)
    return dropped


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Alpha dropout of whole channels."""
    op = torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout
    return op(input, _checked_probability(p), training)


def _channel_dropout(dimensions: int) -> Callable[..., Tensor]:
    """``dropout1d``, ``dropout2d`` or ``dropout3d``."""

    def channel_dropout(
        input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        op = torch.feature_dropout_ if inplace else torch.feature_dropout
        _checked_probability(p)
        ranks = (dimensions + 1, dimensions + 2)
        if input.ndim not in ranks:
            message = (
                f"dropout{dimensions}d takes {ranks[0]} or {ranks[1]} dimensions, "
                f"not {input.ndim}"
            )
            if dimensions == 1:
                raise RuntimeError(message)
            import warnings

            warnings.warn(message, stacklevel=2)
        if input.ndim == ranks[1] or dimensions == 2:  # (N, C, L), as in PyTorch
            return op(input, p, training)
        batched = op(input.unsqueeze(0), p, training)
        return input if inplace else batched.squeeze(0)

    channel_dropout.__name__ = f"dropout{dimensions}d"
    channel_dropout.__doc__ = (
        "Zeroes whole channels with probability ``p``; input (N, C, ...), or (C, ...) "
        "but for ``dropout2d``."
    )
    return channel_dropout


dropout1d = _channel_dropout(1)
dropout2d = _channel_dropout(2)
dropout3d = _channel_dropout(3)


# Embedding and norms


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at the indices ``input``.

    The row ``padding_idx`` gets no gradient.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"padding_idx {padding_idx} is out of range: there are {rows} rows"
            )
        padding_idx %= rows
    if max_norm is not None:
        torch.embedding_renorm_(weight, input, max_norm, norm_type)
    if sparse:
        from pellucid.sparse._ops.embedding import sparse_embedding

        return sparse_embedding(weight, input, padding_idx, scale_grad_by_freq)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq)


def pad(
    input: Tensor,
    pad: _Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """``input`` widened by pairs of counts, from the last dim on.

    The new elements are ``value``, or those of the tensor itself: mirrored at its ends
    (``"reflect"``), its outermost ones (``"replicate"``), or those of the other end
    (``"circular"``).
    """
    if mode == "constant":
        return torch.constant_pad_nd(input, list(pad), 0 if value is None else value)
    return _nn.pad(input, pad, mode, value)


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """``input`` over its ``p`` norm along ``dim``, which is taken to be >= ``eps``."""
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norms if out is None else torch.div(input, norms, out=out)


# Losses


_NONE, _MEAN, _SUM = range(3)  # as ops number reductions


def _warn_if_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        import warnings

        warnings.warn(
            f"{name}: target has shape {tuple(target.shape)} and input "
            f"{tuple(input.shape)}; they will be broadcast, which is rarely meant",
            stacklevel=3,
        )


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of logits (N, C, ...) and class indices or probabilities."""
    number = _reduction(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(
        input, target, weight, number, ignore_index, label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probabilities (N, C, ...) at the class indices ``target``."""
    number = _reduction(size_average, reduce, reduction)
    return _nn.nll_loss(input, target, weight, number, ignore_index)


def _weighted(loss: Tensor, weight: Tensor, number: int) -> Tensor:
    """``loss`` times ``weight``, reduced; a mean is over the sum of the weights."""
    if weight.size() != loss.size():
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}, the input {tuple(loss.shape)}; "
            "they must be equal"
        )
    loss = loss * weight
    if number == _NONE:
        return loss
    return loss.sum() / weight.sum() if number == _MEAN else loss.sum()


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target) ** 2``, reduced."""
    _warn_if_broadcast("mse_loss", input, target)
    number = _reduction(size_average, reduce, reduction)
    if weight is None:
        return _nn.mse_loss(input, target, number)
    return _weighted(_nn.mse_loss(input, target, _NONE), weight, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``abs(input - target)``, reduced."""
    _warn_if_broadcast("l1_loss", input, target)
    number = _reduction(size_average, reduce, reduction)
    if weight is None:
        return _nn.l1_loss(input, target, number)
    return _weighted(_nn.l1_loss(input, target, _NONE), weight, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared error over ``2 beta`` below ``beta``, absolute error above; reduced."""
    _warn_if_broadcast("smooth_l1_loss", input, target)
    number = _reduction(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(input, target, number)
    return _nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error below ``delta``, linear above; reduced."""
    _warn_if_broadcast("huber_loss", input, target)
    number = _reduction(None, None, reduction)
    if weight is None:
        return _nn.huber_loss(input, target, number, delta)
    return _weighted(_nn.huber_loss(input, target, _NONE, delta), weight, number)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross-entropy of probabilities ``input`` and targets between 0 and 1."""
    number = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}): binary_cross_entropy does not broadcast them"
        )
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross-entropy of ``sigmoid(input)`` and targets between 0 and 1."""
    number = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size "
            f"({input.shape})"
        )
    return torch.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, number
    )


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log target - input)``, reduced; "batchmean" divides by the batch."""
    if reduction == "batchmean":
        total = torch.kl_div(input, target, _SUM, log_target=log_target)
        return total / input.size(0) if input.ndim else total
    number = _reduction(size_average, reduce, reduction)
    if number == _MEAN:
        _advise(
            "kl_div: the mean is over all elements, which is not the divergence of "
            "the distributions; give reduction='batchmean', its mean over the batch"
        )
    return torch.kl_div(input, target, number, log_target=log_target)


globals().update({n: f for n, f in vars(_nn_functional).items() if n[0] != "_"})

_make_overridable(globals())

if TYPE_CHECKING:  # what the op table gives
    from pellucid._C._op_types.nn_functional import *
