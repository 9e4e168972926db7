"""Padding of images with elements of their own: mirrored, or those of the border."""

from pellucid_compiler.declare import loop, maximum, minimum, require, tabulate


def _pairs(name, x, padding, dims):
    """(left, right) of each of the last dims; schemas name the last one first."""
    require(
        x.rank in (dims + 1, dims + 2),
        f"{name}: the input has rank {x.rank}; give (C, ...) or (N, C, ...) with "
        f"{dims} dims behind the channels",
    )
    require(
        len(padding) == 2 * dims,
        f"{name}: {len(padding)} counts; give a pair for each of the last {dims} dims",
    )
    pairs = [(padding[2 * d], padding[2 * d + 1]) for d in reversed(range(dims))]
    for n, (left, right) in zip(x.shape[x.rank - dims :], pairs, strict=True):
        require(
            n + left + right > 0,
            f"{name}: a dim of size {{}}, padded by {{}} and {{}}, has no elements",
            n,
            left,
            right,
        )
    return pairs


def _padded(x, pairs, place):
    """``x`` widened; ``place(i, n)`` is the element of a dim of size n that is read at
    place ``i``, which counts from the first element of ``x``.
    """
    first = x.rank - len(pairs)
    spatial = x.shape[first:]
    sizes = [n + a + b for n, (a, b) in zip(spatial, pairs, strict=True)]

    def element(*p):
        places = [
            place(i - left, n)
            for i, n, (left, _) in zip(p[first:], spatial, pairs, strict=True)
        ]
        return x[[*p[:first], *places]]

    return tabulate([*x.shape[:first], *sizes], element)


def _declare(dims):
    reflection, replication = f"reflection_pad{dims}d", f"replication_pad{dims}d"

    def declare(name):
        return loop(
            f"{name}(Tensor self, SymInt[{2 * dims}] padding) -> Tensor",
            refuses=("bool",),
            backward=f"{name}_backward(Tensor grad_output, Tensor self, "
            f"SymInt[{2 * dims}] padding) -> Tensor",
            namespace="nn.functional",
            method=False,
            layout="images",
            autocast="float32",
        )

    @declare(reflection)
    def reflection_pad(x, padding):
        """Padding is mirrored at the first and the last element."""
        pairs = _pairs(reflection, x, padding, dims)
        for n, pair in zip(x.shape[x.rank - dims :], pairs, strict=True):
            for count in pair:
                require(
                    count < n,
                    f"{reflection}: {{}} mirrored elements of a dim of size {{}}; "
                    "give fewer than it has",
                    count,
                    n,
                )
        return _padded(x, pairs, lambda i, n: n - 1 - abs(n - 1 - abs(i)))

    @declare(replication)
    def replication_pad(x, padding):
        """Padding repeats the first or the last element."""
        pairs = _pairs(replication, x, padding, dims)
        for n in x.shape[x.rank - dims :]:
            require(n > 0, f"{replication}: a dim has the size {{}}", n)
        return _padded(x, pairs, lambda i, n: minimum(maximum(i, 0), n - 1))


for _dims in (1, 2, 3):
    _declare(_dims)
