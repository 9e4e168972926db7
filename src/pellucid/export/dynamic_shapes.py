"""``Dim``: dynamic sizes of an exported program's inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pellucid import Tensor
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import (
    INFINITY,
    DerivedSize,
    ShapeEnv,
    Symbol,
)
from pellucid.utils._symbolic.expressions import Expr

if TYPE_CHECKING:
    from pellucid.export.exported_program import ExportedProgram
    from pellucid.nn import Module

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]


class _DimHint:
    """``Dim.AUTO``, ``Dim.DYNAMIC`` or ``Dim.STATIC``."""

    def __init__(
        self, kind: str, min: int | None = None, max: int | None = None
    ) -> None:
        self.kind, self.min, self.max = kind, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        return _DimHint(self.kind, min, max)

    def __repr__(self) -> str:
        return f"Dim.{self.kind}"


class Dim:
    """A size with a name and a range: ``Dim("batch", min=1, max=64)``.

    Dimensions with the same Dim have the same size. ``Dim.AUTO`` infers whether a size
    is dynamic, ``Dim.DYNAMIC`` requires that it is, ``Dim.STATIC`` fixes it.
    """

    AUTO = _DimHint("AUTO")
    DYNAMIC = _DimHint("DYNAMIC")
    STATIC = _DimHint("STATIC")

    def __init__(
        self, name: str, *, min: int | None = None, max: int | None = None
    ) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        low, high = 0 if min is None else min, INFINITY if max is None else max
        if high < low:
            raise AssertionError(
                f"Cannot create Dim with inconsistent min={min}, max={max}"
            )
        self.__name__, self.min, self.max = name, low, high
        self.root = self

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"

    root: Dim
    factor, offset = 1, 0

    def __add__(self, other: Any) -> Dim:
        self._check("add", other, "an integer", type(other) is int)
        return _DerivedDim(self.root, self.factor, self.offset + other)

    def __sub__(self, other: Any) -> Dim:
        self._check("subtract", other, "an integer", type(other) is int)
        return _DerivedDim(self.root, self.factor, self.offset - other)

    def __mul__(self, other: Any) -> Dim:
        fits = type(other) is int and other > 0
        self._check("multiply", other, "a positive integer", fits)
        return _DerivedDim(self.root, self.factor * other, self.offset * other)

    __radd__, __rmul__ = __add__, __mul__

    def _check(self, verb: str, other: Any, expected: str, fits: bool) -> None:
        if not fits:
            raise NotImplementedError(
                f"{verb} of {self.__name__} and {other}: expected {expected}; a size "
                "computed from a Dim is an integer times it, plus an integer"
            )


class _DerivedDim(Dim):
    """``2 * batch + 1``: a size computed from another Dim."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        self.root, self.factor, self.offset = root, factor, offset
        expr = Expr.constant(factor) * Expr.symbol(root.__name__)
        self.__name__ = str(expr + Expr.constant(offset))
        self.min = factor * root.min + offset
        is_open = root.max >= INFINITY
        self.max = INFINITY if is_open else factor * root.max + offset

    def __repr__(self) -> str:
        return self.__name__


