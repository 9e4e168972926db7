"""``torch.fx.traceback``: metadata for newly created nodes.

Set by a tracer that records stack traces, an Interpreter that preserves metadata, and
users' ``annotate``; ``TracerBase.create_node`` copies them to each new node.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A scope in which new nodes receive the current metadata."""
    global should_preserve_node_meta
    before, meta = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta = before
        current_meta.clear()
        current_meta.update(meta)


def has_preserved_node_meta() -> bool:
    """Whether new nodes receive the current metadata."""
    return should_preserve_node_meta


def set_stack_trace(stack: list[str]) -> None:
    """Sets the stack trace for nodes made from here on."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A scope whose new nodes have these entries in ``meta["custom"]``."""
    had = "custom" in current_meta
    before = current_meta.get("custom", {})
    current_meta["custom"] = {**before, **annotation_dict}
    try:
        yield
    finally:
        if had:
            current_meta["custom"] = before
        else:
            del current_meta["custom"]


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Sets the autograd node to which the following calls belong."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [
            *current_meta.get("grad_fn_seq_nr", []),
            seq_nr,
        ]


def reset_grad_fn_seq_nr() -> None:
    """Undoes the last ``set_grad_fn_seq_nr``."""
    numbers = current_meta.get("grad_fn_seq_nr", [])
    if len(numbers) > 1:
        current_meta["grad_fn_seq_nr"] = numbers[:-1]
    else:
        current_meta.pop("grad_fn_seq_nr", None)


def format_stack() -> list[str]:
    """The current stack trace: of the node being run, or of Python."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """A scope in which new nodes receive the metadata of ``node``."""
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = copy.copy(current_meta)
    current_meta.clear()
    current_meta.update(node.meta)
    try:
        yield
    finally:
        current_meta.clear()
        current_meta.update(before)


def get_current_meta() -> dict[str, Any]:
    """The current metadata."""
    return current_meta
