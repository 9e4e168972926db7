"""The overloads that the runtime defines when they are first looked up.

An op has more overloads than plans: second names (``arccos``), further schemas of one
declaration (``mul.Scalar``), in-place and ``out=`` forms without a kernel of their own,
and composites. Each is a record that calls another one or a Python body. The file
lists them by op name. Called by the freezer; read by ``runtime/ops/late_ops.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pellucid_compiler.abi.codes import LATE_BODY, VARIANT
from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.records import BindingRow, LateOpRow, LateRow
from pellucid_compiler.composites import Composite
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.declare.seen import declares_gradient
from pellucid_compiler.declare.variants import (
    copy_schema,
    implied_inplace,
    implied_out,
    inplace_schema,
    out_schema,
    renamed,
)

FUNCTIONAL, IN_PLACE, OUT = VARIANT.names
# An alias or a form whose name begins so is a function of this module.
_NAMESPACES = ("linalg", "special", "fft")
# What makes the bodies of gradient ops: by the derivative that an op has, or by what
# autograd records of it.
_DERIVED = "pellucid._C._runtime.gradients:derived"
_RECORDED = "pellucid._C._runtime.gradients:recorded"


# How a late record runs: LATE_BODY says what each means.
REDIRECT, COMPOSITE, OUT_OF, IN_PLACE_OF, COPY_OF = LATE_BODY.names


class LateRecord(NamedTuple):
    """One overload; ``named`` is the other record, or the body's place."""

    schema: Schema
    body: str
    named: str
    autocast: str
    module: str
    is_method: bool
    is_function: bool
    is_seen: bool
    is_variadic: bool

    @property
    def variant(self) -> str:
        return variant_of(self.schema)

    def encodable(self) -> Encodable:
        row = LateRow(
            schema=self.schema.text,
            variant=self.variant,
            body=self.body,
            named=self.named,
            autocast=self.autocast,
            module=self.module,
            is_method=self.is_method,
            is_function=self.is_function,
            is_seen=self.is_seen,
            is_variadic=self.is_variadic,
        )
        return encode_record(row)


class Binding(NamedTuple):
    """Where Python finds a name; ``original`` is what an alias names."""

    module: str
    original: str
    is_method: bool
    is_function: bool


class LateOp:
    """The late records of one op name, and where its name is bound."""

    def __init__(self) -> None:
        self.records: list[LateRecord] = []
        self.bindings: list[Binding] = []


def variant_of(schema: Schema) -> str:
    """Functional, in-place or ``out=``, by what the schema writes."""
    written = [a for a in schema.arguments if a.mutated]
    if not written:
        return FUNCTIONAL
    return OUT if all(a.keyword_only for a in written) else IN_PLACE


def late_ops(registry: dict[str, Op], composites: list[Composite]) -> dict[str, LateOp]:
    """Everything that is late, by op name."""
    table: dict[str, LateOp] = {}
    for op in registry.values():
        _add_declared(table, op)
    for composite in composites:
        _add_composite(table, composite)
    return table


def _add_declared(table: dict[str, LateOp], op: Op) -> None:
    """The forms and aliases of an op that has plans."""
    own = [op.schema, inplace_schema(op), out_schema(op)]
    schemas = [schema for schema in own if schema is not None]
    options = op.options
    module = options.namespace
    forms = [parse_schema(text) for text in options.forms]
    for form in forms:
        record = _form(form, schemas)._replace(autocast=options.autocast)
        home = _namespace(form.name)
        record = record._replace(is_function=bool(home), is_seen=not home)
        _enter(table, record._replace(module=home or module))
        if home:
            _bind(table, form.name, home, False, True)
    if declares_gradient(options.backward):
        _add_gradient(
            table, op.schema, options.backward, options.backward_out, _DERIVED
        )
    _add_copies(table, op)
    method, function = options.method, options.function and not options.inplace_only
    for alias in options.aliases:
        _add_alias(table, alias, [*schemas, *forms], module, method, function)


def _add_gradient(
    table: dict[str, LateOp], of: Schema, text: str, out: str, body: str
) -> None:
    """The op that gives the gradient of another one, and its ``out=`` form."""
    schema = parse_schema(text)
    named = f"{body} {of.full_name} {schema.name}"
    _enter(table, _record(schema, COMPOSITE, named, is_seen=True))
    if out:
        form = implied_out(schema, out)
        _enter(table, _record(form, OUT_OF, schema.full_name))


def _add_copies(table: dict[str, LateOp], op: Op) -> None:
    """``name_copy`` of a view; its ``out`` form copies what the view shows."""
    schema = copy_schema(op)
    if schema is None:
        return
    shown = op.schema.full_name
    out = f"{schema.overload}_out" if schema.overload else "out"
    options: dict[str, Any] = {"is_function": True, "is_seen": True}
    copied = _record(schema, COPY_OF, shown, **options)
    _enter(table, copied._replace(is_method=op.options.copy_method))
    written = implied_out(schema, out)
    _enter(table, _record(written, OUT_OF, shown, **options))
    _bind(table, schema.name, "", op.options.copy_method, True)


