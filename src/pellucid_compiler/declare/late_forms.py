"""The overloads that the runtime defines when they are first looked up.

An op has more overloads than plans: aliases (``arccos``), additional schemas of one
declaration (``mul.Scalar``), in-place and ``out=`` forms without a kernel of their own,
and composites. Each is a record that calls another one or a Python body. The file lists
them by op name. Called by the freezer; read by ``runtime/ops/late_ops.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pellucid_compiler.abi.codes import LATE_BODY, VARIANT
from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.records import BindingRow, LateOpRow, LateRow
from pellucid_compiler.composites import Composite
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.declare.seen import declares_gradient
from pellucid_compiler.declare.tags import Known
from pellucid_compiler.declare.variants import (
    casts_out,
    copy_schema,
    implied_inplace,
    implied_out,
    inplace_is_function,
    inplace_is_method,
    inplace_schema,
    out_schema,
    renamed,
)

FUNCTIONAL, IN_PLACE, OUT = VARIANT.names
# An alias or a form whose name has such a prefix is a function of this module.
_NAMESPACES = ("linalg", "special", "fft")
# What makes the bodies of gradient ops: from the derivative of an op, or from what
# autograd records of it.
_DERIVED = "pellucid._C._runtime.gradients:derived"
_RECORDED = "pellucid._C._runtime.gradients:recorded"


# How a late record runs: LATE_BODY defines each.
REDIRECT, COMPOSITE, OUT_OF, IN_PLACE_OF, COPY_OF = LATE_BODY.names


class LateRecord(NamedTuple):
    """One overload; ``named`` is the other record, or the location of the body."""

    schema: Schema
    body: str
    named: str
    autocast: str
    module: str
    is_method: bool
    is_function: bool
    is_seen: bool
    is_variadic: bool
    gives_view: bool
    takes_parts: bool
    casts_out: bool
    tags: str

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
            gives_view=self.gives_view,
            takes_parts=self.takes_parts,
            casts_out=self.casts_out or self.variant == IN_PLACE,
            tags=self.tags,
        )
        return encode_record(row)


class Places(NamedTuple):
    """Where a form is public: the module of its function, and in which role."""

    module: str
    is_method: bool
    is_function: bool


class Binding(NamedTuple):
    """Where Python exposes a name; ``original``: the aliased op, or the function itself
    if it is also in a second module.
    """

    module: str
    original: str
    is_method: bool
    is_function: bool


class LateOp:
    """The late records of one op name, and where the name is bound."""

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
    by_hand = {parse_schema(composite.schema).full_name for composite in composites}
    for op in registry.values():
        _add_declared(table, op)
        _add_copies(table, op, by_hand)
    for composite in composites:
        _add_composite(table, composite)
    return table


def _add_declared(table: dict[str, LateOp], op: Op) -> None:
    """The forms and aliases of an op that has plans."""
    own = [op.schema, inplace_schema(op), out_schema(op)]
    schemas = [schema for schema in own if schema is not None]
    options = op.options
    module = options.namespace
    known = Known(op.schema, op.kind, options.tags, options.core)
    forms = [parse_schema(text) for text in options.forms]
    for form in forms:
        record = _form(form, schemas)._replace(
            autocast=options.autocast, casts_out=casts_out(op.schema, options.casts_out)
        )
        home = _namespace(form.name)
        record = record._replace(is_function=bool(home), is_seen=not home)
        record = record._replace(module=home or module, tags=known.tags_of(form))
        if _num_positional(form) > _num_positional(op.schema):
            places = _places(op, form, form.name)
            record = _at(record, places)
            _bind(table, form.name, places)
        _enter(table, record)
        if home:
            _bind(table, form.name, Places(home, False, True))
    if declares_gradient(options.backward):
        texts = options.backward, options.backward_out
        _add_gradient(table, known, texts, _DERIVED, options.backward_casts)
    for alias in options.aliases:
        for schema in (*schemas, *forms):
            name = alias + schema.name.removeprefix(op.name.rstrip("_"))
            _add_alias(table, name, schema, known, _places(op, schema, name))
    _add_second_places(table, module, options.also)


def _num_positional(schema: Schema) -> int:
    return sum(not argument.keyword_only for argument in schema.arguments)


def _places(op: Op, schema: Schema, name: str) -> Places:
    """Where a form of an op is public under ``name``."""
    options = op.options
    if variant_of(schema) == IN_PLACE:
        is_function = inplace_is_function(op, name)
        return Places(options.namespace, inplace_is_method(op), is_function)
    is_function = options.function and not options.inplace_only
    return Places(options.namespace, options.method, is_function)


def _add_gradient(
    table: dict[str, LateOp],
    known: Known,
    texts: tuple[str, str],
    body: str,
    casts: bool | None = None,
) -> None:
    """The op that gives the gradient of another one, and its ``out=`` form, which
    converts results as ``casts`` says, by default if the op is elementwise.
    """
    text, out = texts
    schema = parse_schema(text)
    named = f"{body} {known.declared.full_name} {schema.op_name}"
    if casts is None:
        casts = known.kind == "pointwise" or "pointwise" in known.tags.split()
    known = known.of_gradient()
    options = {"is_seen": True, "tags": known.tags_of(schema)}
    _enter(table, _record(schema, COMPOSITE, named, **options))
    if out:
        form = implied_out(schema, out)
        tags = known.tags_of(form)
        record = _record(form, OUT_OF, schema.full_name, tags=tags, casts_out=casts)
        _enter(table, record)


def _add_copies(table: dict[str, LateOp], op: Op, by_hand: set[str]) -> None:
    """``name_copy`` of a view unless it is a composite; its ``out`` form copies the
    view.
    """
    schema = copy_schema(op)
    if schema is None or schema.full_name in by_hand:
        return
    shown = op.schema.full_name
    out = f"{schema.overload}_out" if schema.overload else "out"
    options: dict[str, Any] = {"is_function": True, "is_seen": True}
    options["tags"] = "view_copy"
    copied = _record(schema, COPY_OF, shown, **options)
    _enter(table, copied._replace(is_method=op.options.copy_method))
    written = implied_out(schema, out)
    _enter(table, _record(written, OUT_OF, shown, **options))
    _bind(table, schema.name, Places("", op.options.copy_method, True))


def _form(form: Schema, schemas: list[Schema]) -> LateRecord:
    """``form`` as a call of one of the op's records: its variant's, else the first."""
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
        "gives_view": False,
        "takes_parts": False,
        "casts_out": False,
        "tags": "",
    }
    return LateRecord(schema, body, named, **(given | options))


def _enter(table: dict[str, LateOp], record: LateRecord) -> None:
    table.setdefault(record.schema.op_name, LateOp()).records.append(record)


def _add_composite(table: dict[str, LateOp], composite: Composite) -> None:
    options = dict(composite.options)
    schema = parse_schema(composite.schema)
    module = options.pop("namespace", "")
    is_function = options.pop("function", True)
    places = Places(module, options.pop("method", not module), is_function)
    in_place = places._replace(is_function=options.pop("inplace_function", False))
    common: dict[str, Any] = {
        "autocast": options.pop("autocast", ""),
        "is_seen": options.pop("seen", False),
        "is_variadic": options.pop("variadic", False),
        "gives_view": options.pop("gives_view", False),
        "takes_parts": options.pop("takes_parts", False),
        "casts_out": casts_out(schema, options.pop("casts_out", None)),
    }
    out, inplace = options.pop("out", False), options.pop("inplace", False)
    forms = [parse_schema(text) for text in options.pop("forms", ())]
    aliases = options.pop("aliases", ())
    also = options.pop("also", ())
    backward = options.pop("backward", "")
    backward_out = options.pop("backward_out", "grad_input")
    known = Known(schema, "", options.pop("tags", ""), options.pop("core", False))
    options.pop("core_as", None)  # only for programs that are lowered to Core ATen
    if options:
        raise TypeError(f"{schema.full_name}: no options {', '.join(options)}")
    records = [_record(schema, COMPOSITE, composite.place)]
    if inplace:
        form = implied_inplace(schema, inplace)
        records.append(_record(form, IN_PLACE_OF, schema.full_name))
    if out:
        form = implied_out(schema, out)
        records.append(_record(form, OUT_OF, schema.full_name))
    schemas = [record.schema for record in records]
    records += [_form(form, schemas) for form in forms]
    for record in records:
        is_derived = record.schema is not schema and record.variant == IN_PLACE
        public = in_place if is_derived else places
        row = _at(record, public)._replace(**common, tags=known.tags_of(record.schema))
        _enter(table, row)
        _bind(table, record.schema.name, public)
        for alias in aliases:
            name = alias + record.schema.name.removeprefix(schema.name.rstrip("_"))
            _add_alias(table, name, record.schema, known, public)
    if backward:
        _add_gradient(table, known, (backward, backward_out), _RECORDED)
    _add_second_places(table, module, also)


def _at(record: LateRecord, places: Places) -> LateRecord:
    """The record where it is public; an ``out=`` form is not a method."""
    is_method = places.is_method and record.variant != OUT
    return record._replace(**places._replace(is_method=is_method)._asdict())


def _bind(table: dict[str, LateOp], name: str, places: Places) -> None:
    _add_binding(table, name, Binding(places.module, "", *places[1:]))


def _add_binding(table: dict[str, LateOp], name: str, binding: Binding) -> None:
    bindings = table.setdefault(name, LateOp()).bindings
    if (binding.is_method or binding.is_function) and binding not in bindings:
        bindings.append(binding)


def _add_second_places(
    table: dict[str, LateOp], module: str, second: Iterable[str]
) -> None:
    """Functions of ``module`` in other modules: ``nn.functional.relu_``."""
    for place in second:
        other, _, name = place.rpartition(".")
        _add_binding(table, name, Binding(other, f"{module}.{name}", False, True))


def _namespace(name: str) -> str:
    """The module in a function name's prefix: "special" for special_erf."""
    found, _, _ = name.partition("_")
    return found if found in _NAMESPACES else ""


def _add_alias(
    table: dict[str, LateOp], name: str, schema: Schema, known: Known, places: Places
) -> None:
    """A form of an op under a second name."""
    home = _namespace(name)
    if home:
        if variant_of(schema) == IN_PLACE:
            return
        places = Places(places.module, False, True)
    second = renamed(schema, name)
    options = {"tags": known.tags_of(second)}
    record = _record(second, REDIRECT, schema.full_name, **options)
    record = record._replace(**places._asdict())
    _enter(table, record._replace(module=home or places.module))
    original = f"{places.module}.{schema.name}"
    _add_binding(table, name, Binding(home, original, *places[1:]))


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
