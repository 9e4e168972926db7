"""Products over named dims, written as batched matrix products: einsum, tensordot."""

from collections import namedtuple
from functools import lru_cache
from itertools import chain

from pellucid_compiler.composites import api, composite, require


@composite(
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    out=True,
    method=False,
)
def tensordot(a, b, dims_a, dims_b):
    """The sum of products over pairs of dims."""
    require(
        len(dims_a) == len(dims_b),
        "tensordot: {} dims of the first tensor for {} of the second",
        len(dims_a),
        len(dims_b),
    )
    names_a = list(range(a.dim()))
    names_b = list(range(a.dim(), a.dim() + b.dim()))
    for p, q in zip(dims_a, dims_b, strict=True):
        names_b[q] = names_a[p]
    summed = {names_a[p] for p in dims_a}
    output_names = [n for n in (*names_a, *names_b) if n not in summed]
    return _product(a, b, _paired(*map(tuple, (names_a, names_b, output_names))))


@composite(
    "inner(Tensor self, Tensor other) -> Tensor",
    out=True,
    gives_view=True,
    casts_out=False,
)
def inner(a, b):
    """The sum of products over the last dims; a scalar scales."""
    if a.dim() == 0 or b.dim() == 0:
        return a * b
    require(
        a.shape[-1] == b.shape[-1],
        "inner(): the last dims must have one size, not {} and {}",
        a.shape[-1],
        b.shape[-1],
    )
    return tensordot(a, b, [-1], [-1])


@composite("kron(Tensor self, Tensor other) -> Tensor", out=True)
def kron(a, b):
    """The Kronecker product: every element of ``self`` times all of ``other``."""
    rank = max(a.dim(), b.dim())
    a, b = (t.reshape([1] * (rank - t.dim()) + list(t.shape)) for t in (a, b))
    sizes = [m * n for m, n in zip(a.shape, b.shape, strict=True)]
    wide_a = a.reshape([n for size in a.shape for n in (size, 1)])
    wide_b = b.reshape([n for size in b.shape for n in (1, size)])
    return api.ops.aten._unsafe_view(wide_a * wide_b, sizes)


@composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) "
    "-> Tensor",
    method=False,
    also=("nn.functional.bilinear",),
    autocast="widest",
)
def bilinear(a, b, weight, bias):
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k."""
    require(
        a.shape[:-1] == b.shape[:-1],
        "bilinear: input1 has shape {} and input2 {}; they must be equal up to the "
        "last dim",
        tuple(a.shape),
        tuple(b.shape),
    )
    require(
        bias is None or bias.shape[:1] == weight.shape[:1],
        "bilinear: bias has shape {} for {} output features",
        None if bias is None else tuple(bias.shape),
        weight.shape[0],
    )
    product = api.einsum("...i,kij,...j->...k", a, weight, b)
    return product if bias is None else product + bias


@composite(
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    method=False,
    variadic=True,
)
def einsum(equation, operands, *, path):
    """Einstein's sum: ``einsum("ij,jk->ik", a, b)``.

    Operands are contracted from left to right, or in the pairs of positions in
    ``path``; the result of a pair becomes the last operand. ``...`` denotes dims that
    broadcast.
    """
    plan = _planned(
        equation, tuple([t.dim() for t in operands]), None if path is None else (*path,)
    )
    _require_sizes(operands, plan.repeated)
    rest = list(operands)
    for place, first, second in plan.diagonals:
        rest[place] = _diagonal(rest[place], first, second)
    for first, second, place, pairing in plan.products:
        b, a = rest.pop(second), rest.pop(first)
        rest.insert(place, _product(a, b, pairing))
    result = rest[0].sum(plan.summed) if plan.summed else rest[0]
    return _moved(result, plan.order)


# The equation: everything that depends only on names and ranks is cached.


# How to compute two operands as one batched matrix product, independent of sizes:
# `summed`, the dims of each that occur nowhere else; `shared`, pairs of dims with one
# name, which may broadcast; `orders`, the permutations to (batch, rows, columns), None
# for identity; `counts`, the numbers of dims: batch, rows of the first, summed, columns
# of the second; `order`, the result's permutation. If no name is summed, `elements`
# describes an elementwise product: per operand the permutation, and the index that adds
# dims of size 1, None if not needed.
_Pairing = namedtuple("_Pairing", "summed shared orders counts order elements")

# The steps of an equation, independent of sizes: `repeated`, the names of several dims,
# with (operand, dim) of each; `diagonals` (operand, dim, dim), in order; `products`
# (position of the first operand, of the second, of the result, pairing); `summed`, the
# dims of the last product that are summed; `order`, the result's permutation, None for
# identity.
_Plan = namedtuple("_Plan", "repeated diagonals products summed order")


@lru_cache(256)
def _planned(equation, ranks, path):
    terms, output = _parsed(equation, ranks)
    diagonals, rest = [], []
    for place, term in enumerate(terms):
        pairs, names = _without_repeats(term)
        diagonals += [(place, *pair) for pair in pairs]
        rest.append(names)
    steps, products = list(path or ()), []
    while len(rest) > 1:
        first, second = sorted((steps.pop(0), steps.pop(0))) if steps else (0, 1)
        names_b, names_a = rest.pop(second), rest.pop(first)
        needed = {*output, *chain(*rest)}
        names = tuple(n for n in dict.fromkeys((*names_a, *names_b)) if n in needed)
        place = len(rest) if path else 0
        rest.insert(place, names)
        products.append((first, second, place, _paired(names_a, names_b, names)))
    summed = [k for k, n in enumerate(rest[0]) if n not in output]
    names = [n for n in rest[0] if n in output]
    order = None if products and names == output else [names.index(n) for n in output]
    return _Plan(_repeated(terms), diagonals, products, summed, order)


def _repeated(terms):
    places = {}
    for place, term in enumerate(terms):
        for dim, name in enumerate(term):
            places.setdefault(name, []).append((place, dim))
    return [
        (_shown(name), positions)
        for name, positions in places.items()
        if len(positions) > 1
    ]


def _without_repeats(names):
    """(pairs of dims with one name, of which the diagonal is taken; the names
    after).
    """
    pairs, names = [], tuple(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            pairs.append((first, second))
            left = (n for k, n in enumerate(names) if k not in (first, second))
            names = (*left, name)
    return pairs, names


@lru_cache(256)
def _parsed(equation, ranks):
    """(names of each operand's dims, names of the result's)."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = [_tokens(term) for term in left.split(",")]
    require(
        len(terms) == len(ranks),
        "einsum(): {} operands than terms: the equation has {} terms, and {} operands "
        "were given",
        "fewer" if len(ranks) < len(terms) else "more",
        len(terms),
        len(ranks),
    )
    counts = [n - len(term) + 1 for n, term in zip(ranks, terms, strict=True)]
    pairs = zip(counts, terms, strict=True)
    free = max((n for n, term in pairs if Ellipsis in term), default=0)
    pairs = zip(counts, terms, strict=True)
    named = [_with_ellipsis(term, count, free) for count, term in pairs]
    for place, (term, rank) in enumerate(zip(named, ranks, strict=True)):
        require(
            len(term) == rank,
            "einsum(): the number of subscripts is {} for operand {}, which has {} "
            "dimensions",
            len(term),
            place,
            rank,
        )
    if arrow:
        output = _with_ellipsis(_tokens(right), free, free)
        for name in output:
            if output.count(name) > 1:
                require(
                    False,
                    "einsum(): the output subscript {} appears more than once",
                    _shown(name),
                )
            require(
                any(name in term for term in named),
                "einsum(): the output subscript {} does not appear in any operand",
                _shown(name),
            )
        return named, output
    return named, _implied_output(named, free)


def _implied_output(terms, free):
    """The dims that broadcast, then those that only one operand names, sorted."""
    names = [name for term in terms for name in term]
    leading = [("...", k) for k in range(free) if ("...", k) in names]
    once = (n for n in names if names.count(n) == 1 and n not in leading)
    return leading + sorted(once)


def _tokens(term):
    parts = term.split("...")
    require(len(parts) <= 2, "einsum(): the term {!r} has more than one '...'", term)
    for name in "".join(parts):
        if not name.isalpha():  # format a message only for invalid names
            require(False, "einsum(): invalid subscript {!r}; give letters", name)
    return [*parts[0], Ellipsis, *parts[1]] if len(parts) == 2 else list(term)


def _with_ellipsis(term, count, free):
    """``term`` with the last ``count`` of the ``free`` broadcast dims named."""
    if Ellipsis not in term:
        return term
    place = term.index(Ellipsis)
    names = [("...", k) for k in range(free - count, free)]
    return [*term[:place], *names, *term[place + 1 :]]


