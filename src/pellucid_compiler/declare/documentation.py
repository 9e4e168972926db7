"""The documentation of each op: ``torch.add.__doc__``, stubs, docs/ops.md.

All of it follows from declarations: schemas, docstrings, and the origin of each
overload. The frozen file has the texts of all names, and the runtime maps it, so that
no text is read before it is requested. Called by ``tools/freeze.py``,
``tools/make_stubs.py`` and ``tools/ops_page.py``, after all declarations are imported.
"""

from __future__ import annotations

import keyword
from collections import defaultdict
from collections.abc import Iterator
from inspect import cleandoc
from math import isfinite
from typing import Any, Final, NamedTuple

from pellucid_compiler.abi.records import DocumentationRow
from pellucid_compiler.composites import Composite, all_composites
from pellucid_compiler.declare.intrinsics import INTRINSICS
from pellucid_compiler.declare.late_forms import (
    COMPOSITE,
    OUT,
    LateRecord,
    late_ops,
    variant_of,
)
from pellucid_compiler.declare.op import REGISTRY, Op
from pellucid_compiler.declare.schema import Argument, Schema
from pellucid_compiler.declare.variants import inplace_schema, out_schema

# The origin of an overload, and what its text says about it. A form is another overload
# of a declared name, as with ``out=``.
DECLARED, FORM, IN_PLACE, ALIAS, COPY, GRADIENT = (
    "",
    "{}",
    "The in-place form of ``{}``.",
    "Another name of ``{}``.",
    "What ``{}`` shows, in memory of its own.",
    "The gradient of ``{}``.",
)
MOST_SCHEMAS: Final = 4  # that a text begins with, where the op has no declaration
_FACTORY_WORDS: Final = {"dtype", "device", "pin_memory"}


class Overload(NamedTuple):
    """An overload; ``of``: the op whose declaration defines it, in ``family`` (a file),
    with the docstring ``text``.
    """

    schema: Schema
    origin: str
    of: str
    text: str
    kind: str
    family: str
    module: str
    is_method: bool
    is_function: bool
    is_variadic: bool = False

    @property
    def is_out(self) -> bool:
        return variant_of(self.schema) == OUT

    @property
    def described(self) -> str:
        """Its relation to the declared op, and the declaration's docstring."""
        if self.origin in (DECLARED, FORM):
            return self.text
        relation = self.origin.format(self.of)
        return relation if self.origin == GRADIENT else f"{relation}\n\n{self.text}"


class Documentation:
    """The overloads of every op by its name, in the order in which calls try them, and
    their texts.
    """

    def __init__(self) -> None:
        found = {o.schema.full_name: o for o in (*_of_registry(), *_of_intrinsics())}
        self._add_late(found)
        self.overloads: defaultdict[str, list[Overload]] = defaultdict(list)
        self._related: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for overload in found.values():
            self.overloads[overload.schema.op_name].append(overload)
        for name, overloads in self.overloads.items():
            for of, origin in dict.fromkeys((o.of, o.origin) for o in overloads):
                self._related[of, origin].append(name)

    def _add_late(self, found: dict[str, Overload]) -> None:
        composites = all_composites()
        bodies = {composite.place: composite for composite in composites}
        late = late_ops(REGISTRY, composites).values()
        records = {r.schema.full_name: r for op in late for r in op.records}

        def add(name: str) -> Overload:
            if name not in found:
                record = records[name]
                if record.named in bodies:
                    found[name] = _of_composite(record, bodies[record.named])
                else:  # a body of a gradient is named "module:function op gradient"
                    is_gradient = record.body == COMPOSITE
                    named = record.named.split()[1] if is_gradient else record.named
                    found[name] = _of_other(record, add(named))
            return found[name]

        for name in records:
            add(name)

    def related(self, name: str, origin: str) -> list[str]:
        """The ops derived from the one of this name in this way."""
        return self._related[name, origin]

    def text(self, name: str) -> str:
        """The schemas of an op, its docstring, and related ops."""
        overloads = self.overloads[name]
        shown = [o for o in overloads if o.origin == DECLARED]
        if not shown:
            shown = [o for o in overloads if not o.is_out][:MOST_SCHEMAS] or overloads
        by_text: defaultdict[str, list[str]] = defaultdict(list)
        for overload in shown:
            by_text[overload.described].append(overload.schema.text)
        rest = [o.schema.full_name for o in overloads if o not in shown]
        lines = [
            f"{what}: {', '.join(names)}."
            for what, names in (
                ("Further overloads", rest),
                ("In place", self.related(name, IN_PLACE)),
                ("Other names", self.related(name, ALIAS)),
            )
            if names
        ]
        parts = [part for text, schemas in by_text.items() for part in (
            "\n".join(schemas), text)]  # fmt: skip
        return "\n\n".join([*parts, *(["\n".join(lines)] if lines else [])])

    def signature(self, name: str, *, method: bool) -> str:
        """The signature in Python syntax; empty if none covers all overloads."""
        forms = [
            overload
            for overload in self.overloads[name]
            if (overload.is_method if method else overload.is_function)
        ]
        results = [_parameters(o, method=method) for o in forms if not o.is_out]
        named = [dict(parameters) for parameters in results if parameters is not None]
        if not named or len(named) < len(results):
            return ""
        if any(list(parameters) != list(named[0]) for parameters in named):
            return ""
        positional = [t for t in named[0] if not any(p[t] for p in named)]
        words = [t for t in named[0] if t not in positional]
        words += ["out=None"] if len(forms) > len(results) and not method else []
        first, star = ["$self"] if method else [], ["*"] if words else []
        called = self.overloads[name][0].schema.name
        return f"{called}({', '.join([*first, *positional, *star, *words])})"


