"""Which sample calls an op refuses in which dtype, and with which type of error.

An op either computes in a dtype, and tests compare its results, or raises exactly the
error in ``refusals.txt``, in the engine and in the runtime. A line is an op, the
number of its sample call, the error and the dtypes. After an intended change,
rewrite the table from the declarations and review the difference:

    python -m tests.declarations.refusals

``tools/check_refusals.py`` compares it with an installed PyTorch.
"""

from collections import defaultdict
from pathlib import Path

import pytest
from tools.op_samples import calls, with_dtype

from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.interpret import check_requirement
from pellucid_compiler.ir.verify import verify

TABLE = Path(__file__).with_name("refusals.txt")
FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int64", "int32", "uint8", "bool")
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)
NAMES = [name for name, op in REGISTRY.items() if op.kind != "foreach"]


def read_table():
    """(op, number of the sample call, dtype) to the name of the error."""
    table = {}
    for line in TABLE.read_text().splitlines():
        name, number, error, *dtypes = line.split()
        table.update(((name, int(number), dtype), error) for dtype in dtypes)
    return table


RECORDED = read_table() if TABLE.exists() else {}


def key_in(call, dtype):
    """The key of a sample call in another dtype."""
    return tuple(with_dtype(item, dtype) for item in call.key)


def trace(name, call, key):
    """The Graph of a call, whose sizes and numbers satisfy its requirements."""
    graph = REGISTRY[name].trace(key, call.env).graph
    for required in graph.requirements:
        check_requirement(required, call.env)
    return graph


def graph_in(name, number, call, key, dtype):
    """The Graph of a call in a dtype; None if it is refused as recorded."""
    recorded = RECORDED.get((name, number, dtype))
    if recorded is None:
        return verify(trace(name, call, key))
    with pytest.raises(ERRORS) as caught:
        trace(name, call, key)
    assert caught.type.__name__ == recorded
    return None


def write_table():
    """Records the refusals of the declarations."""
    actual = defaultdict(list)
    for name in NAMES:
        for number, (call, *_) in enumerate(calls(name)):
            for dtype in (*FLOATS, *INTEGERS):
                try:
                    trace(name, call, key_in(call, dtype))
                except ERRORS as error:
                    actual[name, number, type(error).__name__].append(dtype)
    lines = [" ".join([*map(str, case), *actual[case]]) for case in sorted(actual)]
    TABLE.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    write_table()
