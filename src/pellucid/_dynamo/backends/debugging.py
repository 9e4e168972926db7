"""Backends that run graphs op by op, and the default one, which groups ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pellucid._dynamo.backends.common import aot_autograd
from pellucid._package.lazy_exports import take_offers


def eager(gm: Any, fake_tensor_inputs: Sequence[Any], **options: Any) -> Any:
    """The graph, op by op."""
    return gm.forward


def boxed_nop(fx_g: Any, example_inputs: Sequence[Any]) -> Any:
    """A graph of smaller ops as a function of one list of arguments."""
    from pellucid._functorch.aot_autograd import make_boxed_func

    return make_boxed_func(fx_g.forward)


def aot_eager(gm: Any, fake_tensor_inputs: Sequence[Any], **options: Any) -> Any:
    """Forward and backward graphs, op by op."""
    return aot_autograd(fw_compiler=boxed_nop)(gm, fake_tensor_inputs)


BUILT_IN: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("eager", "eager_noexcept", "eager_debug"), eager),
    "aot_eager": aot_eager,
}
take_offers("_dynamo.backends.debugging.BUILT_IN", BUILT_IN)  # the default backend
