"""A Python function with the name of an op calls the op, so that nothing is defined
twice; another one says why (``_package/calls/namesakes.py``).
"""

import builtins
import dis
import functools
import importlib
import types

import pytest

import pellucid as torch
import pellucid_compiler.catalogue  # noqa: F401 - fills both registries
from pellucid import _C, Tensor
from pellucid._ops import OpOverload, OpOverloadPacket
from pellucid._package import offers
from pellucid._package.calls import captured
from pellucid._package.calls.namesakes import reason_of
from pellucid_compiler.composites import Composite, all_composites
from pellucid_compiler.declare.intrinsics import INTRINSICS
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.declare.schema import parse_schema

COMPOSITES = [(parse_schema(c.schema).name, c) for c in all_composites()]
BODIES = {}
for _name, _composite in COMPOSITES:
    BODIES.setdefault(_composite.body, set()).add(_name)
METHODS = {
    *(op.name for op in REGISTRY.values() if op.options.method),
    *(row.schema.name for row in INTRINSICS.values() if row.is_method),
    *(
        n
        for n, c in COMPOSITES
        if c.options.get("method", "namespace" not in c.options)
    ),
}
OPS = {
    *(op.name for op in REGISTRY.values()),
    *(row.schema.name for row in INTRINSICS.values()),
    *(name for name, _ in COMPOSITES),
}
LOOK_UPS = (builtins.getattr, _C._op_named)


def without_mark(name):
    """The name of the op whose in-place form this is; dunder names as they are."""
    return name if name.endswith("__") else name.removesuffix("_")


def names_of(value):
    """The ops that a value is, or that a look-up by it finds."""
    if isinstance(value, Composite):
        return {parse_schema(value.schema).name}
    if isinstance(value, OpOverload):
        return {value.name().removeprefix("aten::").partition(".")[0]}
    if isinstance(value, OpOverloadPacket):
        return {value.__name__}
    if type(value) is types.BuiltinFunctionType and hasattr(value.__self__, "schemas"):
        return {value.__name__}
    if isinstance(value, types.MethodDescriptorType) and value.__name__ in METHODS:
        return {value.__name__}
    return BODIES.get(value, set()) if isinstance(value, types.FunctionType) else set()


def codes(function):
    """The function's code, its form for modes, and the code of functions inside."""
    left = [function.__code__]
    if function in captured._others:
        left.append(captured._others[function])
    while left:
        yield (code := left.pop())
        left += [c for c in code.co_consts if isinstance(c, types.CodeType)]


def values_in(code, function):
    """What the code reads: globals, with the attributes read of them; the names of
    other attributes, which may be methods; strings.
    """
    space = {**vars(builtins), **function.__globals__}
    missing = object()
    value = missing
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = space.get(step.argval, missing)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if value is missing:
                if step.argval in METHODS:
                    yield getattr(Tensor, step.argval, None)
            else:
                value = getattr(value, step.argval, missing)
        else:
            if step.opname == "LOAD_CONST" and isinstance(step.argval, str):
                yield step.argval
            value = missing
            continue
        if value is not missing:
            yield value


def parts_of(value):
    """The function below a callable; what a container or a partial call holds."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args]
    if isinstance(value, tuple | list):
        return list(value)
    inner = getattr(value, "__wrapped__", None)
    return [] if inner is None else [inner]


def values_of(function):
    """What the codes of a function of ours read, and what its closure has."""
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for code in codes(function):
        values += values_in(code, function)
    return values


def looks_up(values):
    return any(value is each for value in values for each in LOOK_UPS)


def looked_up(values):
    """The ops that a code names by texts, for itself or a function that it reads."""
    below = [*values, *(part for value in values for part in parts_of(value))]
    readers = [v for v in below if isinstance(v, types.FunctionType) and is_ours(v)]
    if not looks_up(below) and not any(looks_up(values_of(v)) for v in readers):
        return set()
    return {value.partition(".")[0] for value in values if isinstance(value, str)}


def reached(function):
    """The names of the ops that a function may call."""
    found = set()
    left, seen = [function], []
    while left:
        value = left.pop()
        if any(value is known for known in seen):
            continue
        seen.append(value)
        if isinstance(value, types.ModuleType | type | str):
            continue
        found |= names_of(value)
        if value is not function and isinstance(value, types.FunctionType):
            found |= {value.__name__} if reason_of(value) else set()
        left += parts_of(value)
        if isinstance(value, types.FunctionType) and is_ours(value):
            values = values_of(value)
            found |= looked_up(values)
            left += values
    return found


def is_ours(function):
    root = (function.__module__ or "").partition(".")[0]
    return root.startswith("pellucid") or root == "tests"


def plain(value):
    """The Python function that a name has; None for an op's callable."""
    value = getattr(value, "fget", value)
    while not isinstance(value, types.FunctionType):
        value = getattr(value, "__wrapped__", None)
        if value is None:
            return None
    return value


def functions():
    """(name, function) of all public functions and methods in Python."""
    for table in (offers.FUNCTIONS, offers.METHODS, offers.VALUES):
        for name, module in table.items():
            space = vars(importlib.import_module(f"pellucid.{module}"))
            yield name, plain(space.get(name))
    for name in ("nn.functional", "linalg", "fft", "special"):
        module = importlib.import_module(f"pellucid.{name}")
        yield from ((n, plain(v)) for n, v in vars(module).items())
    yield from ((n, plain(v)) for n, v in vars(Tensor).items())


NAMESAKES = sorted(
    {
        (name, function)
        for name, function in functions()
        if function is not None and without_mark(name) in OPS
    },
    key=lambda pair: (pair[0], pair[1].__module__),
)


def test_functions_are_found():
    assert len(NAMESAKES) > 60


@pytest.mark.parametrize(
    ("name", "function"), NAMESAKES, ids=[f"{f.__module__}.{n}" for n, f in NAMESAKES]
)
def test_a_namesake_of_an_op_calls_it_or_says_why_not(name, function):
    called = {without_mark(each) for each in reached(function)}
    assert (without_mark(name) in called) != (reason_of(function) is not None)


def test_a_reason_is_a_sentence():
    reasons = [reason_of(f) for _, f in NAMESAKES if reason_of(f)]
    assert reasons
    assert [r for r in reasons if len(r.split()) < 6] == []


def _asks(input):
    return input.numel()


def _adds(input):
    return torch.add(input, 1)


def _looks_up_another(input):
    return getattr(torch.ops.aten, "relu")(input)  # noqa: B009


def _reads_it(input):
    return _looks_up_another(input)


def _names_an_op(input):
    return "add", _reads_it(input)


def test_a_text_counts_where_it_is_looked_up():
    assert "relu" in reached(_names_an_op)
    assert "add" not in reached(_names_an_op)


def test_a_method_that_is_no_op_is_told_from_a_call():
    assert "numel" not in reached(_asks)
    assert "add" in reached(_adds)
