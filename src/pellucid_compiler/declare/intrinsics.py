"""Ops that C++ carries out: what is declared of them, since nothing can be traced.

An intrinsic's meaning is memory or the order of random draws. The declaration has all
that an op's has but the body; ``runtime/module/intrinsics.cpp`` names the kernel of
each, and start-up fails if one of the two has an op that the other lacks. Called by
``catalogue/intrinsics.py``; written to the frozen file by ``tools/freeze.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pellucid_compiler.declare.schema import Schema, parse_schema

if TYPE_CHECKING:
    from pellucid_compiler.abi.records import IntrinsicRow

KINDS: Final = ("composite", "view", "random", "loop")
# Namespaces of forms that Python alone calls, in front of the schema.
_NAMESPACE: Final = "python::"


class Intrinsic(NamedTuple):
    """One op overload that C++ carries out.

    ``kind``: a composite calls other ops, which record gradients; a random op draws.
    ``gradient``: the op that computes it and its arguments: ``grad``, ``grads`` (those
    of all results) and arguments by name. ``is_seen``: dispatch modes see the op, else
    the ops that it calls. ``within``: whether function transforms run it on wrapped
    tensors, as they would any function; ``instead``: the op that they run in its place.
    """

    text: str
    schema: Schema
    kind: str
    gradient: str
    is_method: bool
    is_function: bool
    is_seen: bool
    within: bool
    instead: str
    autocast: str

    @property
    def full_name(self) -> str:
        return self.schema.full_name

    def row(self) -> IntrinsicRow:
        """What the frozen file has of it."""
        # Only freezing needs records: tracing does not import their dataclasses.
        from pellucid_compiler.abi.records import IntrinsicRow, SourceRow
        from pellucid_compiler.declare.late_forms import variant_of

        name, sources = _gradient(self.gradient, self.schema)
        return IntrinsicRow(
            schema=self.text,
            kind=self.kind,
            variant=variant_of(self.schema),
            is_method=self.is_method,
            is_function=self.is_function,
            is_seen=self.is_seen,
            is_transparent=self.within,
            instead=self.instead,
            autocast=self.autocast,
            gradient=name,
            sources=tuple(SourceRow(*source) for source in sources),
        )


INTRINSICS: Final[dict[str, Intrinsic]] = {}


def intrinsic(
    schema: str,
    kind: str = "composite",
    *,
    gradient: str = "",
    method: bool = False,
    function: bool = False,
    seen: bool | None = None,
    within: bool | None = None,
    instead: str = "",
    autocast: str = "",
) -> Intrinsic:
    """Declare an op of C++; composites are run by transforms and modes as the ops that
    they call unless ``within=False`` or ``seen=True`` say otherwise.
    """
    if kind not in KINDS:
        raise ValueError(f"{schema}: {kind} is none of {', '.join(KINDS)}")
    is_composite = kind == "composite"
    made = Intrinsic(
        text=schema,
        schema=parse_schema(schema.removeprefix(_NAMESPACE)),
        kind=kind,
        gradient=gradient,
        is_method=method,
        is_function=function,
        is_seen=not is_composite if seen is None else seen,
        within=is_composite if within is None else within,
        instead=instead,
        autocast=autocast,
    )
    name = schema.partition("(")[0]
    if name in INTRINSICS:
        raise ValueError(f"the op {name} is declared twice")
    if is_composite and gradient:
        raise ValueError(f"{name}: the ops that a composite calls have gradients")
    INTRINSICS[name] = made
    return made


def _gradient(text: str, schema: Schema) -> tuple[str, list[tuple[str, int, int]]]:
    """The op that ``text`` calls, and the SourceRow of each of its arguments."""
    if not text:
        return "", []
    name, _, rest = text.removesuffix(")").partition("(")
    places = {argument.name: k for k, argument in enumerate(schema.arguments)}
    sources: list[tuple[str, int, int]] = []
    for word in rest.split(", "):
        if word in ("grad", "grads"):
            origin = "gradient" if word == "grad" else "gradients"
            sources.append((origin, 0, -1))
        else:
            sources.append(("argument", places[word], -1))
    return name, sources
