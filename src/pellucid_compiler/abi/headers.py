"""The C++ side: headers written from the tables of this folder, and the readers of
records.

``tools/build.py`` writes them before it compiles. They are checked in, so that editors
and reviewers see them, and a test checks that they are current. The header of the
opcodes is written by ``ir/register_code.py``. Read next: ``pages.py``, which writes the
page of the formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from pellucid_compiler.abi import (
    codes,
    dtypes,
    grid,
    groups,
    items,
    limits,
    named_ops,
    operators,
    pack_file,
    parts,
    plan,
    records,
    requests,
    schema_types,
)
from pellucid_compiler.abi.fields import Alternatives, fields_of

_TOP: Final = """\
// {summary}
//
// Generated from src/pellucid_compiler/{source} by tools/build.py: change it there.
// clang-format off
{once}
{includes}
namespace pellucid {{
{body}
}}  // namespace pellucid
"""


def headers() -> dict[str, str]:
    """All files of this folder's tables: path in ``runtime`` -> text."""
    return {
        "abi/dtypes.h": _dtypes(),
        "abi/codes.h": _codes(),
        "abi/limits.h": _limits(),
        "abi/parts.h": _parts(),
        "abi/named_ops.h": _named_ops(),
        "abi/operators.h": _operators(),
        "abi/schema_types.h": _schema_types(),
        "kernels/pack_file.h": _pack_file(),
        "plan/records.cpp": _readers(),
        "plan/records.h": _records(),
        "plan/items.h": _items(),
        "plan/requests.h": _requests(),
        "record/group_records.h": _group_records(),
        "device/grid_machine.h": _grid_machine([]),
        EXTENSION_MACHINE: _grid_machine(_access_codes()),
    }


def header(summary: str, source: str, includes: str, body: Iterable[str]) -> str:
    """The text of a header; ``source``: its source file in the engine."""
    return _file(summary, source, "#pragma once\n", includes, body)


def _file(
    summary: str, source: str, once: str, includes: str, body: Iterable[str]
) -> str:
    lines = "".join(f"#include {name}\n" for name in includes.split())
    return _TOP.format(
        summary=summary, source=source, once=once, includes=lines, body="\n".join(body)
    )


def _comment(text: str) -> str:
    return f"  // {text}" if text else ""


# ------------------------------------------------------------------------------ codes


def _codes() -> str:
    body = ["template <class E>", "constexpr int kNumCodes = 0;  // members of E"]
    for enumeration in codes.ALL:
        body += ["", *_enumeration(enumeration)]
    summary = (
        "The enumerations that Python and C++ share; a member's index is its code."
    )
    return header(summary, "abi/codes.py", "<cstdint> <string_view>", body)


def _enumeration(enumeration: codes.Codes) -> Iterator[str]:
    name, count = enumeration.name, len(enumeration.names)
    yield f"// {enumeration.meaning}"
    yield f"enum class {name} : uint8_t {{"
    for symbol, meaning in zip(enumeration.symbols, enumeration.meanings, strict=True):
        yield f"  {symbol},{_comment(meaning)}"
    yield "};"
    yield f"template <>\ninline constexpr int kNumCodes<{name}> = {count};"
    texts = ", ".join(f'"{text}"' for text in enumeration.names)
    yield f"inline constexpr std::string_view k{name}Names[] = {{{texts}}};"


# ----------------------------------------------------------------------------- dtypes


