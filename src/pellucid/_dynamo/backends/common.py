"""Building blocks of backends for ``torch.compile``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """A backend whose compilers get forward and backward graphs of smaller ops.

    ``options`` are those of ``aot_module_simplified``: ``fw_compiler``,
    ``bw_compiler``, ``inference_compiler``, ``partition_fn``, ``decompositions``.

    Example::

        def compiler(graph_module, inputs):
            print(graph_module.code)
            return make_boxed_func(graph_module.forward)

        torch.compile(model, backend=aot_autograd(fw_compiler=compiler))
    """

    def backend(graph_module: Any, inputs: Sequence[Any], **given: Any) -> Any:
        from pellucid._functorch.aot_autograd import aot_module_simplified

        return aot_module_simplified(graph_module, inputs, **options)

    return backend


def device_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The device of the first input that has one."""
    for value in example_inputs:
        if hasattr(value, "device"):
            return value.device
    return None
