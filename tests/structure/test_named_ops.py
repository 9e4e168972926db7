"""C++ has names of ops in generated lists: what it calls, and what it carries out."""

import re
from pathlib import Path

import pellucid_compiler.catalogue  # noqa: F401 - fills both registries
from pellucid_compiler.abi.named_ops import NAMED_OPS
from pellucid_compiler.abi.operators import BINARY, UNARY
from pellucid_compiler.composites import all_composites
from pellucid_compiler.declare.intrinsics import INTRINSICS
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.primitives.library import ROUTINES

RUNTIME = Path(__file__).parents[2] / "runtime"
LOOK_UP = re.compile(r"\b(?:find_op|required_op|find_method|find_function)\(")
# Who else looks ops up, and whose names these are.
NAMES_FROM_OUTSIDE = {
    "core/call_op.cpp": "the caller's",
    "core/call_op.h": "the caller's",
    "core/dispatcher.cpp": "the caller's",
    "core/dispatcher.h": "the caller's",
    "core/named_ops.cpp": "those of abi/named_ops.py",
    "ops/intrinsics.cpp": "the ops that a declaration names",
    "ops/join.cpp": "the view that a declaration names",
    "ops/late_ops.cpp": "the op that a declaration names",
    "python/autograd/extension.cpp": "the extension's",
    "python/derivation.cpp": "Python's",
    "python/dispatch_protocol.cpp": "Python's",
    "python/operators.cpp": "those of abi/operators.py",
    "python/library.cpp": "Python's",
    "python/op_listing.cpp": "Python's",
    "python/overload_sets.cpp": "Python's",
    "python/overload_sets.h": "the caller's",
    "python/python_kernels.cpp": "Python's",
}


def sources():
    for path in sorted(RUNTIME.rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            yield path.relative_to(RUNTIME).as_posix(), path.read_text()


def test_only_names_from_outside_are_looked_up_elsewhere():
    actual = {name for name, text in sources() if LOOK_UP.search(text)}
    assert actual == set(NAMES_FROM_OUTSIDE)


def test_no_op_is_looked_up_by_a_literal():
    literal = re.compile(LOOK_UP.pattern + r'\s*"\w')
    assert literal.search('find_op( "alias")')
    assert [name for name, text in sources() if literal.search(text)] == []


def test_records_are_defined_from_declarations_alone():
    defining = {name for name, text in sources() if re.search(r"\bdefine_op\(", text)}
    assert defining == {
        *("core/dispatcher.cpp", "core/dispatcher.h"),
        *("ops/intrinsics.cpp", "ops/late_ops.cpp", "ops/op_table.cpp"),
        "python/python_kernels.cpp",
    }


def test_every_named_op_is_used_and_has_a_reason():
    names = [row.symbol for row in NAMED_OPS]
    assert len(names) == len(set(names)) > 20
    assert [row.name for row in NAMED_OPS if len(row.why.split()) < 3] == []
    text = "\n".join(text for _, text in sources())
    assert [name for name in names if f"NamedOp::{name}" not in text] == []


def test_every_operator_is_an_op():
    for row in (*BINARY, *UNARY):
        name = row.op.removesuffix("_")
        names = {key.partition(".")[0] for key in (*REGISTRY, *INTRINSICS)}
        composites = {parse_schema(c.schema).name for c in all_composites()}
        assert name in names | composites, row


def test_library_routines_in_cpp_are_those_with_a_numpy_reference():
    text = "\n".join(text for _, text in sources())
    registered = re.findall(
        r'(?:register_library_routine|PELLUCID_LAPACK_ROUTINE)\("(\w+)"', text
    )
    assert len(registered) == len(set(registered)) > 20
    assert set(registered) <= ROUTINES.keys()


def test_no_intrinsic_has_a_declaration_with_a_body():
    assert not INTRINSICS.keys() & REGISTRY.keys()