def _dtypes() -> str:
    rows, count = dtypes.DTYPES, len(dtypes.DTYPES)
    symbols = [row.symbol for row in rows if not row.opaque]
    body = [
        "// Opaque dtypes have the codes after these, and no names: nothing needs one.",
        f"enum class DType : uint8_t {{ {', '.join(symbols)} }};",
        f"constexpr int kNumDTypes = {count}, kNumValued = {len(symbols)};",
        "template <>",
        "inline constexpr int kNumCodes<DType> = kNumDTypes;",
        f"enum class DTypeCategory : uint8_t {{ {', '.join(dtypes.CATEGORIES)} }};",
        "",
        "// The types of elements in memory; core/element.h defines them.",
        "struct Boolean;",
        "struct Half;",
        "struct BFloat;",
        f"enum class Float8Form : uint8_t {{ {', '.join(dtypes.FORMS)} }};",
        "template <int mantissa, int bias, Float8Form form>",
        "struct Float8;",
        "template <class>",
        "struct ComplexOf;",
        "template <DType>",
        "struct ElementOf;",
        *(_element(row) for row in rows if not row.opaque),
        "",
        "// `highest`: of integers; `largest`: of floats and of the parts of complex",
        "// numbers; `mantissa`: its bits. `real`: the dtype of the parts;",
        "// `complex`: the smallest complex dtype for its values; `pair`: the one",
        "// of its precision, if there is one; `dlpack`: DLPack's type code.",
        "struct DTypeFacts {",
        "  const char *torch_name, *word, *formats[2];",
        "  uint8_t dlpack, mantissa;",
        "  bool is_signed, has_pair;",
        "  DType real, complex, pair;",
        "  int64_t highest;",
        "  double largest;",
        "};",
        "inline constexpr DTypeFacts kDTypeFacts[kNumDTypes] = {",
        *(_facts(row) for row in rows),
        "};",
        _bytes("uint8_t kItemSizes", (str(row.size) for row in rows)),
        _bytes("DTypeCategory kCategories", map(_category, rows)),
        "",
        "// A bit per dtype: set for categories floating and complex.",
        f"constexpr uint64_t kDifferentiableDTypes = {_differentiable()};",
        "",
        "// The code of the common dtype of two tensors with dims, two without,",
        "// or two numbers; kNoDType: there is none.",
        f"constexpr uint8_t kNoDType = {dtypes.REFUSED};",
        *_table("kPromoted", dtypes.promote),
        "// The same if the second operand counts only by its category.",
        *_table("kRaised", dtypes.raise_category),
        "// Of two dtypes without a common one, the higher rank says what is refused.",
        _bytes("uint8_t kRefusalRanks", map(str, map(dtypes.refusal_rank, rows))),
        _strings("kRefusals", dtypes.REFUSALS),
        f'inline constexpr char kRefusedPromotion[] = "{dtypes.REFUSED_PROMOTION}";',
        "// PyTorch's numbers of the dtypes, which schemas use.",
        _bytes("uint8_t kScalarTypes", (str(dtypes.NUMBERS[r.name]) for r in rows)),
    ]
    summary = "The dtypes: names, sizes, categories, formats, PyTorch's promotion."
    included = '<cmath> <cstdint> "abi/codes.h"'
    return header(summary, "abi/dtypes.py", included, body)


def _element(row: dtypes.DType) -> str:
    return (
        f"template <>\nstruct ElementOf<DType::{row.symbol}> "
        f"{{\n  using Type = {row.element};\n}};"
    )


def _facts(row: dtypes.DType) -> str:
    real = dtypes.BY_NAME[row.parts] if row.parts else row
    formats = [f'"{text}"' for text in row.formats]
    formats += ["nullptr"] * (2 - len(formats))
    is_float = real.category == dtypes.FLOATING and not real.opaque
    holding = real if is_float else dtypes.BY_NAME["float32"]
    computed = dtypes.BY_NAME[dtypes.complex_of(holding.name)].symbol
    pair = dtypes.BY_NAME[row.pair].symbol if row.pair else computed
    if row.category == dtypes.COMPLEX:
        pair = row.symbol
    has_pair = bool(row.pair) or row.category == dtypes.COMPLEX
    highest = row.range[1] if row.category <= dtypes.INTEGRAL else 0
    highest = 1 if row.category == dtypes.BOOL else min(highest, (1 << 63) - 1)
    largest = real.largest if is_float else math.inf
    fields = [
        f'"torch.{row.name}"',
        f'"{row.word}"',
        f"{{{', '.join(formats)}}}",
        *map(str, (row.dlpack, real.mantissa)),
        *(str(flag).lower() for flag in (row.signed, has_pair)),
        f"DType{{{dtypes.CODES[real.name]}}}",
        *(f"DType::{symbol}" for symbol in (computed, pair)),
        f"INT64_C({highest})",
        "HUGE_VAL" if math.isinf(largest) else largest.hex(),
    ]
    return f"    {{{', '.join(fields)}}},"


def _category(row: dtypes.DType) -> str:
    return f"DTypeCategory::{dtypes.CATEGORIES[row.category]}"


def _bytes(declared: str, values: Iterable[str]) -> str:
    return f"inline constexpr {declared}[kNumDTypes] = {{{', '.join(values)}}};"


