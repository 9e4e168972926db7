"""Padding by mode: constant, or with elements of the tensor itself."""

from pellucid_compiler.composites import api, composite, require

_MODES = ("constant", "reflect", "replicate", "circular")


@composite(
    "pad(Tensor self, SymInt[] pad, str mode='constant', float? value=None) -> Tensor",
    namespace="nn",
)
def pad(x, pad, mode, value):
    """``x`` padded by pairs of counts, from the last dim on."""
    if mode == "constant":
        return api.constant_pad_nd(x, pad, 0 if value is None else value)
    require(
        mode in _MODES,
        "there is no padding mode {!r}: give one of {}",
        mode,
        ", ".join(_MODES),
        error=NotImplementedError,
    )
    require(
        value is None or value == 0,
        "padding mode {!r} takes no value: leave it out",
        mode,
        error=ValueError,
    )
    dims, odd = divmod(len(pad), 2)
    fits = not odd and dims in (1, 2, 3) and x.dim() in (dims + 1, dims + 2)
    require(
        fits,
        "padding mode {!r} takes a pair of counts for each dim behind the "
        "channels: {} counts do not fit {} dims",
        mode,
        len(pad),
        x.dim(),
        error=NotImplementedError,
    )
    if mode == "circular":
        return pad_circular(x, pad)
    kind = "reflection" if mode == "reflect" else "replication"
    return getattr(api._C._nn, f"{kind}_pad{dims}d")(x, pad)


@composite(
    "_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor",
    namespace="nn",
)
def pad_enum(x, counts, mode, value):
    """``pad`` with the mode by number."""
    return pad(x, counts, _MODES[mode], value)


@composite(
    "_pad_circular(Tensor self, SymInt[] pad) -> Tensor", method=False, function=False
)
def pad_circular(x, pad):
    """Circular padding: wraps around from the other end."""
    for k in range(len(pad) // 2):
        dim, left, right = -1 - k, pad[2 * k], pad[2 * k + 1]
        size = x.shape[dim]
        require(
            max(left, right) <= size,
            "padding mode 'circular' takes at most {} elements of a dim of "
            "that size; {} and {} were given",
            size,
            left,
            right,
        )
        # Elements cropped by a negative count are not repeated.
        first, length = max(-left, 0), size + min(left, 0) + min(right, 0)
        middle = x.narrow(dim, first, length) if length != size else x
        x = api.cat(_around(middle, dim, length, max(left, 0), max(right, 0)), dim)
    return x


def _around(x, dim, size, left, right):
    """``x`` between copies of its end and its beginning."""
    parts = []
    while left > 0:  # after cropping on the other side, x may be needed more than once
        count = left % size or size
        parts.append(x.narrow(dim, size - count, count))
        left -= count
    parts.append(x)
    while right > 0:
        parts.append(x.narrow(dim, 0, min(right, size)))
        right -= size
    return parts
