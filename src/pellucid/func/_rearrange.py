"""``rearrange``: permutes, splits and merges dims by a pattern of names.

The language is einops' (Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations
with Einstein-like Notation", ICLR 2022): ``"b (h k) c -> b h (k c)"``. A pattern is
a reshape, a permutation and another reshape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import pellucid
from pellucid import Tensor

_Group = list[str]
"""The names that form one dim; "..." is any number of dims."""

_REST: _Group = ["..."]
"""The dims without a name, kept separate; inside parentheses they are merged."""

_TOKEN = re.compile(r"\.\.\.|[()]|[^\W\d]\w*|1(?!\w)|\S")


def rearrange(
    tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int
) -> Tensor:
    """Rearranges the dims of ``tensor``, named by the left side of ``pattern``, into
    the order of its right side.

    Names in parentheses are the factors of one dim; ``axes_lengths`` gives their sizes
    except one per dim. ``1`` is a dim of size 1, ``...`` all dims without a name. A
    sequence of tensors is stacked along a new first dim. Raises ValueError for an
    invalid pattern and for one that does not match the tensor.
    Example::

        >>> import pellucid as torch
        >>> images = torch.zeros(32, 30, 40, 3)
        >>> torch.func.rearrange(images, "b (h k) w c -> b c (h w) k", k=2).shape
        torch.Size([32, 3, 600, 2])
    """
    if not isinstance(tensor, Tensor):
        tensor = pellucid.stack(list(tensor))
    left, right = _sides(pattern)
    rest = tensor.dim() - sum(group is not _REST for group in left)
    if rest < 0 or (rest and not _has_rest(left)):
        raise ValueError(
            f"the pattern {pattern!r} does not name {tensor.dim()} dims; given: a "
            f"tensor of shape {tuple(tensor.shape)}"
        )
    left, right = (_without_dots(side, rest) for side in (left, right))
    before = [name for group in left for name in group]
    after = [name for group in right for name in group]
    _check_names(before, after, axes_lengths, pattern)
    sizes = _sizes(left, tuple(tensor.shape), axes_lengths, pattern)
    split = tensor.reshape([sizes[name] for name in before])
    permuted = split.permute([before.index(name) for name in after])
    return permuted.reshape([prod(sizes[name] for name in group) for group in right])


def _sides(pattern: str) -> tuple[list[_Group], list[_Group]]:
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"the pattern {pattern!r} needs one '->' between its sides")
    left, right = (_groups(side, pattern) for side in sides)
    if _has_rest(right) and not _has_rest(left):
        raise ValueError(f"'...' is only on the right of {pattern!r}")
    if any("..." in group for group in left if group is not _REST):
        raise ValueError(f"'...' is in parentheses on the left of {pattern!r}")
    return left, right


def _has_rest(side: list[_Group]) -> bool:
    return any("..." in group for group in side)


def _groups(side: str, pattern: str) -> list[_Group]:
    groups: list[_Group] = []
    inside = False
    for token in _TOKEN.findall(side):
        if token in "()":
            if inside == (token == "("):
                raise ValueError(f"the parentheses of {pattern!r} do not match")
            inside = token == "("
            groups += [[]] if inside else []
        elif not (token in ("...", "1") or token.isidentifier()):
            raise ValueError(f"{token!r} in the pattern {pattern!r} is not a name")
        elif token == "1":
            groups += [] if inside else [[]]
        elif inside:
            groups[-1].append(token)
        else:
            groups.append(_REST if token == "..." else [token])
    names = [name for group in groups for name in group]
    if inside or len(names) != len(set(names)):
        what = "parentheses do not match" if inside else "names repeat on one side"
        raise ValueError(f"the {what}: {pattern!r}")
    return groups


def _without_dots(side: list[_Group], rest: int) -> list[_Group]:
    """Replaces "..." by names for the dims that it covers."""
    names = [f".{number}" for number in range(rest)]
    result: list[_Group] = []
    for group in side:
        if group is _REST:
            result += [[name] for name in names]
        else:
            found = [names if name == "..." else [name] for name in group]
            result.append([name for part in found for name in part])
    return result


def _check_names(
    before: list[str], after: list[str], lengths: dict[str, int], pattern: str
) -> None:
    lone = set(before) ^ set(after)
    if lone:
        raise ValueError(f"{sorted(lone)} are on only one side of {pattern!r}")
    unknown = set(lengths) - set(before)
    if unknown:
        raise ValueError(f"{sorted(unknown)} have a length but are not in {pattern!r}")


def _sizes(
    left: list[_Group], shape: tuple[int, ...], lengths: dict[str, int], pattern: str
) -> dict[str, int]:
    sizes = dict(lengths)
    for group, size in zip(left, shape, strict=True):
        open_names = [name for name in group if name not in sizes]
        known = prod(sizes[name] for name in group if name in sizes)
        if len(open_names) > 1:
            raise ValueError(f"the sizes of {open_names} in {pattern!r} are needed")
        if open_names:
            sizes[open_names[0]] = size // known if known else 0
        if prod(sizes[name] for name in group) != size:
            raise ValueError(
                f"({' '.join(group)}) in {pattern!r} does not make a dim of {size}: "
                f"{ {name: sizes[name] for name in group} }"
            )
    return sizes
