"""What torchaudio asks of its compiled library: for which CUDA it is, what it has."""

from __future__ import annotations

from pellucid._library.registration import Library

_LIBRARY = Library("_torchaudio", "DEF")


def define() -> None:
    """Define ``torch.ops._torchaudio``; once."""
    for schema, body in (
        ("cuda_version() -> int", lambda: -1),
        ("is_align_available() -> bool", lambda: False),
    ):
        _LIBRARY.impl(_LIBRARY.define(schema), body, "CompositeImplicitAutograd")