def _of_registry() -> Iterator[Overload]:
    for op in REGISTRY.values():
        is_hidden = op.options.inplace_only
        is_function = op.options.function and not is_hidden
        is_method = op.options.method
        yield _of_op(op, op.schema, DECLARED, is_method and not is_hidden, is_function)
        in_place, out = inplace_schema(op), out_schema(op)
        if in_place is not None:
            yield _of_op(op, in_place, IN_PLACE, is_method, is_function)
        if out is not None:
            yield _of_op(op, out, FORM, False, is_function)


def _of_op(
    op: Op, schema: Schema, origin: str, is_method: bool, is_function: bool
) -> Overload:
    return Overload(
        schema=schema,
        origin=origin,
        of=op.schema.op_name,
        text=cleandoc(op.__doc__ or ""),
        kind=op.kind,
        family=_family(op.function),
        module=op.options.namespace,
        is_method=is_method,
        is_function=is_function,
    )


def _of_intrinsics() -> Iterator[Overload]:
    for op in INTRINSICS.values():
        yield Overload(
            schema=op.schema,
            origin=DECLARED,
            of=op.schema.op_name,
            text=cleandoc(op.doc),
            kind=op.kind,
            family="intrinsics",
            module=op.module,
            is_method=op.is_method,
            is_function=op.is_function,
        )


def _of_composite(record: LateRecord, composite: Composite) -> Overload:
    return Overload(
        schema=record.schema,
        origin=DECLARED,
        of=record.schema.op_name,
        text=cleandoc(composite.__doc__ or ""),
        kind="composite",
        family=_family(composite.body),
        module=record.module,
        is_method=record.is_method,
        is_function=record.is_function,
        is_variadic=record.is_variadic,
    )


def _of_other(record: LateRecord, other: Overload) -> Overload:
    """The overload of a record that runs another one or computes its gradient."""
    name, base = record.schema.op_name, other.schema.op_name
    origin, of = ALIAS, base
    if record.body == COMPOSITE:
        origin = GRADIENT
    elif name == base:
        origin, of = other.origin or FORM, other.of
    elif name in (f"{base}_", f"{base}_copy"):
        origin = IN_PLACE if name == f"{base}_" else COPY
    return other._replace(
        schema=record.schema,
        origin=origin,
        of=of,
        module=record.module,
        is_method=record.is_method,
        is_function=record.is_function,
        is_variadic=record.is_variadic,
    )


def _family(function: Any) -> str:
    return str(function.__module__).rpartition(".")[2]


# ------------------------------------------------------------------------- signatures


def _parameters(overload: Overload, *, method: bool) -> list[tuple[str, bool]] | None:
    """(text, whether it is keyword-only) of each parameter; None if a default cannot be
    written in Python, or a list may be given as separate arguments.
    """
    arguments = [a for a in overload.schema.arguments if not method or a.name != "self"]
    listed = [a for a in arguments if not a.keyword_only and a.name != "self"]
    if overload.is_variadic or (len(listed) == 1 and _is_loose(listed[0])):
        return None
    found = []
    for argument in arguments:
        name = "input" if argument.name == "self" else argument.name
        default = f"={argument.default!r}" if argument.has_default else ""
        if keyword.iskeyword(name) or not _is_literal(argument):
            return None
        found.append((f"{name}{default}", argument.keyword_only))
    if {a.name for a in arguments} >= _FACTORY_WORDS:
        found.append(("requires_grad=False", True))
    return found


def _is_loose(argument: Argument) -> bool:
    return argument.type in ("int", "SymInt") and argument.is_list


def _is_literal(argument: Argument) -> bool:
    """Whether the default can be written unchanged in Python."""
    value, text = argument.default, argument.text.rpartition("=")[2]
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, str) or text[0] in "'\""


# ------------------------------------------------------------------------ frozen file


def encode_texts() -> tuple[list[DocumentationRow], bytes]:
    """The texts of all ops, and where each begins. CPython reads the signature from the
    first line of a text that ends with ``)\\n--\\n\\n``.
    """
    documentation = Documentation()
    texts = bytearray()
    places: dict[str, int] = {}
    rows = []

    def place(text: str) -> int:
        if text not in places:
            places[text] = len(texts)
            texts.extend(text.encode() + b"\0")
        return places[text]

    for name in sorted(documentation.overloads):
        text = documentation.text(name)
        starts = []
        for method in (False, True):
            signature = documentation.signature(name, method=method)
            starts.append(place(f"{signature}\n--\n\n{text}" if signature else text))
        rows.append(DocumentationRow(name, *starts))
    return rows, bytes(texts)
