"""Quantized tensors: integers with a scale; see README.md."""

from __future__ import annotations

from pellucid._tensor.kinds import Kind, register_kind


def _kind() -> Kind:
    from pellucid.ao._quantized.pickles import contents, reduced, suffixes

    return Kind(reduced, contents, suffixes)


register_kind("quantized", _kind)
