"""docs/file-formats.md, written from the tables of this folder.

``tools/build.py`` writes it, and a test checks that it is current.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Final

from pellucid_compiler.abi import (
    codes,
    grid,
    groups,
    items,
    opcodes,
    pack_file,
    parts,
    plan,
    records,
    requests,
)
from pellucid_compiler.abi.dtypes import CATEGORIES, DTYPES
from pellucid_compiler.abi.fields import Alternatives, fields_of
from pellucid_compiler.abi.limits import FROZEN_MAGIC, PACK_MAGIC, PACK_VERSION
from pellucid_compiler.abi.opcodes import Opcode

PAGE: Final = "docs/file-formats.md"

_START: Final = f"""\
# File formats

Generated from `src/pellucid_compiler/abi` by `tools/build.py`: change it there.

`frozen.bin` contains the ops and their plans, `kernels-<level>.pack` the machine code
of the kernels that the plans name. Plans and derivatives that the runtime requests from
Python have the same encoding. Files belong to one build: another magic number or
version is refused, and nothing is converted.

## Encoding

`frozen.bin` is the magic number `{FROZEN_MAGIC.decode()}`, eight digits that identify
the table of instructions, and one value, a `FrozenFile`. A value is a tag byte and its
payload. An unsigned integer has 7 bits per byte, low bits first, and the top bit set in
all bytes but the last. Integers are zigzag-encoded: 0, -1, 1, -2 are written as 0, 1,
2, 3. A *record* is a list of its fields, in order. A *code* is an integer, the index of
a member in its table. *Bytes of X* are an X encoded on its own, to be decoded when it
is needed; a block that zlib compressed is inflated then.

The reader (`runtime/plan/decode.h`) checks every tag, length, range and code, and that
the numbers of registers, values and slots are within their tables; damaged data raises
ValueError.
"""


def page(instructions: Iterable[Opcode]) -> str:
    """The text of ``docs/file-formats.md``; ``instructions``: all, by their codes."""
    lines = [_START, *_enumeration(codes.TAG), *_dtypes()]
    lines += ["## frozen.bin", "", _about(records), ""]
    lines += _records(records.RECORDS)
    lines += ["## Plans", "", _about(plan), ""]
    lines += _records(plan.RECORDS)
    lines += ["## Requests", "", _about(requests), ""]
    lines += _records(requests.REQUESTS)
    lines += ["## Items", "", _about(items), ""]
    for group in items.GROUPS.values():
        lines += _items(group)
    lines += ["## Groups", "", _about(groups), ""]
    lines += _records((*groups.WRITTEN, *groups.READ))
    lines += ["## Instructions", "", _about(opcodes), "", *_opcodes(instructions)]
    lines += ["## Codes", ""]
    for enumeration in codes.ALL:
        if enumeration is not codes.TAG:
            lines += _enumeration(enumeration)
    lines += _pack()
    lines += ["## Parts of a product's kernel", "", _about(parts), ""]
    lines += _enumeration(parts.PART)
    lines += ["## Kernels for GPUs on the CPU", "", _about(grid), ""]
    rows = ((str(grid.OFFSETS[m.name]), f"`{m.cpp}`", m.meaning) for m in grid.MACHINE)
    lines += [*_table("offset|word|meaning", rows)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _about(module: object) -> str:
    """The docstring of a module after its first sentence."""
    text = inspect.getdoc(module) or ""
    _, _, rest = text.partition("\n\n")
    return rest.replace("``", "`")


def _table(head: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    names = head.split("|")
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _enumeration(enumeration: codes.Codes) -> Iterator[str]:
    yield f"**{enumeration.name}**: {_lower(enumeration.meaning)}"
    yield ""
    names = (
        name or symbol
        for name, symbol in zip(enumeration.names, enumeration.symbols, strict=True)
    )
    rows = zip(map(str, range(99)), names, enumeration.meanings, strict=False)
    yield from _table("code|name|meaning", rows)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _dtypes() -> Iterator[str]:
    yield "**DType**: the dtypes."
    yield ""
    rows = (
        (str(code), row.name, CATEGORIES[row.category].lower(), str(row.size))
        for code, row in enumerate(DTYPES)
    )
    yield from _table("code|name|category|bytes", rows)


def _records(found: Iterable[type | Alternatives]) -> Iterator[str]:
    for item in found:
        if not isinstance(item, Alternatives):
            yield from _record(item)
            continue
        yield f"### {item.name}"
        yield ""
        yield f"A {item.codes.name} code, then the fields of the record that it names."
        yield ""
        pairs = ((name, kind.__name__) for name, kind in item.records.items())
        yield from _table("kind|record", pairs)
        for kind in dict.fromkeys(item.records.values()):
            yield from _record(kind)


def _items(group: items.Items) -> Iterator[str]:
    yield f"### {group.name.capitalize()} items"
    yield ""
    rows = (
        (
            kind,
            ", ".join(f"`{f.name}`: {f.field.shown}" for f in fields_of(record)),
            (inspect.getdoc(record) or "").replace("\n", " ").replace("``", "`"),
        )
        for kind, record in group.records.items()
    )
    yield from _table("kind|fields|what it is", rows)


def _record(record: type) -> Iterator[str]:
    yield f"### {record.__name__}"
    yield ""
    yield (inspect.getdoc(record) or "").replace("``", "`")
    yield ""
    rows = ((f"`{item.name}`", item.field.shown) for item in fields_of(record))
    yield from _table("field|what it is", rows)


def _opcodes(instructions: Iterable[Opcode]) -> Iterator[str]:
    rows = (
        (str(row.code), f"`{row.name}`", row.operands, row.takes, row.gives)
        for row in instructions
    )
    yield from _table("code|name|operands|takes|gives", rows)


def _pack() -> Iterator[str]:
    yield "## Kernel packs"
    yield ""
    yield f"Magic number `{PACK_MAGIC.decode()}`, version {PACK_VERSION}."
    yield f"{_about(pack_file)} A kernel is position-independent code without external"
    yield "symbols, at a multiple of 64 bytes. The runtime checks the header and all"
    yield "bounds when it opens a pack, and a kernel's checksum before its first call."
    yield ""
    for name, members in (("header", pack_file.HEADER), ("entry", pack_file.ENTRY)):
        rows = ((f"`{m.cpp}`", m.meaning) for m in members)
        yield from _table(f"{name}|meaning", rows)
