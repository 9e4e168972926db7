"""Padding of images by their own elements: reflection and replication."""

from pellucid_compiler.declare import (
    ask,
    loop,
    maximum,
    require,
    reshape,
    scatter,
    tabulate,
    total,
    where,
)


def _pairs(name, x, padding, dims):
    """(left, right) per padded dim; schemas list the last dim first."""
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


def _padded(x, pairs, before, behind):
    """``x`` with padding. ``before(i)`` and ``behind(i, n)`` are the index that is read
    ``i`` elements before the first, or after the last, of a dim of size n.

    Each range of a dim is read with constant strides, so it is a copy.
    """
    first = x.rank - len(pairs)
    spatial = x.shape[first:]
    sizes = [n + a + b for n, (a, b) in zip(spatial, pairs, strict=True)]

    def element(*p):
        def along(places):
            d = len(places)
            if d == len(pairs):
                return x[[*p[:first], *places]]
            n, (left, _) = spatial[d], pairs[d]
            i = p[first + d] - left
            low, inside, high = (
                along([*places, place]) for place in (before(i), i, behind(i, n))
            )
            return where(i < 0, low, where(i < n, inside, high))

        return along([])

    return tabulate([*x.shape[:first], *sizes], element)


def _folded(grad, dim, n, left, right, add):
    """The gradient of a dim of size n: that of its own elements, to which ``add`` adds
    that of the padding: ``low`` elements before and ``high`` after them.
    """

    def at(p, place):
        return [*p[:dim], place, *p[dim + 1 :]]

    shape = at(grad.shape, n)
    inner = grad.outside(0)
    own = tabulate(shape, lambda *p: inner[at(p, p[dim] + left)])
    return add(own, dim, at, maximum(left, 0), maximum(right, 0))


def _gradient(grad, x, padding, dims, add, fold):
    """Folds the dims one by one, the last one first: with ``fold``, which writes every
    element once, if no element is padding on both sides; but the padding of a signal is
    a small part of it, and is added.
    """
    for k in range(dims):
        left, right = padding[2 * k], padding[2 * k + 1]
        dim = x.rank - 1 - k
        n = x.shape[dim]
        if dims > 1 and ask((left >= 0) & (right >= 0) & (left + right < n - 1)):
            grad = fold(_stored(grad), dim, n, left, right)
            continue

        def added(own, dim, at, low, high, grad=grad, left=left):
            return add(grad, own, dim, at, left, low, high)

        grad = _folded(grad, dim, n, left, right, added)
    return grad


def _stored(x):
    """``x`` in memory, so that what reads an element more than once does not compute it
    (widen it, if it is of half precision) again: a reshape needs that, and no copy.
    """
    return reshape(reshape(x, [1, *x.shape]), x.shape)


def _fold_mirrored(grad, dim, n, left, right):
    """The gradient of reflection, element by element: an element is read once more if
    it is among the first ``left + 1`` or last ``right + 1``, but for the outermost.
    """

    def element(*p):
        i = p[dim]

        def at(place):
            return grad[[*p[:dim], place, *p[dim + 1 :]]]

        own = at(left + i)
        behind = own + at(left + 2 * (n - 1) - i)
        inner = where(i < n - 1 - right, own, where(i < n - 1, behind, own))
        return where(i < 1, own, where(i < left + 1, own + at(left - i), inner))

    return tabulate([*grad.shape[:dim], n, *grad.shape[dim + 1 :]], element)


def _fold_repeated(grad, dim, n, left, right):
    """The gradient of replication: the outermost elements are those of the border."""

    def border(first, count):
        return _stored(
            tabulate(
                [*grad.shape[:dim], 1, *grad.shape[dim + 1 :]],
                lambda *p: total(
                    [count], lambda k: grad[[*p[:dim], first + k, *p[dim + 1 :]]]
                ),
            )
        )

    low, high = border(0, left + 1), border(left + n - 1, right + 1)

    def element(*p):
        i, before, behind = p[dim], p[:dim], p[dim + 1 :]
        own = grad[[*before, left + i, *behind]]
        first, last = (x[[*before, 0 * i, *behind]] for x in (low, high))
        return where(i < 1, first, where(i < n - 1, own, last))

    return tabulate([*grad.shape[:dim], n, *grad.shape[dim + 1 :]], element)


def _add_mirrored(grad, own, dim, at, left, low, high):
    n = own.shape[dim]
    own = scatter(
        own.shape,
        at(own.shape, low),
        lambda *p: (at(p, p[dim] + 1), grad[at(p, left - 1 - p[dim])]),
        into=own,
    )
    return scatter(
        own.shape,
        at(own.shape, high),
        lambda *p: (at(p, n - 2 - p[dim]), grad[at(p, left + n + p[dim])]),
        into=own,
    )


def _add_repeated(grad, own, dim, at, left, low, high):
    n = own.shape[dim]
    for place, first, count in ((0, 0, low), (n - 1, left + n, high)):
        border = tabulate(
            at(own.shape, 1),
            lambda *p, first=first, count=count: total(
                [count], lambda k: grad[at(p, first + k)]
            ),
        )
        own = scatter(
            own.shape,
            border.shape,
            lambda *p, place=place, border=border: (at(p, place), border[p]),
            into=own,
        )
    return own


_REASON = "the derived rule visits the whole image for each padded range"


def _declare(dims):
    reflection, replication = f"reflection_pad{dims}d", f"replication_pad{dims}d"

    def declare(name):
        return loop(
            f"{name}(Tensor self, SymInt[{2 * dims}] padding) -> Tensor",
            refuses=("bool",),
            backward=f"{name}_backward(Tensor grad_output, Tensor self, "
            f"SymInt[{2 * dims}] padding) -> Tensor",
            namespace="nn",
            method=False,
            layout="images",
            autocast="float32",
            core=name != "replication_pad1d",
        )

    @declare(reflection)
    def reflection_pad(x, padding):
        """Padding by reflection at the first and the last element."""
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
        return _padded(x, pairs, lambda i: -i, lambda i, n: 2 * (n - 1) - i)

    @reflection_pad.vjp(_REASON)
    def _(x, padding, y, grad, derived):
        return _gradient(grad, x, padding, dims, _add_mirrored, _fold_mirrored)

    @declare(replication)
    def replication_pad(x, padding):
        """Padding by repeating the first or the last element."""
        pairs = _pairs(replication, x, padding, dims)
        for n in x.shape[x.rank - dims :]:
            require(n > 0, f"{replication}: a dim has the size {{}}", n)
        return _padded(x, pairs, lambda i: 0 * i, lambda i, n: n - 1)

    @replication_pad.vjp(_REASON)
    def _(x, padding, y, grad, derived):
        return _gradient(grad, x, padding, dims, _add_repeated, _fold_repeated)


for _dims in (1, 2, 3):
    _declare(_dims)
