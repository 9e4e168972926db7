"""Generates headers: dtypes, and every op as a method and a function.

They are derived from the op table, and written once per table into a folder of the
user's cache. Overloads whose schemas have a type without a C++ form here (names of
dimensions, generators, complex numbers) are omitted. Read next: ``include/pellucid``.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pellucid import _C
from pellucid_compiler.abi.dtypes import DTYPES, FLOATING

_CTYPES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}
# Argument types by schema type: the C++ type, and how it is packed.
_TYPES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const optional<Tensor>&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "TensorList",
    "Scalar": "const Scalar&",
    "Scalar?": "const optional<Scalar>&",
    "int": "int64_t",
    "int?": "optional<int64_t>",
    "float": "double",
    "float?": "optional<double>",
    "bool": "bool",
    "bool?": "optional<bool>",
    "str": "string_view",
    "str?": "optional<string_view>",
    "ScalarType": "ScalarType",
    "ScalarType?": "optional<ScalarType>",
    "Layout?": "optional<Layout>",
    "Device": "Device",
    "Device?": "optional<Device>",
    "MemoryFormat?": "optional<MemoryFormat>",
    "MemoryFormat": "MemoryFormat",
    "int[]": "IntArrayRef",
    "int[]?": "const OptionalIntArrayRef&",
    "float[]": "ArrayRef<double>",
}
_RETURNS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "bool": "bool",
    "int": "int64_t",
    "float": "double",
}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_RESERVED = frozenset(
    ("and", "or", "xor", "not", "new", "delete", "union", "switch", "default", "bool")
)
# Tensor's own methods (pellucid/torch/tensor.h).
_OWN = frozenset(
    (
        *("data", "device", "dim", "dtype", "element_size", "grad", "is_contiguous"),
        *("is_floating_point", "is_same", "item", "numel", "options", "requires_grad"),
        *("size", "sizes", "storage_offset", "stride", "strides"),
    )
)


class Parameter(NamedTuple):
    """A C++ parameter, and the expressions of the op's arguments."""

    declaration: str
    default: str
    packed: list[str]


class Function(NamedTuple):
    """The C++ declaration of an overload."""

    op: str
    name: str
    returns: str
    parameters: list[Parameter]
    takes_self: bool

    def text(self, method: bool) -> str:
        """Its definition, in the class or at namespace scope."""
        given = self.parameters[1:] if method else self.parameters
        declared = [
            p.declaration + (f" = {p.default}" if p.default else "") for p in given
        ]
        packed = [text for p in self.parameters for text in p.packed]
        if method:
            packed[0] = "detail::pack(*this)"
        arguments = ", ".join([f'"{self.op}"', *packed])
        suffix, prefix = (" const", "") if method else ("", "inline ")
        return (
            f"{prefix}{self.returns} {self.name}({', '.join(declared)}){suffix} {{\n"
            f"  return detail::call<{self.returns}>({arguments});\n}}"
        )


def _type(text: str) -> str | None:
    plain = re.sub(r"\[\d+\]", "[]", text.replace("SymInt", "int"))
    plain = plain.replace("Tensor|Scalar", "Tensor")
    return _TYPES.get(plain)


def _default(text: str, ctype: str, value: Any, size: int) -> str | None:
    """The default in C++; None if it has no C++ form."""
    if value is None:
        return "{}" if "optional" in ctype.lower() else None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return (
            "{" + ", ".join(map(str, value)) + "}" if ctype == "IntArrayRef" else None
        )
    if isinstance(value, (int, float)):
        if ctype == "IntArrayRef":
            return "{" + ", ".join([str(value)] * max(size, 1)) + "}"
        known = {"int64_t", "double", "bool", "const Scalar&"}
        known |= {"optional<int64_t>", "optional<double>"}
        number = str(value)
        return (
            number if ctype in known and number not in ("inf", "-inf", "nan") else None
        )
    if isinstance(value, str) and ctype == "string_view":
        return f'"{value}"'
    return None


def _parameters(arguments: list[Any]) -> list[Parameter] | None:
    """The parameters of a schema, or None if a type has no C++ form."""
    names = [a[0] for a in arguments]
    folds = all(name in names for name in _OPTIONS)
    found: list[Parameter] = []
    for name, text, _, _, size, _, value, has_default, _ in arguments:
        if folds and name in _OPTIONS:
            if name == "dtype":
                packed = [f"detail::pack(options.{f}_opt())" for f in _OPTIONS[:3]]
                packed.append("detail::omitted()")
                found.append(Parameter("const TensorOptions& options", "{}", packed))
            continue
        ctype = _type(text)
        if ctype is None:
            if has_default and found:
                found[-1].packed.append("detail::omitted()")
                continue
            return None
        default = _default(text, ctype, value, size) if has_default else ""
        if default is None:
            found[-1].packed.append("detail::omitted()")
            continue
        spelled = f"{name}_" if name in _RESERVED else name
        pack = "pack_optional" if text == "Tensor?[]" else "pack"
        found.append(
            Parameter(f"{ctype} {spelled}", default, [f"detail::{pack}({spelled})"])
        )
    return _ordered(found)