def _require_sizes(operands, repeated):
    """Raise for sizes of one name that neither agree nor broadcast."""
    shapes = [t.shape for t in operands]
    for name, places in repeated:
        known = 1
        for place, dim in places:
            size = shapes[place][dim]
            if known == 1:
                known = size
            elif size != known and size != 1:
                require(
                    False,
                    "einsum(): subscript {} has size {} for operand {}, which does not "
                    "broadcast with its size {} before",
                    name,
                    size,
                    place,
                    known,
                )


def _shown(name):
    """A dim's letter, or ``...``, for messages."""
    return name if isinstance(name, str) else "..."


def _diagonal(tensor, first, second):
    sizes = tensor.shape[first], tensor.shape[second]
    require(
        sizes[0] == sizes[1],
        "einsum(): a subscript is repeated for one operand with the sizes {} and {}",
        *sizes,
    )
    return tensor.diagonal(0, first, second)


# Products of two


@lru_cache(256)
def _paired(names_a, names_b, output):
    """The sum over all names but ``output``."""
    alone_a = [k for k, n in enumerate(names_a) if n not in names_b and n not in output]
    alone_b = [k for k, n in enumerate(names_b) if n not in names_a and n not in output]
    in_a = [n for k, n in enumerate(names_a) if k not in alone_a]
    in_b = [n for k, n in enumerate(names_b) if k not in alone_b]
    both = [n for n in in_a if n in in_b]
    batch = [n for n in both if n in output]
    summed = [n for n in both if n not in output]
    rows = [n for n in in_a if n not in in_b]
    columns = [n for n in in_b if n not in in_a]
    return _Pairing(
        summed=(alone_a, alone_b),
        shared=[(in_a.index(n), in_b.index(n)) for n in both],
        orders=(
            _permutation(in_a, [*batch, *rows, *summed]),
            _permutation(in_b, [*batch, *summed, *columns]),
        ),
        counts=(len(batch), len(rows), len(summed), len(columns)),
        order=_permutation([*batch, *rows, *columns], output),
        elements=None if summed else (_aligned(in_a, output), _aligned(in_b, output)),
    )


def _permutation(names, wanted):
    """The position of each of the wanted names; None if they are in order."""
    order = [names.index(n) for n in wanted]
    return None if order == sorted(order) else order


def _aligned(names, wanted):
    """The (permutation, index) that aligns the dims ``names`` with ``wanted``."""
    index = tuple(slice(None) if n in names else None for n in wanted)
    return (
        _permutation(names, [n for n in wanted if n in names]),
        index if None in index else None,
    )


def _moved(tensor, order, index=None):
    tensor = tensor if order is None else tensor.permute(order)
    return tensor if index is None else tensor[index]


def _product(a, b, pairing):
    alone_a, alone_b = pairing.summed
    a, b = (a.sum(alone_a) if alone_a else a), (b.sum(alone_b) if alone_b else b)
    if pairing.elements is not None:
        alignment_a, alignment_b = pairing.elements
        return _moved(a, *alignment_a) * _moved(b, *alignment_b)
    sizes_a, sizes_b = a.shape, b.shape
    if any(sizes_a[p] != sizes_b[q] for p, q in pairing.shared):
        a, b = _broadcast(a, b, pairing.shared)
    order_a, order_b = pairing.orders
    a, b = _moved(a, order_a), _moved(b, order_b)
    batch, rows, summed, columns = pairing.counts
    if batch <= rows == summed == columns == 1:
        product = a @ b
    else:
        sizes_a, sizes_b = a.shape, b.shape
        shape = [*sizes_a[: batch + rows], *sizes_b[batch + summed :]]
        a = a.reshape(_grouped(sizes_a, batch, rows))
        b = b.reshape(_grouped(sizes_b, batch, summed))
        product = (a @ b).reshape(shape)
    return _moved(product, pairing.order)


def _broadcast(a, b, shared):
    """Both operands, broadcast to each other in the dims that they share."""
    sizes_a, sizes_b = list(a.shape), list(b.shape)
    for p, q in shared:
        if sizes_a[p] == 1:
            sizes_a[p] = sizes_b[q]
        else:
            sizes_b[q] = sizes_a[p]
    return a.expand(sizes_a), b.expand(sizes_b)


def _grouped(sizes, batch, rows):
    """Sizes (batch, rows, rest), with the dims of each group merged."""
    groups = sizes[:batch], sizes[batch : batch + rows], sizes[batch + rows :]
    return [_count(group) for group in groups]


def _count(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count
