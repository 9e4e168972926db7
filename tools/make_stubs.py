#!/usr/bin/env python3
"""Writes the types of all ops for type checkers and editors, from the op table.

``torch.add(``, ``Tensor.add(`` and the like are made at import from op records, so no
source file contains their signatures. This writes ``src/pellucid/_C/_op_types/``: stubs
for the methods of Tensor, the functions of the package and of each of its op modules.
Called by tools/build.py after the op table is built; ``_C/__init__.pyi`` and
``__init__.py`` import the result. Nothing of it exists at run time.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

SOURCES = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SOURCES))

import pellucid  # noqa: E402
from pellucid import _C  # noqa: E402
from pellucid._package.offers import FUNCTIONS  # noqa: E402
from pellucid_compiler import catalogue  # noqa: E402, F401 - fills the registry
from pellucid_compiler.declare.documentation import Documentation  # noqa: E402
from pellucid_compiler.declare.schema import Schema  # noqa: E402

# Modules that contain only ops, on which those of the package are built.
_C_MODULES = {
    "_fft": "fft",
    "_linalg": "linalg",
    "_nn": "nn",
    "_pellucid": "pellucid",
    "_sparse": "sparse",
    "_special": "special",
}
STUBS = SOURCES / "pellucid" / "_C" / "_op_types"
HEADER = '''\
# mypy: disable-error-code="overload-cannot-match, overload-overlap, override"
"""Made by tools/make_stubs.py from the op table; {what}.

Overloads have the order in which calls try them, so one may hide a later one.
"""

from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from pellucid._C import (
    Generator,
    Size,
    TensorBase,
    device as _device,
    dtype as _dtype,
    layout as _layout,
    memory_format as _memory_format,
)
from pellucid._tensor import Tensor

_Number = _bool | _int | _float | _complex
'''
TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Tensor | _Number",
    "Scalar": "_Number",
    "int": "_int",
    "SymInt": "_int",
    "int|SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "complex": "_complex",
    "str": "_str",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "Device": "_device | _str | _int",
    "MemoryFormat": "_memory_format",
    "Generator": "Generator",
}
HIDDEN = ("bool", "complex", "float", "int")
FACTORY_WORDS = {"dtype", "device", "pin_memory"}


class Parameter(NamedTuple):
    """One argument as shown in the stub."""

    name: str
    type: str
    default: str | None
    keyword_only: bool
    written: bool

    @property
    def text(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.type}{default}"


class Form(NamedTuple):
    """One way to call an op."""

    parameters: list[Parameter]
    result: str
    variadic: bool  # the one list of integers or tensors may come loose
    docstring: str

    def definition(self, name: str, method: bool) -> str:
        return f"def {name}({', '.join(self._texts(method))}) -> {self.result}:"

    def _texts(self, method: bool) -> Iterable[str]:
        parameters = self.parameters
        if method:
            yield "self"
            parameters = [p for p in parameters if p.name != "self"]
        starred = False
        for parameter in parameters:
            if parameter.keyword_only and not starred:
                starred = True
                yield "*"
            yield parameter.text

    def loose(self) -> Form:
        """The form that takes its list as separate arguments."""
        place = next(
            k for k, p in enumerate(self.parameters) if p.type.startswith("Sequence")
        )
        listed = self.parameters[place]
        element = listed.type.removeprefix("Sequence[").removesuffix("]")
        loose = Parameter(f"*{listed.name}", element, None, False, False)
        rest = [p._replace(keyword_only=False) for p in self.parameters[place + 1 :]]
        return self._replace(
            parameters=[*self.parameters[:place], loose, *rest], variadic=False
        )


class OpEntry(NamedTuple):
    """An overload of the op table."""

    full_name: str
    kind: str
    is_method: bool
    is_function: bool
    module: str
    takes_loose_tensors: bool


class Stub:
    """The text of one stub: definitions and the result types that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.result_types: dict[str, str] = {}

    def add(self, name: str, forms: list[Form], *, method: bool) -> None:
        if keyword.iskeyword(name):
            return
        forms = merge_outputs(forms)
        forms += [f.loose() for f in forms if f.variadic]
        unique: dict[str, str] = {}
        for form in forms:
            unique.setdefault(form.definition(name, method), form.docstring)
        indent = "    " if method else ""
        shown = ""
        for definition, docstring in unique.items():
            if len(unique) > 1:
                self.lines.append(f"{indent}@overload")
            new = docstring if docstring != shown else ""  # once for like overloads
            self.lines += with_docstring(definition, new, indent)
            shown = docstring

    def write(self, path: Path, what: str, before: str = "") -> None:
        parts = [HEADER.format(what=what), *self.result_types.values()]
        text = "\n".join([*parts, before, *self.lines]) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def with_docstring(definition: str, docstring: str, indent: str) -> list[str]:
    """The lines of a definition whose body is its docstring, if it has one."""
    if not docstring:
        return [f"{indent}{definition} ..."]
    first, *rest = docstring.splitlines()
    lines = [f'"""{first}', *rest]
    lines[-1] += '"""' if not rest else ""
    lines += ['"""'] if rest else []
    lines[0] = "r" + lines[0] if "\\" in docstring else lines[0]
    inner = [f"{indent}    {line}" if line else "" for line in lines]
    return [indent + definition, *inner]


