"""Attention: averages of values, weighted by the softmax of scores.

The plan runs block by block (lower/blocks.py), so the weights (queries times keys) are
neither materialised nor saved for backward: the gradient recomputes them.
"""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    ask,
    broadcast_shapes,
    const,
    contraction,
    detach,
    exp,
    greatest_over,
    is_one,
    isinf,
    make,
    require,
    reshape,
    tabulate,
    total_over,
    transpose_last,
    unsqueeze,
    where,
)

_NAME = "scaled_dot_product_attention"


@contraction(
    "pellucid::_attend(Tensor score, Tensor value, Tensor? keep_mask=None, float "
    "dropout_p=0.0) "
    "-> Tensor",
    method=False,
    function=False,
    out=False,
)
def attend(score, value, keep_mask, dropout_p):
    """``softmax(score) value``, divided by the sum of the weights after the product.

    A row of scores that are all -inf gives zeros. ``keep_mask``: the weights that
    dropout does not zero.
    """
    require(
        score.rank == value.rank >= 2,
        f"_attend: scores have {score.rank} dims, values {value.rank}; "
        "give equal numbers, at least 2",
    )
    require(
        keep_mask is None or keep_mask.dtype == "bool",
        "_attend: keep_mask must be a bool tensor",
    )
    weight, inverse = _weights(score)
    return matmul(_after_dropout(weight, keep_mask, dropout_p), value) * inverse


@attend.vjp("speed: one sum over each row, and no weight is divided by the row's sum")
def _(score, value, keep_mask, dropout_p, y, grad, derived):
    weight, inverse = _weights(score)
    grad = grad * inverse
    along = _after_dropout(matmul(grad, transpose_last(value)), keep_mask, dropout_p)
    mean = inverse * total_over(weight * along, [-1], keepdim=True)
    dropped_out = _after_dropout(weight, keep_mask, dropout_p)
    return weight * (along - mean), matmul(transpose_last(dropped_out), grad)


def _weights(score):
    """The unnormalised weights, and the inverse of their sum."""
    top = detach(greatest_over(score, [-1], keepdim=True))
    weight = exp(score - where(isinf(top), 0.0, top))
    sums = total_over(weight, [-1], keepdim=True)
    return weight, 1 / where(sums == 0, 1.0, sums)


def _after_dropout(weight, keep_mask, dropout_p):
    """The weights after dropout."""
    if keep_mask is None:
        return weight
    return where(keep_mask, weight * (1 / (1 - dropout_p)), 0.0)


@contraction(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False) -> Tensor",
    namespace="nn",
    method=False,
    ranks=(3, 4),
    autocast="lower",
    tags="nondeterministic_seeded",
    out=False,
)
def attention(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa):
    """``softmax(q k^T scale + mask) v``; a row without any allowed key gives zero."""
    require(
        dropout_p == 0,
        f"{_NAME}: dropout {{}} needs random numbers; call"
        "  nn.functional's, which draws them",
        dropout_p,
        error=NotImplementedError,
    )
    return _attention(q, k, v, mask, None, 0.0, is_causal, scale, enable_gqa)


@attention.seen_as
def _(query, key, value, mask, dropout_p, is_causal, *, scale, enable_gqa):
    """The op under which PyTorch's modes see attention with heads of one size."""
    same = query.shape[-1:] == key.shape[-1:] == value.shape[-1:]
    if query.dim() != 4 or not same or dropout_p or enable_gqa:
        return NotImplemented
    if mask is not None and (mask.requires_grad or is_causal):
        return NotImplemented
    if mask is not None and mask.dtype == api.bool:
        least = api.zeros_like(mask, dtype=query.dtype)
        mask = least.masked_fill(mask.logical_not(), -INF)
    return api.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, dropout_p, is_causal, attn_mask=mask, scale=scale
    )


@contraction(
    "pellucid::_attention_with_dropout(Tensor query, Tensor key, Tensor value, Tensor "
    "keep_mask, "
    "float dropout_p, Tensor? attn_mask=None, bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False) -> Tensor",
    method=False,
    out=False,
    ranks=(3, 4),
    autocast="lower",
)
def attention_with_dropout(
    q, k, v, keep_mask, dropout_p, mask, is_causal, scale, enable_gqa
):
    """``scaled_dot_product_attention`` with dropout of the weights where ``keep_mask``
    is false.
    """
    return _attention(q, k, v, mask, keep_mask, dropout_p, is_causal, scale, enable_gqa)


