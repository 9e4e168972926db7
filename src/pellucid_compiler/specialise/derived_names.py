"""The names of ops that are derived from others, and what requests call them by."""

from __future__ import annotations

import hashlib

from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.specialise.keyed import KeyedOp

DIGEST = 16
"""Hexadecimal digits that end the name of a derived op."""


def derived_name(op: KeyedOp, rule: str, mask: int) -> str:
    """A unique name: the origin's, the rules in order, and a digest of what determines
    the Graph.
    """
    whole = encode([rule, op.reference, *op.identity(), mask])
    digest = hashlib.sha256(whole).hexdigest()[:DIGEST]
    base = "_".join(filter(None, (op.schema.name, op.schema.overload)))
    base = base.removeprefix("_")
    stem = base[: -DIGEST - 1] if isinstance(op.reference, bytes) else base
    return f"{stem}_{rule}_{digest}"


def derived_node_name(node: str, rule: str) -> str:
    """The name of the node that records a call of a derived op: ``ExpBackward0`` gives
    ``ExpBackwardBackward0``, its tangent rule ``ExpJvpBackward0``.
    """
    stem, _, _ = node.rpartition("Backward")
    return f"{stem}{'Jvp' if rule == 'jvp' else 'Backward'}Backward0"


def origin_of(op: KeyedOp) -> list[Encodable]:
    """The forward op in a request: its reference and its arguments."""
    return [op.reference, op.arguments]
