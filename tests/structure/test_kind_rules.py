"""Rules of sparse, nested, quantized and masked tensors: none restates a declaration.

What a rule's ops have no derived rule for, or why that one is not used, is the reason
that the rule is registered with.
"""

import pytest

import pellucid as torch
from pellucid._C._runtime.gradients import overload_of
from pellucid._decomp import graphs
from pellucid._decomp.graphs import moves_elements
from pellucid._ops import facts
from pellucid._ops.rules import Registry
from pellucid.ao._quantized.answer import RULES as QUANTIZED
from pellucid.ao._quantized.moves import move
from pellucid.ao._quantized.rules import gives_bools
from pellucid.masked.maskedtensor import _rules as of_masked
from pellucid.nested._ops import mapping
from pellucid.nested._ops import rules as of_nested
from pellucid.nested._ops.answer import RULES as NESTED
from pellucid.sparse._ops.answer import RULES as SPARSE
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils._pytree import tree_unflatten
from pellucid_compiler.declare import REGISTRY
from tests.func.catalogue import native_calls

KINDS = {
    "sparse": SPARSE,
    "nested": NESTED,
    "quantized": QUANTIZED,
    "masked": of_masked.RULES,
}
RULES = [(kind, name) for kind, registry in KINDS.items() for name in registry.by_name]


def overloads(name):
    """The functional overloads of a name, and in-place ones if the name is theirs."""
    packets = (
        getattr(space, name, None) for space in (torch.ops.aten, torch.ops.pellucid)
    )
    found = [
        getattr(p, each) for p in packets if p is not None for each in p.overloads()
    ]
    return [op for op in found if not any(a.is_out for a in op._schema.arguments)]


def moves(op):
    """Whether sample calls of a declared op only move elements."""
    name = op.name().removeprefix("aten::")
    calls = native_calls(name) if name in REGISTRY and not op._schema.is_mutable else []
    return bool(calls) and all(
        moves_elements(op, tree_unflatten(call.leaves, call.spec)) for call in calls
    )


def implied(registry, op):
    """Whether the declaration says how the op is computed."""
    derived = registry.derive(op)
    if registry is NESTED:  # otherwise the op on each example, which holds of every op
        return derived is not None and of_nested.rule_of(op) is not mapping.apply
    is_move = derived is of_masked._moved or getattr(derived, "func", None) is move
    return derived is not None and (not is_move or op.is_view or moves(op))


@pytest.mark.parametrize(("kind", "name"), RULES, ids=str)
def test_a_rule_is_of_ops_that_no_declaration_computes(kind, name):
    registry = KINDS[kind]
    rule, ops = registry.by_name[name], overloads(name)
    assert ops or name.startswith("__"), f"there is no op {name}"
    is_implied = any(implied(registry, op) for op in ops)
    assert rule.overrides == is_implied, (
        f"{name} of {kind} tensors: the declaration implies "
        f"{'a' if is_implied else 'no'} rule. Remove the registered one, or say in "
        "because(reason, overrides=True) why the derived rule is not the op"
    )


@pytest.mark.parametrize("registry", KINDS.values(), ids=list(KINDS))
def test_reasons_are_sentences(registry):
    reasons = {rule.reason for rule in registry.by_name.values()}
    assert [reason for reason in reasons if len(reason.split()) < 4] == []


@pytest.mark.parametrize(
    ("kind", "names"),
    {
        "sparse": ("sin", "mul", "clamp"),
        "nested": ("sin", "clone", "dropout_", "randn_like", "sum", "new_zeros"),
        "quantized": ("eq", "isnan", "flip", "cat", "stack", "upsample_nearest2d"),
        "masked": ("sin", "to", "ones_like", "cat", "flip", "sum", "t"),
    }.items(),
)
def test_what_a_declaration_says_would_be_found(kind, names):
    missing = [
        name
        for name in names
        if not any(implied(KINDS[kind], op) for op in overloads(name))
    ]
    assert missing == (["dropout_"] if kind == "nested" else [])


class _Seen(TorchDispatchMode):
    def __init__(self):
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(func)
        return func(*args, **(kwargs or {}))


def test_no_mode_sees_how_a_declaration_is_read():
    aten = torch.ops.aten
    gives_bools.cache_clear()
    with _Seen() as seen:
        assert gives_bools(aten.isnan.default)
        assert gives_bools(aten.lt.Tensor)
        assert not gives_bools(aten.sin.default)
    assert seen.ops == []


def test_every_pointwise_op_says_whether_it_gives_bools():
    ops = filter(facts.is_pointwise, map(overload_of, REGISTRY))
    found = {op._opname for op in ops if gives_bools(op)}
    assert {"eq", "isnan", "logical_and", "signbit"} <= found
    assert not {"sin", "where", "clamp", "bitwise_and"} & found


def test_the_functional_form_is_the_overload_of_the_same_name():
    aten = torch.ops.aten
    assert facts.functional_form(aten.add_.Scalar) is aten.add.Scalar
    assert facts.functional_form(aten.normal_.default) is aten.normal_functional.default
    assert facts.functional_form(aten.sin.out) is aten.sin.default


def test_moves_are_known_while_another_thread_forgets_them(monkeypatch):
    class Forgetful(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            self.clear()

    monkeypatch.setattr(graphs, "_MOVES", Forgetful())
    assert moves_elements(torch.ops.aten.flip.default, (torch.ones(2, 2), [0]))


def test_every_rule_is_registered_in_one_place():
    registry = Registry(lambda op: None)
    registry.because("the first of two")("sin")(len)
    with pytest.raises(ValueError, match="sin has a rule already"):
        registry.because("the second of two")("sin")(max)
