"""The passes that a Graph goes through before its nodes become steps.

Two pipelines: one for the Graph of an op, one for the step of a recurrence, which has
no calls, scans or complex numbers left. Called by graph.py and recurrences.py. Read
next: passes/manager.py.
"""

from __future__ import annotations

from functools import partial

from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.ir.primitives import ScanAttrs
from pellucid_compiler.lower.aliases import (
    with_distinct_outputs,
    with_own_outputs,
)
from pellucid_compiler.lower.contraction import reads_beyond
from pellucid_compiler.lower.scans import is_recurrence
from pellucid_compiler.lower.tables import tabulate_indices
from pellucid_compiler.passes.additions import widen_additions
from pellucid_compiler.passes.complex_loops import split_complex
from pellucid_compiler.passes.fuse import fuse, inline_calls
from pellucid_compiler.passes.manager import Pass
from pellucid_compiler.passes.merged_stores import merge_stores
from pellucid_compiler.passes.piecewise_sums import split_sums
from pellucid_compiler.passes.postpone import postpone_loops
from pellucid_compiler.passes.products import split_products
from pellucid_compiler.passes.ranges import split_ranges
from pellucid_compiler.passes.shared_stacks import share_stacks
from pellucid_compiler.passes.shifted import shifted


def reads_shifted(node: Node, value: Value) -> bool:
    """Whether the node is a recurrence that reads ``value`` as a shifted stack."""
    if not is_recurrence(node) or shifted(value) is None:
        return False
    attrs: ScanAttrs = node.attrs
    end = len(node.inputs) - attrs.num_constants
    return value not in (*node.inputs[: attrs.num_carries], *node.inputs[end:])


def op_passes(may_alias: bool, reads_outputs: bool = False) -> tuple[Pass, ...]:
    """The pipeline of an op; ``may_alias``: outputs may share memory with inputs,
    ``reads_outputs``: loops read results instead of recomputing them.
    """
    distinct = () if may_alias else (Pass("distinct_outputs", with_distinct_outputs),)
    return (
        Pass("inline_calls", inline_calls),
        Pass("split_complex", split_complex),
        Pass("fuse", partial(fuse, reads_outputs=reads_outputs)),
        Pass("share_stacks", partial(share_stacks, is_recurrence=is_recurrence)),
        Pass("split_sums", partial(split_sums, reads_pieces=reads_shifted)),
        Pass("split_products", partial(split_products, reads_beyond=reads_beyond)),
        Pass("widen_additions", widen_additions),
        Pass("split_ranges", partial(split_ranges, reads_pieces=reads_shifted)),
        Pass("tabulate_indices", tabulate_indices),
        Pass("postpone_loops", postpone_loops),
        Pass("with_own_outputs", partial(with_own_outputs, may_alias=may_alias)),
        *distinct,
    )


STEP_PASSES = (
    Pass("fuse", fuse),
    Pass("merge_stores", merge_stores),
    Pass("split_products", partial(split_products, reads_beyond=reads_beyond)),
    Pass("widen_additions", widen_additions),
    Pass("split_ranges", split_ranges),
    Pass("with_own_outputs", partial(with_own_outputs, may_alias=False)),
)
"""The pipeline of a recurrence's step."""
