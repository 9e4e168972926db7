"""LLVM's optimiser, as every printer for a real GPU runs it."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm


def parsed(text: str, machine: Any, triple: str) -> Any:
    """The module of a text, verified."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    return module


def optimised(module: Any, machine: Any) -> Any:
    """The module, optimised; it can be emitted once: emitting changes it.

    LLVM may shrink address arithmetic; no instruction has fast-math flags, so what is
    computed does not change. Nothing is vectorised: a kernel is the code of one thread.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module
