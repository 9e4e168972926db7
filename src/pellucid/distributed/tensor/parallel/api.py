"""``parallelize_module``: applies styles to submodules, by name."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from pellucid.distributed.device_mesh import DeviceMesh, current_mesh
from pellucid.distributed.tensor.parallel.style import ParallelStyle
from pellucid.nn import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Applies a style to a module, or a plan: styles of submodules by name.

    Names may be patterns: ``"layers.*.attention.wq"``. The mesh has one dim.

    Example::

        parallelize_module(model, mesh, {
            "up": ColwiseParallel(),
            "down": RowwiseParallel(),
        })
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module needs a mesh of one dim, not {mesh}: give it a part, "
            'as in mesh["tp"]'
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the "
            "moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for "
            f"parallelize_plan, {type(parallelize_plan)} found!"
        )
    for pattern, style in parallelize_plan.items():
        style.src_data_rank = src_data_rank
        found = _matching(module, pattern)
        if not found:
            warnings.warn(
                f"parallelize_plan: no submodule is named {pattern!r}", stacklevel=2
            )
        for part in found:
            style._apply(part, mesh)
    return module


def _matching(module: Any, pattern: str) -> list[Any]:
    if not pattern:
        return [module]
    wanted = pattern.split(".")
    found = []
    for name, part in module.named_modules():
        given = name.split(".")
        pairs = zip(given, wanted, strict=False)
        if len(given) == len(wanted) and all(fnmatch(a, b) for a, b in pairs):
            found.append(part)
    return found