def _strings(name: str, texts: Iterable[str]) -> str:
    quoted = ", ".join(f'"{text}"' for text in texts)
    return f"inline constexpr const char* {name}[] = {{{quoted}}};"


def _differentiable() -> str:
    rows = enumerate(dtypes.DTYPES)
    carry = (dtypes.FLOATING, dtypes.COMPLEX)
    return hex(sum(1 << k for k, row in rows if row.category in carry))


def _table(name: str, joined: Callable[[str, str], str | None]) -> Iterator[str]:
    yield f"inline constexpr uint8_t {name}[kNumDTypes][kNumDTypes] = {{"
    for first in dtypes.DTYPES:
        found = (joined(first.name, second.name) for second in dtypes.DTYPES)
        codes = (dtypes.CODES[name] if name else dtypes.REFUSED for name in found)
        cells = ", ".join(f"{code:3}" for code in codes)
        yield f"    {{{cells}}},  // {first.name}"
    yield "};"


# ------------------------------------------------------------------------ limits, parts


def _limits() -> str:
    source = Path(limits.__file__).read_text().splitlines()
    reasons = {
        line.split(":")[0]: line.partition("# ")[2]
        for line in source
        if ": Final = " in line
    }
    body = []
    for name in limits.NAMES:
        value, reason = getattr(limits, name), reasons[name]
        symbol = "k" + "".join(word.capitalize() for word in name.split("_"))
        type_, shown = "int", str(value)
        if isinstance(value, bytes):
            type_, shown = "std::string_view", f'"{value.decode()}"'
        body.append(f"constexpr {type_} {symbol} = {shown};{_comment(reason)}")
    summary = "Limits and layouts that the compiler and the runtime agree on."
    return header(summary, "abi/limits.py", "<string_view>", body)


def _parts() -> str:
    pairs = zip(parts.PART.symbols, parts.PART.meanings, strict=True)
    members = (
        f"  k{symbol},{f'  // {text}' if text else ''}" for symbol, text in pairs
    )
    fields = ", ".join(parts.DESCRIBED)
    body = [
        "// A mode of the kernel; its arguments are listed at its definition.",
        "enum Part : uint64_t {",
        *members,
        "};",
        "",
        "// What kDescribe writes.",
        f"struct Described {{\n  int64_t {fields};\n}};",
        "",
        "// Winograd's algorithm, in each of two dims.",
        f"constexpr int64_t kWindowTaps = {parts.WINDOW_TAPS};  // of a window",
        f"constexpr int64_t kTileStep = {parts.TILE_STEP};  // elements of C in a tile",
        f"constexpr int64_t kTileExtent = {parts.TILE_EXTENT};  // of the image",
    ]
    summary = "The parts of a matrix product's kernel."
    return header(summary, "abi/parts.py", "<cstdint>", body)


def _named_ops() -> str:
    rows = named_ops.NAMED_OPS
    body = [
        "enum class NamedOp : uint8_t {",
        *(f"  {row.symbol}," for row in rows),
        "};",
        f"constexpr int kNumNamedOps = {len(rows)};",
        "",
        "struct NamedOpRow {",
        "  const char *name, *why;  // what needs it, for the error",
        "};",
        "inline constexpr NamedOpRow kNamedOps[] = {",
        *(f'    {{"{row.name}", "{row.why}"}},' for row in rows),
        "};",
    ]
    summary = "The ops that C++ calls by name."
    return header(summary, "abi/named_ops.py", "<cstdint>", body)


def _operators() -> str:
    body = [
        "// Null: none. abi/operators.py explains the fields.",
        "struct OperatorRow {",
        "  const char *op, *reflected;",
        "  bool commutes;",
        "  const char *slot, *reflected_slot, *captured;",
        "};",
    ]
    for name, rows in (("Binary", operators.BINARY), ("Unary", operators.UNARY)):
        body += [
            f"enum {name} {{ {', '.join(row.symbol for row in rows)}, Num{name} }};",
            f"inline constexpr OperatorRow k{name}Operators[] = {{",
            *(_operator(row) for row in rows),
            "};",
        ]
    summary = "The ops of Python's operators on tensors."
    return header(summary, "abi/operators.py", "", body)


def _operator(row: operators.Operator) -> str:
    def text(value: str) -> str:
        return f'"{value}"' if value else "nullptr"

    words = (row.slot, row.reflected_slot, row.captured)
    fields = (
        text(row.op),
        text(row.reflected),
        str(row.commutes).lower(),
        *map(text, words),
    )
    return f"    {{{', '.join(fields)}}},"


def _schema_types() -> str:
    rows = schema_types.ARGUMENT_TYPES
    by_text = {row.text: row.symbol for row in rows}
    objects = ", ".join(f'"{word}"' for word in schema_types.OBJECT_WORDS)
    body = [
        f"enum class ArgType : uint8_t {{ {', '.join(r.symbol for r in rows)} }};",
        "",
        "// `list`: of a list of such values; `list_of_optional`: some may be None.",
        "struct ArgTypeFacts {",
        "  std::string_view text;",
        "  bool is_static, holds_tensors, is_ignored;",
        "  ArgType list, list_of_optional;",
        "};",
        "inline constexpr ArgTypeFacts kArgTypes[] = {",
        *(_argument_type(row, by_text) for row in rows),
        "};",
        f"inline constexpr std::string_view kObjectWords[] = {{{objects}}};",
        "",
        "// Names that schemas use as defaults, with PyTorch's numbers.",
        "struct NamedDefault {",
        "  std::string_view text;",
        "  int64_t integer;",
        "};",
        "inline constexpr NamedDefault kNamedDefaults[] = {",
        *(f'    {{"{k}", {v}}},' for k, v in schema_types.NAMED_DEFAULTS.items()),
        "};",
    ]
    summary = "The types of arguments in schemas, and the names of default values."
    included = "<cstdint> <string_view>"
    return header(summary, "abi/schema_types.py", included, body)


def _argument_type(row: schema_types.ArgumentType, by_text: dict[str, str]) -> str:
    facts = (row.is_static, row.holds_tensors, row.is_ignored)
    flags = (str(flag).lower() for flag in facts)
    lists = (
        f"ArgType::{by_text.get(row.text + suffix, 'Object')}"
        for suffix in ("[]", "?[]")
    )
    fields = ", ".join((f'"{row.text}"', *flags, *lists))
    return f"    {{{fields}}},"


def _pack_file() -> str:
    body: list[str] = []
    groups = (("PackHeader", pack_file.HEADER), ("PackEntry", pack_file.ENTRY))
    for name, members in groups:
        body += [f"struct {name} {{"]
        body += [
            f"  {m.cpp};{f'  // {m.meaning}' if m.meaning else ''}" for m in members
        ]
        size = pack_file.layout(members).size
        body += ["};", f"static_assert(sizeof({name}) == {size});"]
    summary = "The layout of a kernel pack: the header and the entries of its index."
    included = '<cstdint> "kernels/kernel_ref.h"'
    return header(summary, "abi/pack_file.py", included, body)


# ---------------------------------------------------------------------------- records


_RECORDS: Final = (*plan.RECORDS, *records.RECORDS)
_SOURCES: Final = "abi/plan.py and abi/records.py"


def _records() -> str:
    body = ["namespace encoded {"]
    for record in _RECORDS:
        if isinstance(record, Alternatives):
            body += _alternatives(record)
        else:
            body += ["", *_struct(record)]
    body.append("}  // namespace encoded")
    summary = "The encoded records of plans and of frozen.bin."
    included = '<optional> <utility> <variant> <vector> "abi/opcodes.h" "plan/decode.h"'
    return header(summary, _SOURCES, included, body)


def _readers() -> str:
    """Apart from the records: compiling them takes longer than most of what reads."""
    body = ["namespace encoded {"]
    for record in _RECORDS:
        if isinstance(record, Alternatives):
            for alternative in _distinct(record):
                body += ["", *_reader(alternative)]
            body += ["", *_reader_of_alternatives(record)]
        else:
            body += ["", *_reader(record)]
    body.append("}  // namespace encoded")
    return _file(
        "The readers of encoded records.", _SOURCES, "", '"plan/records.h"', body
    )


def _struct(record: type, members: Iterable[str] = ()) -> Iterator[str]:
    name, fields = record.__name__, fields_of(record)
    yield f"struct {name} {{"
    yield f"  static constexpr size_t kFields = {len(fields)};"
    for item in fields:
        yield f"  {item.field.cpp} {item.name};"
    yield f"  static {name} read(Decoder& in);"
    yield from members
    yield "};"


