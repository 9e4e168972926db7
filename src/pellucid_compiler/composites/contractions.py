"""Products over named dims, written as batched matrix products: einsum, tensordot."""

from functools import lru_cache

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
        "tensordot: {} dims meet {}",
        len(dims_a),
        len(dims_b),
    )
    names_a = list(range(a.dim()))
    names_b = list(range(a.dim(), a.dim() + b.dim()))
    for p, q in zip(dims_a, dims_b, strict=True):
        names_b[q] = names_a[p]
    summed = {names_a[p] for p in dims_a}
    output_names = [n for n in (*names_a, *names_b) if n not in summed]
    return _pair(a, names_a, b, names_b, output_names)


@composite("inner(Tensor self, Tensor other) -> Tensor", out=True, gives_view=True)
def inner(a, b):
    """The sum of products over the last dims; a scalar scales."""
    if a.dim() == 0 or b.dim() == 0:
        return a * b
    return tensordot(a, b, [-1], [-1])


@composite("kron(Tensor self, Tensor other) -> Tensor", out=True)
def kron(a, b):
    """Kronecker's product: every element of ``self`` times all of ``other``."""
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
)
def bilinear(a, b, weight, bias):
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k."""
    product = api.einsum("...i,kij,...j->...k", a, weight, b)
    return product if bias is None else product + bias


@composite(
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    method=False,
    variadic=True,
)
def einsum(equation, operands, *, path):
    """Einstein's sum: ``einsum("ij,jk->ik", a, b)``.

    Operands are joined from left to right, or as ``path`` pairs their places; the
    result of a pair is the last operand then. ``...`` names dims that broadcast.
    """
    terms, output = _parsed(equation, tuple(t.dim() for t in operands))
    rest = list(zip(operands, terms, strict=True))
    _require_sizes(rest, output)
    rest = [_without_repeats(*operand) for operand in rest]
    steps = list(path or ())
    while len(rest) > 1:
        places = sorted((steps.pop(0), steps.pop(0))) if steps else (0, 1)
        (b, names_b), (a, names_a) = rest.pop(places[1]), rest.pop(places[0])
        needed = {*output, *(n for _, term in rest for n in term)}
        output_names = [n for n in dict.fromkeys((*names_a, *names_b)) if n in needed]
        joined = _pair(a, names_a, b, names_b, output_names), output_names
        rest.insert(len(rest) if path else 0, joined)
    result, names = rest[0]
    gone = [k for k, n in enumerate(names) if n not in output]
    if gone:
        result = result.sum(gone)
        names = [n for n in names if n in output]
    return result.permute([names.index(n) for n in output])


# The equation


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
        return named, output
    return named, _implied_output(named, free)


def _implied_output(terms, free):
    """The dims that broadcast, then those that one operand alone names, sorted."""
    names = [name for term in terms for name in term]
    leading = [("...", k) for k in range(free) if ("...", k) in names]
    once = (n for n in names if names.count(n) == 1 and n not in leading)
    return leading + sorted(once)


def _tokens(term):
    parts = term.split("...")
    require(len(parts) <= 2, "einsum(): the term {!r} has more than one '...'", term)
    for name in "".join(parts):
        if not name.isalpha():  # no message is written of the others
            require(False, "einsum(): invalid subscript {!r}; give letters", name)
    return [*parts[0], Ellipsis, *parts[1]] if len(parts) == 2 else list(term)


def _with_ellipsis(term, count, free):
    """``term`` with the last ``count`` of the ``free`` broadcast dims named."""
    if Ellipsis not in term:
        return term
    place = term.index(Ellipsis)
    names = [("...", k) for k in range(free - count, free)]
    return [*term[:place], *names, *term[place + 1 :]]


def _require_sizes(operands, output):
    sizes = {}
    for place, (tensor, names) in enumerate(operands):
        for name, size in zip(names, tensor.shape, strict=True):
            known = sizes.setdefault(name, size)
            if known == 1:
                sizes[name] = size
            elif size not in (1, known):
                require(
                    False,
                    "einsum(): subscript {} has size {} for operand {}, which does not "
                    "broadcast with its size {} before",
                    _shown(name),
                    size,
                    place,
                    known,
                )
    for name in output:
        if name not in sizes:
            require(
                False,
                "einsum(): the output subscript {} does not appear in any operand",
                _shown(name),
            )


def _shown(name):
    """A letter, or a dim that ``...`` names, in a message."""
    return name if isinstance(name, str) else "..."


def _without_repeats(tensor, names):
    """Dims of one name become their diagonal."""
    if len(set(names)) == len(names):
        return tensor, names
    names = list(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            require(
                tensor.shape[first] == tensor.shape[second],
                "einsum(): subscript {} is repeated for one operand with the sizes {} "
                "and {}",
                name,
                tensor.shape[first],
                tensor.shape[second],
            )
            tensor = tensor.diagonal(0, first, second)
            names = [n for k, n in enumerate(names) if k not in (first, second)]
            names.append(name)
    return tensor, names


# Products of two


def _pair(a, names_a, b, names_b, output_names):
    """The sum over all names but ``output_names``, as one batched matrix product, or as
    a product of elements where no name is summed over.
    """
    size = {n: 1 for n in (*names_a, *names_b)}
    for tensor, names in ((a, names_a), (b, names_b)):
        for n, extent in zip(names, tensor.shape, strict=True):
            size[n] = max(size[n], extent) if extent else 0
    a, in_a = _summed_alone(a, names_a, {*names_b, *output_names})
    b, in_b = _summed_alone(b, names_b, {*names_a, *output_names})
    batch = [n for n in in_a if n in in_b and n in output_names]
    summed = [n for n in in_a if n in in_b and n not in output_names]
    if not summed:
        return _aligned(a, in_a, output_names) * _aligned(b, in_b, output_names)
    rows = [n for n in in_a if n not in in_b]
    columns = [n for n in in_b if n not in in_a]

    def matrix(t, names, left, right):
        order = [*batch, *left, *right]
        t = t.permute([names.index(n) for n in order]).expand([size[n] for n in order])
        return t.reshape(_count(size, batch), _count(size, left), _count(size, right))

    product = matrix(a, in_a, rows, summed) @ matrix(b, in_b, summed, columns)
    found = [*batch, *rows, *columns]
    product = product.reshape([size[n] for n in found])
    return product.permute([found.index(n) for n in output_names])


def _aligned(tensor, names, wanted):
    """The dims in the order ``wanted``, with dims of size 1 for the missing ones."""
    moved = tensor.permute([names.index(n) for n in wanted if n in names])
    return moved[tuple(slice(None) if n in names else None for n in wanted)]


def _summed_alone(tensor, names, needed):
    """Sums over the names that nothing else mentions."""
    alone = [k for k, n in enumerate(names) if n not in needed]
    left = [n for n in names if n in needed]
    return (tensor.sum(alone) if alone else tensor), left


def _count(size, names):
    count = 1
    for name in names:
        count *= size[name]
    return count
