"""The type stubs say what the extension module and the op table hold."""

import ast
import pkgutil
from pathlib import Path

import pellucid as torch
from pellucid import _C
from pellucid._package.offers import OF_RUNTIME

PACKAGE = Path(torch.__file__).parent


def parse(name):
    return ast.parse((PACKAGE / name).read_text()).body


def defined(body):
    """Names that a stub's statements define."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.AnnAssign):
            yield statement.target.id


def class_body(body, name):
    actual = (s for s in body if isinstance(s, ast.ClassDef) and s.name == name)
    return next(actual).body


def functions(name):
    return {s.name: s for s in parse(name) if isinstance(s, ast.FunctionDef)}


def test_the_extension_module_is_listed_whole():
    listed = {*defined(parse("_C/__init__.pyi")), "_fft", "_nn", "_linalg", "_special"}
    listed |= {"_pellucid", "_sparse"}
    names = {name for name in dir(_C) if not name.startswith("__")}
    offered = names - OF_RUNTIME.keys()
    offered -= {module.name for module in pkgutil.iter_modules(_C.__path__)}
    assert offered - listed == set()
    assert {
        n
        for n in listed - offered
        if n
        not in ("_F", "_T", "_GradMode", "_ArgumentParts", "_SchemaParts", "_KeyGuard")
    } == set()


def test_attributes_of_tensors_are_listed():
    listed = {*defined(class_body(parse("_C/__init__.pyi"), "TensorBase"))}
    ops = {*defined(class_body(parse("_C/_op_types/methods.pyi"), "OpMethods"))}
    offered = {n for n in vars(_C.TensorBase) if not n.startswith("__")}
    assert offered - listed - ops - vars(torch.Tensor).keys() == set()


def test_signatures_say_what_the_declarations_say():
    for file in ("functions", "linalg", "nn_functional"):
        stub = functions(f"_C/_op_types/{file}.pyi")
        assert stub and any(ast.get_docstring(f) for f in stub.values())
    methods = class_body(parse("_C/_op_types/methods.pyi"), "OpMethods")
    add, _ = (s for s in methods if isinstance(s, ast.FunctionDef) and s.name == "add")
    assert ast.get_docstring(add) == "``x + alpha y``."


def test_every_method_from_the_op_table_has_a_signature():
    ops = {*defined(class_body(parse("_C/_op_types/methods.pyi"), "OpMethods"))}
    for name in ("add", "add_", "view", "sum", "double", "movedim"):
        assert name in ops


def test_functions_have_typed_signatures():
    add = functions("_C/_op_types/functions.pyi")["add"]
    names = [a.arg for a in (*add.args.args, *add.args.kwonlyargs)]
    assert names == ["input", "other", "alpha", "out"]
    assert all(a.annotation for a in (*add.args.args, *add.args.kwonlyargs))
    assert ast.unparse(add.returns) == "Tensor"
    assert "gelu" in functions("_C/_op_types/nn_functional.pyi")
    assert "vector_norm" in functions("_C/_op_types/linalg.pyi")
