"""``torch._logging``: levels of what the compilers log."""

from __future__ import annotations

import logging
from typing import Any, Final

__all__ = ["set_logs"]

# PyTorch's components by the loggers here; the others have no part of their own.
_LOGGERS: Final = {
    "all": "pellucid",
    "dynamo": "pellucid._dynamo",
    "aot": "pellucid._functorch",
    "inductor": "pellucid._compile",
    "dynamic": "pellucid.utils._symbolic",
    "export": "pellucid.export",
    "fx": "pellucid.fx",
    "distributed": "pellucid.distributed",
}
_OTHER_COMPONENTS: Final = (
    *("autograd", "c10d", "cache", "caching", "ddp", "dtensor", "fsdp", "hop", "onnx"),
    *("loop_ordering", "optimus", "sym_node", "symbolic_shapes", "torch"),
)
# What PyTorch prints on demand; ``pellucid.explain`` and the modes show it here.
_ARTIFACTS: Final = (
    *("aot_graphs", "aot_graphs_effects", "aot_joint_graph", "benchmarking"),
    *("bytecode", "compiled_autograd", "compiled_autograd_verbose", "cudagraphs"),
    *("cudagraph_static_inputs", "ddp_graphs", "fusion", "graph", "graph_breaks"),
    *(
        "graph_code",
        "graph_region_expansion",
        "graph_sizes",
        "guards",
        "ir_post_fusion",
    ),
    *("ir_pre_fusion", "kernel_code", "onnx_diagnostics", "output_code", "overlap"),
    *("perf_hints", "post_grad_graphs", "pre_grad_graphs", "recompiles"),
    *("recompiles_verbose", "schedule", "side_effects", "trace_bytecode"),
    *("trace_call", "trace_source", "verbose_guards"),
)

_modules: Final[list[str]] = []  # whose levels were set by name


def set_logs(*, modules: dict[str, int | bool] | None = None, **levels: Any) -> None:
    """Sets the level of components (``dynamo=logging.INFO``) and of ``modules``;
    without arguments, all loggers have the default again.

    Artifacts, what PyTorch prints on demand (``graph_breaks=True``), are accepted and
    print nothing: ``pellucid.explain(compiled)`` shows graphs, breaks and kernels.
    ValueError for unknown names.
    """
    known = {*_LOGGERS, *_OTHER_COMPONENTS, *_ARTIFACTS}
    unknown = sorted(levels.keys() - known)
    if unknown:
        raise ValueError(
            f"Unrecognized log component or artifact {unknown[0]!r}; there are "
            f"{', '.join(sorted(known))}"
        )
    for name in (*_LOGGERS.values(), *_modules):
        logging.getLogger(name).setLevel(logging.NOTSET)
    _modules.clear()
    for name, level in levels.items():
        if name in _LOGGERS:
            logging.getLogger(_LOGGERS[name]).setLevel(level)
    for name, level in (modules or {}).items():
        own = name.replace("torch", "pellucid", 1) if name.startswith("torch") else name
        logging.getLogger(own).setLevel(level)
        _modules.append(own)
