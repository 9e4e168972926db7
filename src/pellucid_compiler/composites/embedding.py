"""Embedding bags, and limits of the norms of embedding rows."""

from pellucid_compiler.composites import api, composite, require, widened

_SUM, _MEAN, _MAX = range(3)
_ROWS = "Tensor indices, float max_norm, float norm_type"


@composite(
    f"embedding_renorm_(Tensor(a!) self, {_ROWS}) -> Tensor(a!)",
    method=False,
    seen=True,
)
def embedding_renorm_(weight, indices, max_norm, norm_type):
    """Scales the used rows whose norm exceeds ``max_norm`` down to it, in place."""
    require(
        weight.dim() == 2, "embedding_renorm_ takes rows, not {} dims", weight.dim()
    )
    require(
        not (weight.requires_grad and weight.is_leaf and api.is_grad_enabled()),
        "embedding_renorm_: a leaf Variable that requires grad is being used in an "
        "in-place operation.\nCall it under torch.no_grad()",
    )
    if weight.is_meta:
        return weight
    with api.no_grad():
        rows = indices.reshape(-1).unique()
        used = weight.index_select(0, rows)
        norms = used.norm(norm_type, dim=1, keepdim=True)
        scales = api.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        return weight.index_copy_(0, rows, used * scales)


@composite(
    f"embedding_renorm(Tensor self, {_ROWS}) -> Tensor",
    method=False,
    function=False,
    out=True,
)
def embedding_renorm(weight, *options):
    """``embedding_renorm_`` of a copy."""
    return embedding_renorm_(weight.clone(), *options)


_BAGS = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq{}, "
    "int mode{}, bool sparse{}, Tensor? per_sample_weights{}, bool include_last_offset"
)
_FOUR = "(Tensor, Tensor, Tensor, Tensor)"
_DEFAULTS = ("=False", "=0", "=False", "=None")


@composite(f"embedding_bag({_BAGS.format(*_DEFAULTS)}=False) -> {_FOUR}", method=False)
def embedding_bag(weight, *options):
    """The sum, mean or greatest element of the rows that each bag names."""
    return embedding_bag_padded(weight, *options, None)


@composite(
    f"embedding_bag.padding_idx({_BAGS.format('', '', '', '')}, int? padding_idx) -> "
    f"{_FOUR}",
    method=False,
)
def embedding_bag_padded(
    weight,
    indices,
    offsets,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    include_last_offset,
    padding_idx,
):
    """A bag is between two ``offsets``; the row ``padding_idx`` does not count.

    Returns the bags, the bag of each index, the bags' sizes, and the rows of the
    greatest elements.
    """
    require(mode in (_SUM, _MEAN, _MAX), "embedding_bag: there is no mode {}", mode)
    require(
        per_sample_weights is None or mode == _SUM,
        "embedding_bag: per_sample_weights are for mode 'sum'",
    )
    require(
        indices.dim() == offsets.dim() == 1,
        "embedding_bag: indices and offsets have {} and {} dims; give 1",
        indices.dim(),
        offsets.dim(),
    )
    count = offsets.shape[0] - bool(include_last_offset)
    bags = _bag_of_each(indices, offsets, count, include_last_offset)
    if padding_idx is not None:
        padding_idx %= weight.shape[0]
    rows = api.nn.functional.embedding(
        *(indices, weight, padding_idx),
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )
    counted = api.ones_like(indices)
    if padding_idx is not None:
        counted = (indices != padding_idx).to(indices.dtype)
    sizes = counted.new_zeros(count).index_add(0, bags, counted)
    if mode == _MAX:
        output, greatest = _greatest(weight, rows, indices, bags, counted, count)
        return output, bags, sizes, greatest
    rows = widened(rows)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        rows = rows * counted.to(rows.dtype).unsqueeze(1)
    sums = rows.new_zeros(count, weight.shape[1]).index_add(0, bags, rows)
    if mode == _MEAN:
        sums = sums / sizes.clamp_min(1).to(sums.dtype).unsqueeze(1)
    return sums.to(weight.dtype), bags, sizes, sizes


def _bag_of_each(indices, offsets, count, include_last_offset):
    ends = offsets[1:]
    if not include_last_offset:
        ends = api.cat((ends, offsets.new_full((1,), len(indices))))
    lengths = (ends - offsets[:count]).long()
    places = api.arange(count, device=indices.device)
    return places.repeat_interleave(lengths, output_size=len(indices))


def _greatest(weight, rows, indices, bags, counted, count):
    """The greatest elements of each bag, 0 for an empty one, and their rows.

    Indices that do not count are in one more bag, which is left out.
    """
    bags = bags.where(counted.bool(), count)
    columns = weight.shape[1]
    places = bags.unsqueeze(1).expand(-1, columns)
    empty = weight.new_zeros(count + 1, columns)
    greatest = empty.scatter_reduce(0, places, rows, "amax", include_self=False)
    is_greatest = rows.detach() == greatest.detach()[bags]
    named = indices.unsqueeze(1).expand(-1, columns).masked_fill(~is_greatest, -1)
    none = indices.new_full((count + 1, columns), -1)
    chosen = none.scatter_reduce(0, places, named, "amax")
    return tuple(t.narrow_copy(0, 0, count) for t in (greatest, chosen))
