"""Ops implemented in C++: their declarations, since nothing can be traced.

An intrinsic depends on memory or on the order of random draws. Its declaration has
everything that an op's has except the body; instead it names a C++ function:
``kernel_table`` writes ``runtime/module/intrinsic_kernels.h`` from these. Called by
``catalogue/intrinsics.py``; written to the frozen file by ``tools/freeze.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.declare.tags import Known

if TYPE_CHECKING:
    from pellucid_compiler.abi.records import IntrinsicRow

KINDS: Final = ("composite", "view", "random", "loop")
# The namespace of forms that only Python calls, before the schema.
_NAMESPACE: Final = "python::"


class Intrinsic(NamedTuple):
    """One op overload implemented in C++.

    ``kernel``: the C++ function, ``"intrinsics::reshape"``. ``kind``: a composite calls
    other ops, which record gradients; a random op draws. ``gradient``: the op that
    computes its gradient, and its arguments: ``grad``, ``grads`` (those of all results)
    and arguments by name. ``is_seen``: dispatch modes see the op, else the ops that it
    calls. ``within``: whether function transforms run it on wrapped tensors, like any
    function; ``instead``: the op that they, and sparse tensors, run instead.
    ``core``: it is in Core ATen, which PyTorch has backends implement; ``core_as``:
    the Core ATen ops that make a view, if no Graph says so; ``tags``: see tags.py.
    """

    text: str
    schema: Schema
    kernel: str
    kind: str
    gradient: str
    is_method: bool
    is_function: bool
    is_seen: bool
    within: bool
    instead: str
    autocast: str
    doc: str
    core: bool
    tags: str
    core_body: Callable[..., Any] | None

    @property
    def full_name(self) -> str:
        return self.schema.full_name

    @property
    def module(self) -> str:
        """The module of the function: the package, or its namespace's module."""
        return self.schema.name_space

    def row(self) -> IntrinsicRow:
        """Its record in the frozen file."""
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
            module=self.module,
            is_seen=self.is_seen,
            is_transparent=self.within,
            instead=self.instead,
            autocast=self.autocast,
            tags=self.tags,
            gradient=name,
            sources=tuple(SourceRow(*source) for source in sources),
        )


INTRINSICS: Final[dict[str, Intrinsic]] = {}


def intrinsic(
    schema: str,
    doc: str,
    kernel: str,
    kind: str = "composite",
    *,
    gradient: str = "",
    method: bool = False,
    function: bool = False,
    seen: bool | None = None,
    within: bool | None = None,
    instead: str = "",
    autocast: str = "",
    core: bool = False,
    tags: str = "",
    core_as: Callable[..., Any] | None = None,
) -> Intrinsic:
    """Declare an op of C++, and what it does. Transforms and modes run a composite as
    the ops that it calls, unless ``within=False`` or ``seen=True``.
    """
    if kind not in KINDS:
        raise ValueError(f"{schema}: {kind} is not one of {', '.join(KINDS)}")
    is_composite = kind == "composite"
    declared = parse_schema(schema.removeprefix(_NAMESPACE))
    made = Intrinsic(
        text=schema,
        schema=declared,
        kernel=kernel,
        kind=kind,
        gradient=gradient,
        is_method=method,
        is_function=function,
        is_seen=not is_composite if seen is None else seen,
        within=is_composite if within is None else within,
        instead=instead,
        autocast=autocast,
        doc=doc,
        core=core,
        tags=Known(declared, kind, tags, core).tags_of(declared),
        core_body=core_as,
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


def kernel_table() -> dict[str, str]:
    """The header that lists the kernels: its path in ``runtime`` and its text."""
    from pellucid_compiler.abi.headers import header

    body = [
        "inline constexpr Intrinsic kIntrinsics[] = {",
        *(f'    {{"{name}", {made.kernel}}},' for name, made in INTRINSICS.items()),
        "};",
    ]
    summary = "The kernels of the ops that C++ carries out, by their declared names."
    included = '"intrinsics/kernels.h" "ops/intrinsics.h" "autograd/strided_ops.h"'
    text = header(summary, "catalogue/intrinsics.py", included, body)
    return {"module/intrinsic_kernels.h": text}