def python_type(text: str, optional: bool, list_size: int) -> str:
    """The Python type of an argument's type in the schema language."""
    base = text.removesuffix("?") if optional else text
    element, bracket, _ = base.partition("[")
    found = TYPES.get(element.removesuffix("?"), "Any")
    if bracket:
        found = f"{found} | None" if element.endswith("?") else found
        found = f"Sequence[{found}]"
        if list_size:
            found = f"{TYPES[element]} | {found}"
    return f"{found} | None" if optional else found


def default_text(value: object, has_default: bool) -> str | None:
    """A default as source text; what has no literal is left to the runtime."""
    if not has_default:
        return None
    known = value is None or isinstance(value, bool | int | float | str | list)
    return repr(value) if known else "..."


def _qualified(schema: Schema) -> str:
    return f"{'' if schema.name_space else 'aten::'}{schema.full_name}"


@functools.cache
def docstrings() -> dict[str, str]:
    """What each overload does, by its full name."""
    return {
        _qualified(overload.schema): overload.described
        for overloads in Documentation().overloads.values()
        for overload in overloads
    }


def read_form(op: OpEntry, stub: Stub, *, method: bool) -> Form:
    """The Python signature that a schema gives."""
    _, name, _, arguments, returns, _ = _C._op_schema(op.full_name)
    parameters = []
    for place, entry in enumerate(arguments):
        given, text, alias, optional, size, _, default, has, only = entry
        kind = python_type(text, optional, size)
        if place == 0 and not method and takes_number_first(op, arguments):
            kind = "Tensor | _Number"
        called = "input" if given == "self" and not method else given
        called = f"{called}_" if keyword.iskeyword(called) else called
        parameters.append(
            Parameter(called, kind, default_text(default, has), only, "!" in alias)
        )
    names = {p.name for p in parameters}
    if names >= FACTORY_WORDS:
        parameters.append(Parameter("requires_grad", "_bool", "False", True, False))
    variadic = op.takes_loose_tensors or is_variadic(parameters)
    docstring = docstrings().get(op.full_name, "")
    return Form(parameters, result_type(name, returns, stub), variadic, docstring)


def takes_number_first(op: OpEntry, arguments: list[tuple[str, ...]]) -> bool:
    tensors = sum(a[1].startswith("Tensor") for a in arguments)
    return op.kind == "pointwise" and tensors > 1


def is_variadic(parameters: list[Parameter]) -> bool:
    positional = [p for p in parameters if not p.keyword_only]
    first = 1 if positional and positional[0].name in ("self", "input") else 0
    rest = positional[first:]
    return len(rest) == 1 and rest[0].type == "Sequence[_int]"


def result_type(name: str, returns: list[tuple[str, str, str]], stub: Stub) -> str:
    """The type of the result; named results get a NamedTuple."""
    types = ["tuple[Tensor, ...]" if t == "Tensor[]" else python_type(t, False, 0)
             for _, t, _ in returns]  # fmt: skip
    if not returns:
        return "None"
    if len(returns) == 1:
        return types[0]
    if not returns[0][0]:
        return f"tuple[{', '.join(types)}]"
    called = f"_{name}_result"
    fields = [f"    {f}: {t}" for (f, _, _), t in zip(returns, types, strict=True)]
    stub.result_types[called] = "\n".join([f"class {called}(NamedTuple):", *fields])
    return called


def merge_outputs(forms: list[Form]) -> list[Form]:
    """A form without outputs and its ``out=`` form as one, with an optional `out`."""
    merged: list[Form] = []
    for form in forms:
        outputs = [p for p in form.parameters if p.written and p.keyword_only]
        inputs = [p for p in form.parameters if p not in outputs]
        if not outputs:
            merged.append(form)
            continue
        kind = "Tensor" if len(outputs) == 1 else "tuple[Tensor, ...]"
        out = Parameter("out", f"{kind} | None", "None", True, False)
        twin = next((k for k, f in enumerate(merged) if f.parameters == inputs), None)
        if twin is None:
            required = out._replace(type=kind, default=None)
            merged.append(form._replace(parameters=[*inputs, required]))
        else:
            merged[twin] = merged[twin]._replace(parameters=[*inputs, out])
    return merged


