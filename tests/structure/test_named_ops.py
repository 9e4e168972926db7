"""C++ has names of ops in one place: runtime/core/named_ops.cpp."""

import re
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "runtime"
LIST = RUNTIME / "core" / "named_ops.cpp"
LOOK_UP = re.compile(r"\b(?:find_op|required_op)\(")
# Who else looks ops up, and whose names these are.
NAMES_FROM_OUTSIDE = {
    "core/call_op.cpp": "the caller's",
    "core/call_op.h": "the caller's",
    "core/dispatcher.cpp": "the caller's",
    "core/dispatcher.h": "the caller's",
    "ops/join.cpp": "the view that a declaration names",
    "ops/late_ops.cpp": "the op that a declaration names",
    "ops/op_table.cpp": "a derivative's, made of its schema",
    "python/autograd/extension.cpp": "the extension's",
    "python/dispatch_protocol.cpp": "Python's",
    "python/op_callable.cpp": "Python's",
    "python/op_listing.cpp": "Python's",
    "python/python_kernels.cpp": "Python's",
}


def sources():
    for path in sorted(RUNTIME.rglob("*")):
        if path.suffix in {".h", ".cpp"} and path != LIST:
            yield path.relative_to(RUNTIME).as_posix(), path.read_text()


def test_only_names_from_outside_are_looked_up_elsewhere():
    found = {name for name, text in sources() if LOOK_UP.search(text)}
    assert found == set(NAMES_FROM_OUTSIDE)


def test_no_op_is_looked_up_by_a_literal():
    literal = re.compile(LOOK_UP.pattern + r'\s*"')
    assert literal.search('find_op( "alias")')
    assert [name for name, text in sources() if literal.search(text)] == []


def test_every_named_op_is_used():
    names = re.findall(r"^    \{NamedOp::(\w+), ", LIST.read_text(), re.MULTILINE)
    assert len(names) == len(set(names)) > 20
    text = "\n".join(text for _, text in sources())
    assert [name for name in names if f"NamedOp::{name}" not in text] == []
