"""Plans whose sums have the bits of another plan's: the trees of its kernels.

How many vectors a kernel combines at a time depends on what it computes for each
element. A group of ops computes more than its anchor alone, and takes the anchor's
order. Called by specialise/graphs.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pellucid_compiler.abi.plan import NestStep
from pellucid_compiler.codegen.kernel import Kernel, Reduce, Rows, Tree
from pellucid_compiler.codegen.schedules import reduce, rows
from pellucid_compiler.lower.graph import Lowered


def with_trees_of(lowered: Lowered, other: Lowered) -> Lowered:
    """``lowered``, with kernels that combine in the order of those of ``other``.

    Nothing changes if their numbers or their loops differ.
    """
    trees = [_tree(kernel) for kernel in _combining(other).values()]
    own = _combining(lowered)
    if [len(_tree(k).unrolls) for k in own.values()] != [len(t.unrolls) for t in trees]:
        return lowered
    made = {
        place: _with_tree(kernel, tree)
        for (place, kernel), tree in zip(own.items(), trees, strict=True)
    }
    steps = tuple(
        replace(s, kernel=replace(s.kernel, id=made[k].kernel_id))
        if isinstance(s, NestStep) and k in made
        else s
        for k, s in enumerate(lowered.plan.steps)
    )
    kernels = {**lowered.kernels, **{k.kernel_id: k for k in made.values()}}
    return Lowered(replace(lowered.plan, steps=steps), kernels)


def _combining(lowered: Lowered) -> Mapping[int, Kernel]:
    """The kernels of the steps that combine elements, by the steps' indices."""
    nests = [
        (k, s) for k, s in enumerate(lowered.plan.steps) if isinstance(s, NestStep)
    ]
    kernels = {k: lowered.kernels[s.kernel.id] for k, s in nests}
    return {
        k: kernel
        for k, kernel in kernels.items()
        if isinstance(kernel.form, (Reduce, Rows))
    }


def _tree(kernel: Kernel) -> Tree:
    is_rows = isinstance(kernel.form, Rows)
    return rows.tree_of(kernel) if is_rows else reduce.tree_of(kernel)


def _with_tree(kernel: Kernel, tree: Tree) -> Kernel:
    assert isinstance(kernel.form, (Reduce, Rows))
    return replace(kernel, form=replace(kernel.form, tree=tree))