def dims(
    *names: str, min: int | None = None, max: int | None = None
) -> tuple[Dim, ...]:
    """Several Dims with the same range."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Dynamic sizes by tensor, for inputs that are nested in containers.

    Example::

        shapes = ShapesCollection()
        shapes[batch["x"]] = {0: Dim("n")}
        program = export(model, (batch,), dynamic_shapes=shapes)
    """

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Tensor, Any]] = {}

    def __setitem__(self, t: Tensor, shape: Any) -> None:
        if not isinstance(t, Tensor):
            raise AssertionError(
                f"a ShapesCollection takes tensors, not {type(t).__name__}"
            )
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise AssertionError(
                f"the sizes of this tensor were given as {known[1]}, and now as {shape}"
            )
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Tensor) -> Any:
        if id(t) not in self._shapes:
            self._shapes[id(t)] = t, {}
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(
        self,
        m: Module,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The sizes by parameter, as ``export`` takes them. ValueError for a tensor
        that is not among the arguments.
        """
        met: set[int] = set()

        def shape_of(leaf: Any) -> Any:
            met.add(id(leaf))
            return self._shapes.get(id(leaf), (None, None))[1]

        named = _bound(m.forward, args, dict(kwargs or {}))
        found = {
            name: pytree.tree_map(shape_of, value) for name, value in named.items()
        }
        if not met.issuperset(self._shapes):
            raise ValueError(
                "a ShapesCollection has sizes of a tensor that is not among the "
                "arguments"
            )
        return found


class AdditionalInputs:
    """Further example inputs: a size that differs in one of them is dynamic.

    Example::

        inputs = AdditionalInputs()
        inputs.add((torch.randn(8, 4),))
        program = export(model, (torch.randn(2, 4),), dynamic_shapes=inputs)
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
    ) -> None:
        """Adds the arguments of one call."""
        if not isinstance(args, tuple):
            raise AssertionError(f"args is a tuple, not {type(args).__name__}")
        self._examples.append((args, dict(kwargs or {})))

    def dynamic_shapes(
        self,
        m: Module,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The sizes by parameter, as ``export`` takes them."""
        calls = [(args, dict(kwargs or {})), *self._examples]
        first, *others = (_bound(m.forward, *call) for call in calls)

        def shape_of(leaf: Any, *more: Any) -> Any:
            if isinstance(leaf, Tensor):
                shapes = [tuple(value.shape) for value in (leaf, *more)]
                if len(set(map(len, shapes))) > 1:
                    raise ValueError(
                        f"an argument has the sizes {shapes[0]} in one example and "
                        f"another number of dimensions in others: {shapes[1:]}"
                    )
                sizes = zip(*shapes, strict=True)
                return tuple(Dim.DYNAMIC if len(set(s)) > 1 else None for s in sizes)
            if any(value != leaf for value in more):
                raise ValueError(
                    f"an argument is {leaf!r} in one example and {more[0]!r} in "
                    "another; only sizes of tensors can be dynamic"
                )
            return None

        return {
            name: pytree.tree_map(shape_of, value, *(other[name] for other in others))
            for name, value in first.items()
        }

    def verify(self, ep: ExportedProgram) -> None:
        """Runs the program with every example; raises as its module would."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def shapes_of(
    given: Any, mod: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> Any:
    """The ``dynamic_shapes`` of ``export`` as sizes by parameter."""
    if isinstance(given, ShapesCollection | AdditionalInputs):
        return given.dynamic_shapes(mod, args, kwargs)
    return given


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by the names that ``dynamic_shapes`` has for them."""
    named = inspect.signature(function).bind(*args, **kwargs).arguments
    return _flat_names(named, kwargs)


def symbols_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
    env: ShapeEnv,
    offset: int,
) -> dict[tuple[int, int], Symbol | DerivedSize]:
    """The symbols of inputs by (index among all inputs, dimension)."""
    if dynamic_shapes is None:
        return {}
    named = _bound(function, args, kwargs)
    if isinstance(dynamic_shapes, Mapping):
        unknown = set(dynamic_shapes) - set(named)
        if unknown:
            raise ValueError(
                f"dynamic_shapes names {sorted(unknown)}; the inputs are {list(named)}"
            )
        wanted = [dynamic_shapes.get(name) for name in named]
    else:
        wanted = list(dynamic_shapes)
    made: dict[Any, Symbol] = {}
    found: dict[tuple[int, int], Symbol | DerivedSize] = {}
    index = offset
    for (name, value), spec in zip(named.items(), wanted, strict=False):
        for leaf, own in _paired(value, spec):
            for dim, given in _items(own):
                place = f"L['{name}'].size()[{dim}]"
                symbol = _symbol(given, leaf, dim, place, env, made)
                if symbol is not None:
                    found[index, dim] = symbol
            index += 1
    return found


def _flat_names(named: Mapping[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name; those collected by ``**kwargs`` by their own names."""
    result: dict[str, Any] = {}
    for name, value in named.items():
        if name not in kwargs and isinstance(value, dict) and set(value) <= set(kwargs):
            result.update(value)
        else:
            result[name] = value
    return result


def _paired(value: Any, spec: Any) -> list[tuple[Any, Any]]:
    """The leaves of an input, each with its entry of ``dynamic_shapes``."""
    if spec is None:
        return [(leaf, None) for leaf in pytree.tree_leaves(value)]
    if isinstance(value, Mapping):
        return [p for key in value for p in _paired(value[key], spec.get(key))]
    if isinstance(value, list | tuple):
        pairs = zip(value, spec, strict=True)
        return [p for part, own in pairs for p in _paired(part, own)]
    return [(value, spec)]


def _items(spec: Any) -> list[tuple[int, Any]]:
    if spec is None:
        return []
    return list(spec.items()) if isinstance(spec, Mapping) else list(enumerate(spec))


def _symbol(
    given: Any, leaf: Any, dim: int, place: str, env: ShapeEnv, made: dict[Any, Symbol]
) -> Symbol | DerivedSize | None:
    if given is None or isinstance(given, int) or given is Dim.STATIC:
        return None
    if not isinstance(leaf, Tensor):
        raise ValueError(f"{place} has a Dim, but {type(leaf).__name__} has no sizes")
    size = leaf.shape[dim]
    if isinstance(given, _DimHint):
        if size < 2:
            return None
        low, high = given.min or 0, given.max or INFINITY
        symbol = env.new_symbol(size, place, max(low, 2), high)
        symbol.is_optional = given.kind == "AUTO"
        symbol.is_inferred = True
        return symbol
    root = given.root
    own = (size - given.offset) // given.factor
    if given.factor * own + given.offset != size:
        raise ValueError(
            f"{place} = {size} is not of the form {given!r} for any {root!r}"
        )
    if root.__name__ not in made:
        if not root.min <= own <= root.max:
            raise ValueError(f"{place} = {size} is outside of the range of {given!r}")
        source = place
        if given is not root:
            source = f"({place} - {given.offset}) // {given.factor}"
        symbol = env.new_symbol(own, source, root.min, root.max, root.__name__)
        made[root.__name__] = symbol
    known = made[root.__name__]
    if known.hint != own:
        raise ValueError(
            f"{place} = {size} does not fit {known.source} = {known.hint}: it is given "
            f"as {given.__name__}"
        )
    return known if given is root else DerivedSize(known, given.factor, given.offset)
