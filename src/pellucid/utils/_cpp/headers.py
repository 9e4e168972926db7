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
from pellucid_compiler.abi.dtypes import COMPLEX, DTYPES, FLOATING

_CTYPES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex<float>",
    "complex128": "complex<double>",
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
    "float[]?": "const OptionalArrayRef<double>&",
    "Generator?": "const optional<Generator>&",
    "Generator": "const Generator&",
}
_RETURNS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "bool": "bool",
    "int": "int64_t",
    "float": "double",
}
# What `Tensor::dtype()` prints, where it is not c10::NAME.
_PRINTED = {
    "uint8_t": "unsigned char",
    "int8_t": "signed char",
    "int16_t": "short int",
    "int32_t": "int",
    "int64_t": "long int",
    "uint16_t": "unsigned short int",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long int",
    "float": "float",
    "double": "double",
    "bool": "bool",
}
# PyTorch's headers that extensions include, by ours: most are all of it.
_HEADERS = {
    "all": """
        ATen/ATen.h ATen/AccumulateType.h ATen/CPUGeneratorImpl.h ATen/Config.h
        ATen/Context.h ATen/Device.h ATen/DeviceGuard.h ATen/Dispatch.h
        ATen/Dispatch_v2.h ATen/ExpandUtils.h ATen/Functions.h ATen/Generator.h
        ATen/NativeFunctions.h ATen/NumericUtils.h ATen/OpMathType.h ATen/Operators.h
        ATen/Parallel.h ATen/ScalarOps.h ATen/Tensor.h ATen/TensorIndexing.h
        ATen/TensorOptions.h ATen/TensorUtils.h ATen/WrapDimUtils.h
        ATen/autocast_mode.h ATen/core/ATen_fwd.h ATen/core/Dict.h
        ATen/core/DistributionsHelper.h ATen/core/Formatting.h ATen/core/Generator.h
        ATen/core/List.h ATen/core/Reduction.h ATen/core/Scalar.h ATen/core/Tensor.h
        ATen/core/TensorAccessor.h ATen/core/TensorBase.h
        ATen/core/dispatch/Dispatcher.h ATen/core/grad_mode.h ATen/core/ivalue.h
        ATen/core/op_registration/op_registration.h ATen/core/stack.h
        c10/core/CPUAllocator.h c10/core/Device.h c10/core/DeviceGuard.h
        c10/core/DeviceType.h c10/core/DispatchKey.h c10/core/DispatchKeySet.h
        c10/core/GradMode.h c10/core/InferenceMode.h c10/core/Layout.h
        c10/core/MemoryFormat.h c10/core/Scalar.h c10/core/ScalarType.h
        c10/core/SymInt.h c10/core/TensorOptions.h
        c10/core/impl/LocalDispatchKeySet.h c10/macros/Export.h c10/macros/Macros.h
        c10/util/ArrayRef.h c10/util/BFloat16.h c10/util/Exception.h c10/util/Half.h
        c10/util/Logging.h c10/util/Optional.h c10/util/OptionalArrayRef.h
        c10/util/SmallVector.h c10/util/StringUtil.h c10/util/accumulate.h
        c10/util/complex.h c10/util/intrusive_ptr.h c10/util/irange.h
        c10/util/string_view.h pybind11/cast.h pybind11/complex.h
        pybind11/functional.h pybind11/gil.h pybind11/pybind11.h pybind11/pytypes.h
        pybind11/stl.h torch/all.h torch/autograd.h torch/cuda.h
        torch/csrc/api/include/torch/version.h torch/csrc/autograd/VariableTypeUtils.h
        torch/csrc/autograd/autograd.h torch/csrc/autograd/custom_function.h
        torch/csrc/autograd/function.h torch/csrc/autograd/grad_mode.h
        torch/csrc/autograd/variable.h torch/csrc/stable/library.h
        torch/csrc/stable/ops.h torch/csrc/stable/tensor.h torch/csrc/utils/pybind.h
        torch/custom_class.h torch/headeronly/core/ScalarType.h
        torch/headeronly/macros/Macros.h torch/headeronly/util/Exception.h
        torch/library.h torch/python.h torch/script.h torch/serialize.h
        torch/serialize/tensor.h torch/types.h
    """,
    "nn": """
        torch/extension.h torch/nn.h torch/nn/functional.h torch/nn/module.h
        torch/nn/modules.h torch/nn/options.h torch/nn/pimpl.h torch/optim.h
        torch/torch.h
    """,
    "vec": "ATen/cpu/vec/functional.h ATen/cpu/vec/vec.h ATen/cpu/vec/vec_base.h",
    "iterator": "ATen/TensorIterator.h ATen/native/TensorIterator.h",
    "loops": "ATen/native/cpu/Loops.h",
    "overlap": "ATen/MemoryOverlap.h",
    "array": "pybind11/numpy.h",
    "bind": "pybind11/stl_bind.h",
}
# Headers of CUDA, which say what to do when a source for the CPU includes them.
_CUDA_HEADERS = """
    ATen/cuda/CUDAContext.h ATen/cuda/CUDAEvent.h ATen/cuda/Exceptions.h
    c10/cuda/CUDAException.h c10/cuda/CUDAFunctions.h c10/cuda/CUDAGuard.h
    c10/cuda/CUDAMacros.h c10/cuda/CUDAStream.h
"""
_CATEGORIES = {"is_floating": FLOATING, "isComplexType": COMPLEX}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_RESERVED = frozenset(
    ("and", "or", "xor", "not", "new", "delete", "union", "switch", "default", "bool")
)
# Tensor's own methods (pellucid/torch/tensor.h).
_OWN = frozenset(
    (
        *("backward", "data", "device", "dim", "dtype", "element_size", "get_device"),
        *(
            "grad",
            "is_complex",
            "is_contiguous",
            "is_floating_point",
            "is_meta",
            "is_sparse",
        ),
        *("is_same", "item", "itemsize", "layout", "numel", "options", "requires_grad"),
        *("size", "sizes", "storage_offset", "stride", "strides"),
    )
)


