"""Products over named dims, written as batched matrix products: einsum, tensordot.

Used by ``pellucid/__init__.py`` through ``__all__``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = ["einsum", "inner", "kron", "tensordot"]


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """The sum of products over pairs of dims; a number: the last and first ones."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot over {dims} dims of tensors of {a.dim()} and {b.dim()}"
            )
        dims = list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError(f"tensordot: {len(first)} dims meet {len(second)}")
    names_a = list(range(a.dim()))
    names_b = list(range(a.dim(), a.dim() + b.dim()))
    for p, q in zip(first, second, strict=True):
        names_b[q] = names_a[p]
    summed = {names_a[p] for p in first}
    kept = [n for n in (*names_a, *names_b) if n not in summed]
    result = _pair(a, names_a, b, names_b, kept)
    return result if out is None else out.copy_(result)


def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The sum of products over the last dims; a scalar scales."""
    if input.dim() == 0 or other.dim() == 0:
        result = input * other
    else:
        result = tensordot(input, other, dims=([-1], [-1]))
    return result if out is None else out.copy_(result)


def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Kronecker's product: every element of ``input`` times all of ``other``."""
    rank = max(input.dim(), other.dim())
    a, b = (t.reshape([1] * (rank - t.dim()) + list(t.shape)) for t in (input, other))
    pairs = zip(a.shape, b.shape, strict=True)
    wide_a = a.reshape([n for size in a.shape for n in (size, 1)])
    wide_b = b.reshape([n for size in b.shape for n in (1, size)])
    result = (wide_a * wide_b).reshape([m * n for m, n in pairs])
    return result if out is None else out.copy_(result)


def einsum(*args: Any) -> Tensor:
    """Einstein's sum: ``einsum("ij,jk->ik", a, b)``; also ``einsum(a, [0, 1], ...)``.

    Operands are joined from left to right; ``...`` stands for dims that broadcast.
    """
    terms, output, operands = _parsed(*args)
    rest = list(zip(operands, terms, strict=True))
    sizes = _sizes(rest)
    for name in output:
        if name not in sizes:
            raise RuntimeError(f"einsum: the output's {name!r} is in no operand")
    result, names = _without_repeats(*rest.pop(0))
    while rest:
        other, other_names = _without_repeats(*rest.pop(0))
        needed = {*output, *(n for _, term in rest for n in term)}
        kept = [n for n in dict.fromkeys((*names, *other_names)) if n in needed]
        result, names = _pair(result, names, other, other_names, kept), kept
    gone = [k for k, n in enumerate(names) if n not in output]
    if gone:
        result = result.sum(gone)
        names = [n for n in names if n in output]
    return result.permute([names.index(n) for n in output])


def _parsed(*args: Any) -> tuple[list[list[Any]], list[Any], list[Tensor]]:
    """(names of each operand's dims, names of the result's, operands)."""
    if not isinstance(args[0], str):
        operands = list(args[0:-1:2]) if len(args) % 2 else list(args[0::2])
        terms = [list(names) for names in args[1::2]]
        output = list(args[-1]) if len(args) % 2 else None
        tokens = [*terms, output] if output is not None else terms
    else:
        operands = list(args[1:])
        if len(operands) == 1 and not isinstance(operands[0], Tensor):
            operands = list(operands[0])
        left, arrow, right = args[0].replace(" ", "").partition("->")
        terms = [_tokens(term) for term in left.split(",")]
        output = _tokens(right) if arrow else None
        tokens = [*terms, output] if output is not None else terms
    if len(terms) != len(operands):
        raise RuntimeError(
            f"einsum: the equation has {len(terms)} terms for {len(operands)} operands"
        )
    free = (
        max(
            t.dim() - len(term) + 1 if Ellipsis in term else 0
            for t, term in zip(operands, terms, strict=True)
        )
        if any(Ellipsis in t for t in tokens)
        else 0
    )
    named = [
        _with_ellipsis(term, t.dim() - len(term) + 1, free)
        for t, term in zip(operands, terms, strict=True)
    ]
    for term, t in zip(named, operands, strict=True):
        if len(term) != t.dim():
            raise RuntimeError(
                f"einsum: a term names {len(term)} dims of an operand with {t.dim()}"
            )
    if output is None:
        counts: dict[Any, int] = {}
        for term in named:
            for name in term:
                counts[name] = counts.get(name, 0) + 1
        leading = [("...", k) for k in range(free) if ("...", k) in counts]
        single = (n for n, count in counts.items() if count == 1 and n not in leading)
        return named, leading + sorted(single), operands
    return named, _with_ellipsis(output, free, free), operands


def _tokens(term: str) -> list[Any]:
    parts = term.split("...")
    if len(parts) > 2:
        raise RuntimeError(f"einsum: the term {term!r} has more than one '...'")
    for name in "".join(parts):
        if not name.isalpha():
            raise RuntimeError(f"einsum: {name!r} is no letter; dims are named by one")
    return [*parts[0], Ellipsis, *parts[1]] if len(parts) == 2 else list(term)


def _with_ellipsis(term: list[Any], count: int, free: int) -> list[Any]:
    """``term`` with the last ``count`` of the ``free`` broadcast dims named."""
    if Ellipsis not in term:
        return term
    place = term.index(Ellipsis)
    names = [("...", k) for k in range(free - count, free)]
    return [*term[:place], *names, *term[place + 1 :]]


def _sizes(operands: list[tuple[Tensor, list[Any]]]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for tensor, names in operands:
        for name, size in zip(names, tensor.shape, strict=True):
            known = sizes.setdefault(name, size)
            if known == 1:
                sizes[name] = size
            elif size not in (1, known):
                raise RuntimeError(
                    f"einsum: the dim {name!r} has the sizes {known} and {size}"
                )
    return sizes


def _without_repeats(tensor: Tensor, names: list[Any]) -> tuple[Tensor, list[Any]]:
    """Dims of one name become their diagonal."""
    names = list(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum: the dim {name!r} of one operand has the sizes "
                    f"{tensor.shape[first]} and {tensor.shape[second]}"
                )
            tensor = tensor.diagonal(0, first, second)
            names = [n for k, n in enumerate(names) if k not in (first, second)]
            names.append(name)
    return tensor, names


def _pair(
    a: Tensor,
    names_a: Sequence[Any],
    b: Tensor,
    names_b: Sequence[Any],
    kept: Sequence[Any],
) -> Tensor:
    """The sum over all names that are not kept, as one batched matrix product."""
    size = {n: 1 for n in (*names_a, *names_b)}
    for tensor, names in ((a, names_a), (b, names_b)):
        for n, extent in zip(names, tensor.shape, strict=True):
            size[n] = max(size[n], extent) if extent else 0
    a, in_a = _summed_alone(a, names_a, {*names_b, *kept})
    b, in_b = _summed_alone(b, names_b, {*names_a, *kept})
    batch = [n for n in in_a if n in in_b and n in kept]
    summed = [n for n in in_a if n in in_b and n not in kept]
    rows = [n for n in in_a if n not in in_b]
    columns = [n for n in in_b if n not in in_a]

    def matrix(
        t: Tensor, names: list[Any], left: list[Any], right: list[Any]
    ) -> Tensor:
        order = [*batch, *left, *right]
        t = t.permute([names.index(n) for n in order]).expand([size[n] for n in order])
        return t.reshape(_count(size, batch), _count(size, left), _count(size, right))

    product = matrix(a, in_a, rows, summed) @ matrix(b, in_b, summed, columns)
    found = [*batch, *rows, *columns]
    product = product.reshape([size[n] for n in found])
    return product.permute([found.index(n) for n in kept])


def _summed_alone(
    tensor: Tensor, names: Sequence[Any], needed: set[Any]
) -> tuple[Tensor, list[Any]]:
    """Sums over the names that nothing else mentions."""
    alone = [k for k, n in enumerate(names) if n not in needed]
    left = [n for n in names if n in needed]
    return (tensor.sum(alone) if alone else tensor), left


def _count(size: dict[Any, int], names: Sequence[Any]) -> int:
    count = 1
    for name in names:
        count *= size[name]
    return count


for _name in ("inner", "kron"):
    setattr(Tensor, _name, globals()[_name])
