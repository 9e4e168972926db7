"""Reductions of consecutive segments of a dim."""

import math

from pellucid_compiler.composites import api, composite, require

_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_SCATTERED = {"mean": "sum", "max": "amax", "min": "amin"}
_SEGMENTS = (
    "Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
    "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None"
)


@composite(
    f"segment_reduce({_SEGMENTS}) -> Tensor",
    method=False,
    forms=(f"segment_reduce.out({_SEGMENTS}, Tensor(a!) out) -> Tensor(a!)",),
)
def segment_reduce(data, reduce, *, lengths, indices, offsets, axis, unsafe, initial):
    """``reduce`` of the segments of ``axis`` with these lengths, or with these offsets
    as ends.
    """
    require(
        reduce in _STARTS, "segment_reduce: reduce is one of {}", ", ".join(_STARTS)
    )
    require(
        indices is None,
        "segment_reduce takes lengths or offsets; not indices",
        error=NotImplementedError,
    )
    require(
        (lengths is None) != (offsets is None),
        "segment_reduce: give lengths, or offsets",
    )
    if lengths is None:
        lengths = offsets.diff()
    first = None if offsets is None else offsets[..., :1]
    _check_lengths(data, lengths, axis, unsafe)
    start = _STARTS[reduce] if initial is None else initial
    places = _segments(data, lengths, first, axis)
    shape = [*data.shape[:axis], lengths.shape[-1], *data.shape[axis + 1 :]]
    reduced = data.new_full(shape, start).scatter_reduce(
        axis, places, data, _SCATTERED.get(reduce, reduce)
    )
    if reduce != "mean":
        return reduced
    counts = lengths.reshape(*lengths.shape, *[1] * (data.dim() - lengths.dim()))
    return reduced / (counts if initial is None else counts.clamp(min=1))


def _check_lengths(data, lengths, axis, unsafe):
    require(
        lengths.shape[:-1] == data.shape[:axis],
        "segment_reduce: lengths of shape {} do not fit axis {} of data of shape {}",
        lengths.shape,
        axis,
        data.shape,
    )
    if unsafe or lengths.is_meta:
        return
    require(bool((lengths >= 0).all()), "segment_reduce: a length is negative")
    require(
        bool((lengths.sum(-1) == data.shape[axis]).all()),
        "segment_reduce: the lengths do not add up to {}",
        data.shape[axis],
    )


def _segments(data, lengths, first, axis):
    """The number of each element's segment, in the shape of ``data``."""
    ends = lengths.cumsum(-1)
    ends = ends if first is None else ends + first
    steps = api.arange(data.shape[axis], device=data.device)
    steps = steps.expand(*data.shape[: axis + 1]).contiguous()
    places = api.searchsorted(ends, steps, right=True)
    wide = [1] * (data.dim() - places.dim())
    return places.reshape(*places.shape, *wide).expand(data.shape)