def _attention(q, k, v, mask, keep_mask, dropout_p, is_causal, scale, enable_gqa):
    require(
        not (is_causal and mask is not None),
        f"{_NAME}: is_causal and attn_mask exclude each other",
    )
    for name, t in (("query", q), ("key", k), ("value", v)):
        require(t.rank >= 2, f"{_NAME}: {name} has {t.rank} dims; give at least 2")
        require(t.dtype == q.dtype, f"{_NAME}: {name} is {t.dtype} and query {q.dtype}")
    if mask is not None:
        require(
            mask.dtype in ("bool", q.dtype),
            f"{_NAME}: attn_mask is {mask.dtype}; give bool or {q.dtype}, as query is",
        )
    if enable_gqa:
        heads = q.shape[-3]
        q, k, v = _grouped(q, k, v)
        mask, keep_mask = _grouped_rows(mask, q), _grouped_rows(keep_mask, q)
    scale = 1 / make("sqrt", q.shape[-1]) if scale is None else scale
    score = matmul(q * scale, transpose_last(k))
    if is_causal:
        rows = score
        score = tabulate(rows.shape, lambda *p: where(p[-1] <= p[-2], rows[p], -INF))
    if mask is not None:
        mask = _broadcast_to(mask, score.shape, "attn_mask")
        score = where(mask, score, -INF) if mask.dtype == "bool" else score + mask
    leading = broadcast_shapes(score.shape[:-2], v.shape[:-2])
    score = _broadcast_to(score, [*leading, *score.shape[-2:]], "query")
    v = _broadcast_to(v, [*leading, score.shape[-1], v.shape[-1]], "value")
    if keep_mask is not None:
        keep_mask = _broadcast_to(keep_mask, score.shape, "keep_mask")
    y = attend(score, v, keep_mask, dropout_p)
    if enable_gqa:
        return reshape(y, [*y.shape[:-4], heads, *y.shape[-2:]])
    return y


def _broadcast_to(t, shape, operand):
    """``t`` broadcast to ``shape`` by a view."""
    missing = len(shape) - t.rank
    require(missing >= 0, f"{_NAME}: {operand} has {t.rank} dims; give {len(shape)}")
    repeats = [is_one(n) for n in t.shape]
    for n, size, repeated in zip(t.shape, shape[missing:], repeats, strict=True):
        if not repeated:
            require(
                n == size,
                f"{_NAME}: {operand} has a size {{}} where {{}} is expected",
                n,
                size,
            )

    def element(*p):
        places = zip(p[missing:], repeats, strict=True)
        return t[[const(0) if repeated else i for i, repeated in places]]

    return tabulate(shape, element)


def _grouped(q, k, v):
    """Queries (..., H, group, L, E), keys and values (..., H, 1, S, E)."""
    name = f"{_NAME}: enable_gqa"
    for t in (q, k, v):
        require(t.rank >= 3, f"{name} needs a dim of heads; {t.rank} dims were given")
    heads, groups = q.shape[-3], k.shape[-3]
    require(
        v.shape[-3] == groups,
        f"{name}: {{}} heads of keys and {{}} of values; give equal numbers",
        groups,
        v.shape[-3],
    )
    require(
        heads % groups == 0,
        f"{name}: {{}} heads of queries do not divide into {{}} of keys",
        heads,
        groups,
    )
    q = reshape(q, [*q.shape[:-3], groups, heads // groups, *q.shape[-2:]])
    return q, unsqueeze(k, k.rank - 2), unsqueeze(v, v.rank - 2)


def _grouped_rows(t, q):
    """A mask over (..., heads, L, S) broadcast to grouped queries ``q``."""
    if t is None or t.rank < 3:
        return t
    if ask(t.shape[-3] == 1):
        return unsqueeze(t, t.rank - 2)
    return reshape(t, [*t.shape[:-3], *q.shape[-4:-2], *t.shape[-2:]])