def write_methods(ops: list[OpEntry]) -> None:
    """``class OpMethods``, the base of TensorBase in ``_C/__init__.pyi``."""
    stub = Stub()
    by_name: defaultdict[str, list[Form]] = defaultdict(list)
    for op in ops:
        name = op.full_name.partition("::")[2].partition(".")[0]
        # What Tensor defines in Python has its types there.
        if op.is_method and name not in vars(pellucid.Tensor):
            by_name[name].append(read_form(op, stub, method=True))
    for name, forms in sorted(by_name.items()):
        stub.add(name, forms, method=True)
    for definition, docstring in attached_methods():
        stub.lines += with_docstring(definition, docstring, "    ")
    stub.write(STUBS / "methods.pyi", "the methods of Tensor", "class OpMethods:")


def attached_methods() -> Iterable[tuple[str, str]]:
    """Functions of the package that became methods of Tensor after its class body."""
    source = ast.parse((SOURCES / "pellucid" / "_tensor" / "tensor.py").read_text())
    body = next(s for s in source.body if isinstance(s, ast.ClassDef)).body
    written = {s.name for s in body if isinstance(s, ast.FunctionDef)}
    for name in sorted(vars(pellucid.Tensor)):
        value = getattr(pellucid.Tensor, name)  # those bound later become functions
        if isinstance(value, FunctionType) and name not in written:
            docstring = inspect.cleandoc(value.__doc__ or "")
            yield f"def {name}{attached_signature(value)}:", docstring


def attached_signature(function: FunctionType) -> str:
    """The signature as a method's; annotations that the stub does not know are Any."""
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    parameters = [first.replace(name="self", annotation=inspect.Parameter.empty)]
    for given in rest:
        known = given.replace(annotation=stub_annotation(given.annotation))
        if isinstance(known.default, str):  # quotes go with those of annotations
            known = known.replace(default=...)
        parameters.append(known)
    result = stub_annotation(signature.return_annotation)
    text = str(inspect.Signature(parameters, return_annotation=result))
    return text.replace("'", "").replace("Ellipsis", "...")


def stub_annotation(text: object) -> str:
    """An annotation with the names that methods of Tensor hide spelt ``_name``."""
    words = set(re.findall(r"\w+", str(text)))
    if not words <= {*HIDDEN, "Tensor", "None", "tuple", "list", "Sequence", "str"}:
        return "Any"
    return re.sub(rf"\b({'|'.join(HIDDEN)})\b", r"_\1", str(text))


def write_functions(
    file: str, module: str, ops: list[OpEntry], written: dict[str, Any]
) -> None:
    """The functions of one public module, but for those `written` in Python."""
    stub = Stub()
    by_name: defaultdict[str, list[Form]] = defaultdict(list)
    prefix = f"{module}_" if module else ""
    shared = vars(_C._nn_functional) if module == "nn.functional" else ()
    for op in ops:
        name = op.full_name.partition("::")[2].partition(".")[0]
        is_written = isinstance(written.get(name), FunctionType | _C.overridable)
        is_here = op.module == module or name in shared
        if op.is_function and is_here and not is_written:
            form = read_form(op, stub, method=False)
            by_name[name.removeprefix(prefix)].append(form)
    for name, forms in sorted(by_name.items()):
        stub.add(name, forms, method=False)
    named = "".join(f'    "{name}",\n' for name in sorted(by_name))
    what = f"the ops of torch.{module}".rstrip(".")
    stub.write(STUBS / f"{file}.pyi", what, f"__all__ = [\n{named}]\n")


def write_offered() -> None:
    """The functions that are written in Python and imported when first used."""
    lines = [f"from pellucid.{FUNCTIONS[n]} import {n} as {n}" for n in FUNCTIONS]
    head = '"""Made by tools/make_stubs.py from the marks of offered functions."""'
    text, path = "\n".join([head, "", *lines, ""]), STUBS / "offered.pyi"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    """Writes the stubs; files that would not change keep their times."""
    STUBS.mkdir(exist_ok=True)
    ops = [OpEntry(*entry) for entry in _C._list_ops()]
    ops = [
        op
        for op in ops
        if op.full_name.startswith(("aten::", "pellucid::", "python::"))
    ]
    write_methods(ops)
    write_functions("functions", "", ops, vars(pellucid))
    for file, module in _C_MODULES.items():
        write_functions(file, module, ops, {})
    for module in (
        *sorted({*_C_MODULES.values()} - {"nn", "pellucid", "sparse"}),
        "nn.functional",
    ):
        written = vars(importlib.import_module(f"pellucid.{module}"))
        write_functions(module.replace(".", "_"), module, ops, written)
    write_offered()
    initial = STUBS / "__init__.pyi"
    if not initial.exists():
        initial.write_text('"""Types of ops; see tools/make_stubs.py."""\n')


if __name__ == "__main__":
    main()