def _reader(record: type) -> Iterator[str]:
    name, fields = record.__name__, fields_of(record)
    yield f"{name} {name}::read(Decoder&{' in' if fields else ''}) {{"
    yield "  return {"
    for item in fields:
        yield f"      .{item.name} = {item.field.read},"
    yield "  };"
    yield "}"


def _distinct(group: Alternatives) -> list[type]:
    return list(dict.fromkeys(group.records.values()))


def _alternatives(group: Alternatives) -> Iterator[str]:
    """The records of the group, which may contain lists of it."""
    found = _distinct(group)
    yield f"\nstruct {group.name};"
    for record in found:
        yield from ("", *_struct(record))
    yield f"\nstruct {group.name} {{"
    yield f"  {group.codes.name} kind;"
    yield f"  std::variant<{', '.join(r.__name__ for r in found)}> fields;"
    yield f"  static {group.name} read(Decoder& in);"
    yield "};"


def _reader_of_alternatives(group: Alternatives) -> Iterator[str]:
    kinds = group.codes
    yield f"{group.name} {group.name}::read(Decoder& in) {{"
    yield "  const size_t count = in.list();"
    yield f"  const auto kind = in.code<{kinds.name}>();"
    yield "  switch (kind) {"
    for name, symbol in zip(kinds.names, kinds.symbols, strict=True):
        record_name = group.records[name].__name__
        yield (
            f"    case {kinds.name}::{symbol}: "
            f"return {{kind, in.fields<{record_name}>(count - 1)}};"
        )
    yield "  }"
    yield "  in.refuse_code();"
    yield "}"


def _group_records() -> str:
    body = ["namespace encoded {"]
    for record in groups.WRITTEN:
        body += ["", *_written_struct(record)]
    for read in groups.READ:
        first, *rest = _reader(read)
        body += ["", *_struct(read), f"inline {first}", *rest]
    body.append("}  // namespace encoded")
    summary = "Groups of recorded ops: their descriptions, and the answers."
    included = '<optional> <vector> "plan/decode.h"'
    return header(summary, "abi/groups.py", included, body)


def _written_struct(record: type) -> Iterator[str]:
    fields = fields_of(record)
    yield f"struct {record.__name__} {{"
    for item in fields:
        yield f"  {item.field.cpp} {item.name};"
    yield "  void write(Encoder& out) const {"
    yield f"    out.list({len(fields)});"
    for item in fields:
        yield f"    {item.field.write(item.name)}"
    yield "  }"
    yield "};"


# ------------------------------------------------------------------------------- grid


EXTENSION_MACHINE = "../src/pellucid/include/pellucid/cuda/grid_machine.h"
"""For CUDA C++ of users, which does not include the runtime's headers."""


def _access_codes() -> list[str]:
    kinds = codes.GRID_ACCESS
    pairs = zip(kinds.symbols, range(len(kinds.symbols)), strict=True)
    return [f"constexpr int64_t k{symbol} = {code};" for symbol, code in pairs]


def _grid_machine(constants: list[str]) -> str:
    body = [
        *constants,
        f"constexpr int64_t kWarp = {grid.WARP};  // threads that exchange words",
        "// What an emulated kernel receives besides its arguments.",
        "struct GridMachine {",
        *(f"  {m.cpp};{_comment(m.meaning)}" for m in grid.MACHINE),
        "};",
        *(
            f"static_assert(offsetof(GridMachine, {m.name}) == {grid.OFFSETS[m.name]});"
            for m in grid.MACHINE
        ),
    ]
    summary = "The callbacks of GPU kernels that run on the CPU."
    return header(summary, "abi/grid.py", "<cstddef> <cstdint>", body)


# ------------------------------------------------------------------ requests and items


def _requests() -> str:
    body = []
    for record in requests.REQUESTS:
        body += ["", *_request(record)]
    summary = "Requests of the runtime to Python, encoded."
    return header(summary, "abi/requests.py", '<string> "plan/items.h"', body)


def _request(record: type) -> Iterator[str]:
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in record.__name__)[1:]
    yield f"inline std::string encode_{name}({_parameters(record)}) {{"
    yield "  Encoder out;"
    yield f"  out.list({len(fields_of(record))});"
    yield from _writes(record)
    yield "  return out.data();"
    yield "}"