def _ordered(found: list[Parameter]) -> list[Parameter] | None:
    """The parameters, unless one without a default follows one with a default."""
    seen = False
    for k, parameter in enumerate(found):
        if seen and not parameter.default:
            for j in range(k):
                found[j] = found[j]._replace(default="")
        seen = seen or bool(parameter.default)
    return found


def functions() -> Iterator[Function]:
    """Every overload of the op table that C++ can call."""
    seen: set[tuple[str, str]] = set()
    for op in sorted(row[0] for row in _C._list_ops()):
        if not op.startswith("aten::") or op.endswith("out"):
            continue
        _, name, _, arguments, returns, _ = _C._op_schema(op)
        writes_out = any(a[-1] and a[2] for a in arguments)
        if not name.isidentifier() or name in _RESERVED or writes_out:
            continue
        kinds = [_RETURNS.get(kind, "") for _, kind, _ in returns]
        parameters = _parameters(arguments)
        if "" in kinds or parameters is None:
            continue
        result = kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"
        takes_self = bool(arguments) and (
            arguments[0][0] == "self" and "Tensor" in arguments[0][1][:6]
        )
        given = ", ".join(p.declaration.rpartition(" ")[0] for p in parameters)
        if (name, given) in seen:
            continue
        seen.add((name, given))
        yield Function(op, name, result if kinds else "void", parameters, takes_self)


def _word(row: Any) -> str:
    """PyTorch's name of a dtype in C++."""
    return str(row.word if row.word.isidentifier() else row.symbol)


def _dtypes() -> str:
    spelled = [row for row in DTYPES if row.element]
    words = [_word(row) for row in spelled]
    lines = ["// Generated from the table of dtypes.", "#pragma once", ""]
    lines += ["namespace c10 {", "enum class ScalarType : int8_t {"]
    lines += [
        f"  {word} = {DTYPES.index(row)},"
        for word, row in zip(words, spelled, strict=True)
    ]
    lines += ["};"]
    lines += [f"constexpr ScalarType k{word} = ScalarType::{word};" for word in words]
    for word, row in zip(words, spelled, strict=True):
        number = row.name.title().replace("Uint", "UInt")
        if number != word and number.isalnum():
            lines.append(f"constexpr ScalarType k{number} = ScalarType::{word};")
    lines += ["inline const char* name(ScalarType dtype) {", "  switch (dtype) {"]
    lines += [f'    case k{word}: return "{word}";' for word in words]
    lines += ["  }", '  return "unknown";', "}"]
    lines += ["inline std::ostream& operator<<(std::ostream& out, ScalarType dtype) {"]
    lines += ["  return out << name(dtype);", "}"]
    floats = [_word(row) for row in spelled if row.category == FLOATING]
    tests = " || ".join(f"dtype == k{word}" for word in floats)
    lines += [f"inline bool is_floating(ScalarType dtype) {{ return {tests}; }}"]
    lines += ["template <class T>", "constexpr ScalarType dtype_of = ScalarType(-1);"]
    by_name = {row.name: row for row in DTYPES}
    for name, ctype in _CTYPES.items():
        word = _word(by_name[name])
        lines += [f"template <>\nconstexpr ScalarType dtype_of<{ctype}> = k{word};"]
    lines += ["template <class T>", "bool holds(ScalarType dtype) {"]
    lines += ["  return dtype == dtype_of<T>;", "}", "template <class T>"]
    lines += [
        "const char* name_of() { return name(dtype_of<T>); }",
        "}  // namespace c10",
    ]
    return "\n".join(lines) + "\n"


@cache
def generated() -> Path:
    """The folder of the generated headers, created if missing."""
    made = list(functions())
    methods = [f.text(method=True) for f in made if f.takes_self and f.name not in _OWN]
    free = [f.text(method=False) for f in made]
    head = "// Generated from the op table.\n"
    texts = {
        "pellucid_dtypes.h": _dtypes(),
        "pellucid_methods.h": head + "\n".join(methods) + "\n",
        "pellucid_functions.h": head + "\n".join(free) + "\n",
    }
    digest = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:16]
    root = os.environ.get("PELLUCID_CACHE") or os.path.expanduser("~/.cache/pellucid")
    folder = Path(root) / "include" / digest
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made_in:
            part = Path(made_in) / "headers"
            part.mkdir()
            for name, text in texts.items():
                (part / name).write_text(text)
            try:
                part.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder
