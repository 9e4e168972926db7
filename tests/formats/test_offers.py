"""Every op supports the storage formats in the table, and ops that only move elements
give the same bits as on integers.
"""

import numpy as np
import pytest
from tools.op_samples import calls

import pellucid as torch
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.offers import CARRIER, graph_moves_only
from tests.declarations.refusals import NAMES, key_in
from tests.formats.offers import FORMATS, TABLE, lines

RECORDED = TABLE.read_text().splitlines()


def test_ops_take_the_formats_that_the_table_lists():
    assert list(lines()) == RECORDED


def moves():
    """(op, number, dtype) of the recorded calls that only move elements."""
    for line in RECORDED:
        name, number, *dtypes = line.split()
        call = calls(name)[int(number)][0]
        if REGISTRY[name].kind in ("loop", "join", "view"):
            for dtype in dtypes:
                traced = REGISTRY[name].trace(key_in(call, dtype), call.env)
                if graph_moves_only(traced.nominal):
                    yield name, int(number), dtype


MOVES = list(moves())


def test_many_ops_move_elements_of_any_dtype():
    assert len({name for name, *_ in MOVES}) >= 40
    assert len({dtype for *_, dtype in MOVES}) == len(FORMATS)


@pytest.mark.parametrize("dtype", FORMATS)
def test_what_moves_elements_moves_their_bits(dtype):
    for name in dict.fromkeys(name for name, _, d in MOVES if d == dtype):
        number = next(n for m, n, d in MOVES if (m, d) == (name, dtype))
        check_moved(name, calls(name)[number][0], dtype)


def check_moved(name, call, dtype):
    """The op on elements of ``dtype`` and on the integers of the same bits."""
    packet, _, overload = name.partition(".")
    op = torch._C._overloads(packet).get(overload or "default")
    if op is None:
        return
    random = np.random.default_rng(5)
    whole, narrow = getattr(torch, CARRIER[dtype]), getattr(torch, dtype)
    inputs = [torch.from_numpy(np.array(x)) for x in call.tensors]
    bits = [
        torch.from_numpy(random.integers(1, 120, x.shape)).to(whole)
        if x.dtype is torch.float64
        else x
        for x in inputs
    ]
    moved = [x.view(narrow) if x.dtype is whole and g.dtype is torch.float64 else x
             for x, g in zip(bits, inputs, strict=True)]  # fmt: skip
    carriers = dtype_of_bits(REGISTRY[name], whole)
    inputs = [x.to(carriers) if x.dtype is whole else x for x in bits]
    expected, actual = (op(*arguments(name, call, x)) for x in (inputs, moved))
    for a, b in zip(listed(expected), listed(actual), strict=True):
        same = b.view(whole) if b.dtype is narrow else b
        if b.dtype is narrow and not fills(name):
            np.testing.assert_array_equal(same.numpy(), a.numpy(), err_msg=name)
        assert same.shape == a.shape


def dtype_of_bits(op, whole):
    """The dtype that holds the bits as numbers: float64 if integers are refused."""
    name = str(whole).rpartition(".")[2]
    refused = {name, "integers"} & set(op.options.refuses)
    return torch.float64 if refused else whole


def fills(name):
    """Whether a number of the call or of the op is among the elements."""
    return any(a.type in ("Scalar", "Scalar?") for a in REGISTRY[name].schema.arguments)


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def arguments(name, call, tensors):
    """The positional arguments of a sample call; keyword-only ones are at defaults."""
    inputs = iter(tensors)

    def value(argument, item, key):
        if hasattr(item, "rank"):
            return next(inputs)
        if hasattr(item, "items") and not isinstance(item, dict):
            return [value(argument, x, f"{key}[{k}]") for k, x in enumerate(item.items)]
        return item.value if hasattr(item, "value") else call.env[key]

    schema = REGISTRY[name].schema.arguments
    return [
        value(a, item, a.name)
        for a, item in zip(schema, call.key, strict=True)
        if not a.keyword_only
    ]


def test_names_are_of_the_registry():
    assert {line.split()[0] for line in RECORDED} <= set(NAMES)