def _parameters(record: type) -> str:
    """Of a function that writes the record: the fields; a function for one that it
    appends itself.
    """
    types = {"uint64_t": "int64_t", "Decoder": "Writer auto&&"}
    fields = ((f.field.cpp, f.name) for f in fields_of(record))
    return ", ".join(f"{types.get(cpp, cpp)} {name}" for cpp, name in fields)


def _writes(record: type) -> Iterator[str]:
    for item in fields_of(record):
        yield f"  {item.field.write(item.name)}"


def _items() -> str:
    body = [
        "// Appends a part of a request or an item.",
        "template <class F>",
        "concept Writer = std::invocable<F, Encoder&>;",
        "",
        "// The first word of an item in a key; None is 0.",
        "constexpr uint64_t item_word(ItemKind kind, uint64_t data = 0) {",
        "  return (static_cast<uint64_t>(kind) + 1) | data << 8;",
        "}",
    ]
    for group in items.WRITTEN:
        for kind, record in group.records.items():
            body += ["", *_item_writer(group, kind, record)]
    for kind, record in items.KEY.records.items():
        if _has_word(record, items.KEY):
            body += ["", *_item_word(kind, record)]
    body += ["", "namespace encoded {"]
    for group in items.READ:
        for kind, record in group.records.items():
            body += ["", *_item_record(group, kind, record)]
    body += ["}  // namespace encoded"]
    for group in items.READ:
        body += ["", *_item_reader(group)]
    summary = "The items that describe a call's arguments in requests and keys."
    included = '<concepts> <span> "plan/decode.h"'
    return header(summary, "abi/items.py", included, body)


def _item_writer(group: items.Items, kind: str, record: type) -> Iterator[str]:
    symbol, parameters = _item_symbol(kind), _parameters(record)
    taken = f"Encoder& out, {parameters}" if parameters else "Encoder& out"
    yield f"inline void write_{group.name}_{kind}({taken}) {{"
    yield f"  out.list({len(fields_of(record)) + 1});"
    yield f"  out.code({symbol});"
    yield from _writes(record)
    yield "}"


def _item_record(group: items.Items, kind: str, record: type) -> Iterator[str]:
    names = ", ".join(item.name for item in fields_of(record))
    word = f"  constexpr uint64_t word() const {{ return word_of_{kind}({names}); }}"
    yield from _struct(record, [word] if _has_word(record, group) else [])
    first, *rest = _reader(record)
    yield f"inline {first}"
    yield from rest


def _item_word(kind: str, record: type) -> Iterator[str]:
    """The function of the word of a key's item, whose fields are bytes."""
    fields = [item.name for item in fields_of(record)]
    assert len(fields) < 8, record
    parts = (
        f"static_cast<uint64_t>({name})" + (f" << {8 * place}" if place else "")
        for place, name in enumerate(fields)
    )
    data = "".join(f", {part}" for part in [" | ".join(parts)] if part)
    yield f"constexpr uint64_t word_of_{kind}({_parameters(record)}) {{"
    yield f"  return item_word({_item_symbol(kind)}{data});"
    yield "}"


def _has_word(record: type, group: items.Items) -> bool:
    nested = any(item.field.cpp == "Decoder" for item in fields_of(record))
    return group is items.KEY and not nested


def _item_reader(group: items.Items) -> Iterator[str]:
    """A function that passes an item to ``take``: its record, or a Literal."""
    yield f"// Passes the next {group.name} item to `take`: its record, or a Literal."
    yield "template <class Take>"
    yield f"void read_{group.name}_item(Decoder& in, Take&& take) {{"
    yield "  if (in.peek() != Code::List) return take(in.literal());"
    yield "  const size_t count = in.list();"
    yield "  switch (in.code<ItemKind>()) {"
    for kind in codes.ITEM.names:
        record = group.records.get(kind)
        name = f"in.fields<encoded::{record.__name__}>(count - 1)" if record else ""
        does = f"return take({name})" if record else "break"
        yield f"    case {_item_symbol(kind)}: {does};"
    yield "  }"
    yield "  in.refuse_code();"
    yield "}"


def _item_symbol(kind: str) -> str:
    return f"ItemKind::{codes.ITEM.symbols[codes.ITEM[kind]]}"