def _form(form: Schema, schemas: list[Schema]) -> LateRecord:
    """``form`` by one of the op's own records: that of its variant, else the first."""
    variant = variant_of(form)
    bodies = {OUT: OUT_OF, IN_PLACE: IN_PLACE_OF}
    for schema in schemas:
        if variant_of(schema) == variant:
            return _record(form, REDIRECT, schema.full_name)
    return _record(form, bodies[variant], schemas[0].full_name)


def _record(schema: Schema, body: str, named: str, **options: Any) -> LateRecord:
    given: dict[str, Any] = {
        "autocast": "",
        "module": "",
        "is_method": False,
        "is_function": False,
        "is_seen": False,
        "is_variadic": False,
    }
    return LateRecord(schema, body, named, **(given | options))


def _enter(table: dict[str, LateOp], record: LateRecord) -> None:
    table.setdefault(record.schema.name, LateOp()).records.append(record)


def _add_composite(table: dict[str, LateOp], composite: Composite) -> None:
    options = dict(composite.options)
    schema = parse_schema(composite.schema)
    module = options.pop("namespace", "")
    is_function = options.pop("function", True)
    is_method = options.pop("method", not module)
    common: dict[str, Any] = {
        "autocast": options.pop("autocast", ""),
        "module": module,
        "is_seen": options.pop("seen", False),
        "is_function": is_function,
        "is_variadic": options.pop("variadic", False),
    }
    out, inplace = options.pop("out", False), options.pop("inplace", False)
    forms = [parse_schema(text) for text in options.pop("forms", ())]
    aliases = options.pop("aliases", ())
    backward = options.pop("backward", "")
    backward_out = options.pop("backward_out", "grad_input")
    if options:
        raise TypeError(f"{schema.full_name}: no options {', '.join(options)}")
    records = [
        _record(schema, COMPOSITE, composite.place, **common)._replace(
            is_method=is_method
        )
    ]
    if inplace:
        form = implied_inplace(schema, inplace)
        record = _record(form, IN_PLACE_OF, schema.full_name, **common)
        records.append(record._replace(is_method=is_method))
    if out:
        form = implied_out(schema, out)
        records.append(_record(form, OUT_OF, schema.full_name, **common))
    known = [record.schema for record in records]
    for form in forms:
        shown = is_method and variant_of(form) != OUT
        records.append(_form(form, known)._replace(**common, is_method=shown))
        _bind(table, form.name, module, is_method, is_function)
    for record in records:
        _enter(table, record)
    if backward:
        _add_gradient(table, schema, backward, backward_out, _RECORDED)
    _bind(table, schema.name, module, is_method, is_function)
    if inplace:
        _bind(table, f"{schema.name}_", module, is_method, is_function)
    for alias in aliases:
        schemas = [record.schema for record in records]
        _add_alias(table, alias, schemas, module, is_method, is_function)


def _bind(
    table: dict[str, LateOp], name: str, module: str, method: bool, function: bool
) -> None:
    bindings = table.setdefault(name, LateOp()).bindings
    binding = Binding(module, "", method, function)
    if (method or function) and binding not in bindings:
        bindings.append(binding)


def _namespace(name: str) -> str:
    """The module that a name says to be a function of: "special" for special_erf."""
    found, _, _ = name.partition("_")
    return found if found in _NAMESPACES else ""


def _add_alias(
    table: dict[str, LateOp],
    alias: str,
    schemas: list[Schema],
    module: str,
    is_method: bool,
    is_function: bool,
) -> None:
    """``alias`` with all forms of the op; their suffixes are the op's."""
    home = _namespace(alias)
    if home:
        is_method, is_function = False, True
        schemas = [s for s in schemas if variant_of(s) != IN_PLACE]
    stem = schemas[0].name.rstrip("_")
    for schema in schemas:
        name = alias + schema.name.removeprefix(stem)
        second = renamed(schema, name)
        record = _record(
            second,
            REDIRECT,
            schema.full_name,
            module=home or module,
            is_method=is_method,
            is_function=is_function,
        )
        _enter(table, record)
        bindings = table[name].bindings
        binding = Binding(home, f"{module}.{schema.name}", is_method, is_function)
        if (is_method or is_function) and binding not in bindings:
            bindings.append(binding)


def encode_late_ops(table: dict[str, LateOp]) -> bytes:
    """Every late op, by name."""
    return encode([encode_record(row) for row in _rows(table)])


def _rows(table: dict[str, LateOp]) -> Iterator[LateOpRow]:
    for name, op in sorted(table.items()):
        seen: set[str] = set()
        for record in op.records:
            if record.schema.overload in seen:
                raise ValueError(f"the op {record.schema.full_name} is declared twice")
            seen.add(record.schema.overload)
        bindings = tuple(BindingRow(*binding) for binding in op.bindings)
        yield LateOpRow(name, bindings, encode([r.encodable() for r in op.records]))
