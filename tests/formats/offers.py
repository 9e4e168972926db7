"""Which ops of the registry support which storage formats.

A line of ``offers.txt`` is an op, the number of its sample call and the supported
formats. After an intended change, rewrite the table and review the difference:

    python -m tests.formats.offers
"""

from pathlib import Path

from tools.op_samples import calls

from pellucid_compiler.declare import REGISTRY
from tests.declarations.refusals import ERRORS, NAMES, key_in

TABLE = Path(__file__).with_name("offers.txt")
FORMATS = ("uint16", "complex32", "float8_e4m3fn", "bits8")


def offered(name, number, call):
    """The formats in which a sample call is traced; None where it has no floats."""
    key = {dtype: key_in(call, dtype) for dtype in FORMATS}
    if key["uint16"] == call.key:
        return None
    return [dtype for dtype in FORMATS if _is_traced(name, key[dtype], call)]


def _is_traced(name, key, call):
    try:
        REGISTRY[name].trace(key, call.env)
    except ERRORS:
        return False
    return True


def lines():
    """The table according to the declarations."""
    for name in NAMES:
        for number, (call, *_) in enumerate(calls(name)):
            actual = offered(name, number, call)
            if actual:
                yield " ".join([name, str(number), *actual])


if __name__ == "__main__":
    TABLE.write_text("".join(f"{line}\n" for line in lines()))
