"""Nested tensors: their representation, and rules of ops."""

from __future__ import annotations

from pellucid._tensor.kinds import Kind, register_kind


def _kind() -> Kind:
    from pellucid.nested._ops.construct import as_nested_tensor
    from pellucid.nested._ops.pickles import reduced, text_of

    return Kind(reduced, text=text_of, joined=as_nested_tensor)


register_kind("nested", _kind)
