"""Sparse tensors: an op on one is an op on its components. See README.md."""

from __future__ import annotations

from pellucid._tensor.kinds import Kind, register_kind


def _kind() -> Kind:
    from pellucid.sparse._ops.pickles import reduced
    from pellucid.sparse._ops.printing import contents, suffixes

    return Kind(reduced, contents, suffixes)


register_kind("sparse", _kind)