class Parameter(NamedTuple):
    """A C++ parameter, and the expressions of the op's arguments."""

    declaration: str
    default: str
    packed: list[str]


class Function(NamedTuple):
    """The C++ declaration of an overload: ``out`` is its first parameter. ``written``:
    the tensor that it writes and returns."""

    op: str
    name: str
    returns: str
    parameters: list[Parameter]
    packed: list[str]
    takes_self: bool
    written: str

    def text(self, method: bool) -> str:
        """Its definition, in the class or at namespace scope."""
        given = self.parameters[1:] if method else self.parameters
        declared = [
            p.declaration + (f" = {p.default}" if p.default else "") for p in given
        ]
        packed = ["detail::pack(*this)", *self.packed[1:]] if method else self.packed
        arguments = ", ".join([f'"{self.op}"', *packed])
        suffix, prefix = (" const", "") if method else ("", "inline ")
        if self.written:
            target = "*this" if method else self.written
            declared = [
                f"Tensor& {self.written}"
                if text.endswith(f"& {self.written}")
                else text
                for text in declared
            ]
            return (
                f"{prefix}Tensor& {self.name}({', '.join(declared)}){suffix} {{\n"
                f"  detail::call<void>({arguments});\n"
                f"  return const_cast<Tensor&>({target});\n}}"
            )
        made = f"detail::call<{self.returns}>({arguments})"
        if any("TensorOptions" in text for text in declared) and not method:
            made = f"detail::with_options({made}, options)"
        return (
            f"{prefix}{self.returns} {self.name}({', '.join(declared)}){suffix} {{\n"
            f"  return {made};\n}}"
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
                fields = (*_OPTIONS[:3], "pinned_memory")
                packed = [f"detail::pack(options.{f}_opt())" for f in fields]
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
    return found


def _ordered(found: list[Parameter]) -> list[Parameter]:
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
        if not op.startswith("aten::"):
            continue
        _, name, _, arguments, returns, _ = _C._op_schema(op)
        outs = [k for k, a in enumerate(arguments) if a[-1] and a[2]]
        writes_many = len(outs) > 1 or any("[]" in arguments[k][1] for k in outs)
        if not name.isidentifier() or name in _RESERVED or writes_many:
            continue
        kinds = [_RETURNS.get(kind, "") for _, kind, _ in returns]
        parameters = _parameters(arguments)
        if "" in kinds or parameters is None:
            continue
        result = kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"
        takes_self = bool(arguments) and (
            arguments[0][0] == "self" and "Tensor" in arguments[0][1][:6]
        )
        in_place = takes_self and name.endswith("_") and kinds == ["Tensor"]
        name += "_out" * len(outs)
        written = arguments[outs[0]][0] if outs else "self" if in_place else ""
        packed = [text for parameter in parameters for text in parameter.packed]
        if outs:
            parameters.sort(key=lambda p: not p.declaration.endswith(f" {written}"))
        parameters = _ordered(parameters)
        given = ", ".join(p.declaration.rpartition(" ")[0] for p in parameters)
        if (name, given) in seen:
            continue
        seen.add((name, given))
        takes_self = takes_self and not outs
        returned = result if kinds else "void"
        yield Function(op, name, returned, parameters, packed, takes_self, written)


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
    lines += ["inline const char* toString(ScalarType dtype) { return name(dtype); }"]
    lines += _switch("size_t", "elementSize", {_word(r): str(r.size) for r in spelled})
    for function, category in _CATEGORIES.items():
        given = {_word(row): "true" for row in spelled if row.category == category}
        lines += _switch("bool", function, given)
    lines += ["template <class T>", "constexpr ScalarType dtype_of = ScalarType(-1);"]
    lines += ["template <ScalarType type>", "struct ScalarTypeToCPPType;"]
    by_name = {row.name: row for row in DTYPES}
    named = {ctype: _word(by_name[name]) for name, ctype in _CTYPES.items()}
    for ctype, word in named.items():
        lines += [f"template <>\nconstexpr ScalarType dtype_of<{ctype}> = k{word};"]
        lines += [f"template <>\nstruct ScalarTypeToCPPType<k{word}> {{"]
        lines += [f"  using type = {ctype};", "};"]
    plain = {word: f'"{_PRINTED.get(c, f"c10::{c}")}"' for c, word in named.items()}
    lines += _switch("const char*", "element_name", plain)
    lines += ["template <class T>", "bool holds(ScalarType dtype) {"]
    lines += ["  return dtype == dtype_of<T>;", "}", "template <class T>"]
    lines += [
        "const char* name_of() { return name(dtype_of<T>); }",
        "}  // namespace c10",
    ]
    return "\n".join(lines) + "\n"


def _switch(kind: str, name: str, cases: dict[str, str]) -> list[str]:
    """A function of a dtype by cases; else it returns zero."""
    lines = [f"inline {kind} {name}(ScalarType dtype) {{", "  switch (dtype) {"]
    lines += [f"    case k{word}: return {text};" for word, text in cases.items()]
    return [*lines, "    default: return {};", "  }", "}"]


def _forwarding(ours: str) -> str:
    return (
        f'// PyTorch\'s name of it.\n#pragma once\n#include "pellucid/torch/{ours}.h"\n'
    )


def _refusing(name: str) -> str:
    return (
        "// PyTorch's header of CUDA.\n"
        f'#error "{name}: C++ sources are compiled for the CPU, without CUDA: include '
        'this under WITH_CUDA, and use c10::DeviceGuard from c10/core/DeviceGuard.h"\n'
    )


@cache
def generated() -> Path:
    """The folder of the generated headers, named by what is in them."""
    made = list(functions())
    methods = [f.text(method=True) for f in made if f.takes_self and f.name not in _OWN]
    free = [f.text(method=False) for f in made]
    head = "// Generated from the op table.\n"
    texts = {
        "pellucid_dtypes.h": _dtypes(),
        "pellucid_methods.h": head + "\n".join(methods) + "\n",
        "pellucid_functions.h": head + "\n".join(free) + "\n",
    }
    for ours, names in _HEADERS.items():
        texts |= {name: _forwarding(ours) for name in names.split()}
    texts |= {f"ATen/ops/{f.name}.h": _forwarding("all") for f in made}
    texts |= {name: _refusing(name) for name in _CUDA_HEADERS.split()}
    return written(texts)


def written(texts: dict[str, str]) -> Path:
    """A folder of the user's cache with these files, named by what is in them."""
    known = "".join(f"{name}\n{text}" for name, text in texts.items())
    digest = hashlib.sha256(known.encode()).hexdigest()[:16]
    root = os.environ.get("PELLUCID_CACHE") or os.path.expanduser("~/.cache/pellucid")
    folder = Path(root) / "include" / digest
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made_in:
            part = Path(made_in) / "headers"
            part.mkdir()
            for name, text in texts.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_text(text)
            try:
                part.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder
