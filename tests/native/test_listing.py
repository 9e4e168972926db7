"""The runtime's listing of its ops equals the declarations."""

import pellucid_compiler.catalogue
from pellucid import _C
from pellucid_compiler.declare import REGISTRY


def test_every_op_is_listed_under_its_kind():
    assert pellucid_compiler.catalogue
    listed = {entry[0]: entry[1] for entry in _C._list_ops()}
    kinds = {op.full_name: op.kind for op in REGISTRY.values()}
    actual = {
        name: listed[f"aten::{name}"] for name in kinds if f"aten::{name}" in listed
    }
    assert len(actual) > 300 and actual == {name: kinds[name] for name in actual}
    assert kinds["cat"] == "join"
