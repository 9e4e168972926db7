"""``functorch.compile``: ahead-of-time autograd and its partitioners."""

from collections.abc import Callable, Sequence
from typing import Any

from pellucid._functorch import config as config
from pellucid._functorch.aot_autograd import aot_function as aot_function
from pellucid._functorch.aot_autograd import aot_module as aot_module
from pellucid._functorch.aot_autograd import (
    aot_module_simplified as aot_module_simplified,
)
from pellucid._functorch.aot_autograd import make_boxed_compiler as make_boxed_compiler
from pellucid._functorch.aot_autograd import make_boxed_func as make_boxed_func
from pellucid._functorch.partitioners import default_partition as default_partition
from pellucid._functorch.partitioners import (
    min_cut_rematerialization_partition as min_cut_rematerialization_partition,
)
from pellucid.fx.graph_module import GraphModule

compiled_function, compiled_module = aot_function, aot_module


@make_boxed_compiler
def nop(fx_g: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """A compiler that returns the graph, to run op by op."""
    return fx_g.forward


@make_boxed_compiler
def print_compile(
    fx_g: GraphModule, example_inputs: Sequence[Any]
) -> Callable[..., Any]:
    """A compiler that prints the graph's code and returns the graph."""
    print(fx_g.code)
    return fx_g.forward


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """``fn``, a function or module, with forward and backward cut so that little is
    saved: ``min_cut_rematerialization_partition``.
    """
    from pellucid.nn import Module

    options = {
        "fw_compiler": nop,
        "bw_compiler": nop,
        "partition_fn": min_cut_rematerialization_partition,
        **kwargs,
    }
    return (aot_module if isinstance(fn, Module) else aot_function)(fn, **options)
