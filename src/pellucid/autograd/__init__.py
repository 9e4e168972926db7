"""Automatic differentiation: gradients, custom Functions, the graph, anomaly mode.

The engine is C++ (``runtime/autograd``); this module wraps it in PyTorch's functions.
Imported by ``pellucid/__init__.py``. Read ``function.py`` for custom Functions and
``graph.py`` for nodes; ``gradcheck.py`` is imported at first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, overload

from pellucid import _C
from pellucid._C import _is_multithreading_enabled as is_multithreading_enabled
from pellucid._C import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from pellucid._tensor import Tensor
from pellucid.autograd import grad_mode, graph
from pellucid.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from pellucid.autograd.function import Function, NestedIOFunction
from pellucid.autograd.grad_mode import (
    enforce_grad_layout_policy,
    set_multithreading_enabled,
)
from pellucid.autograd.parts import holds_part, part_of
from pellucid.autograd.variable import Variable

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

_Tensors = Tensor | Sequence[Tensor]
_Inputs = _Tensors | dict[str, Tensor]
_Gradients = Tensor | Sequence[Tensor | None] | None


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor | graph.GradientEdge):
        return (value,)
    if not isinstance(value, Iterable):
        raise TypeError(
            "expected a Tensor (or GradientEdge) or a sequence of Tensors, not "
            f"{type(value).__name__}"
        )
    return tuple(value)


def _chosen(inputs: _Inputs, caller: str) -> tuple[Any, ...]:
    """At least one input; those of a dict are its values."""
    if isinstance(inputs, dict):
        if type(inputs) is not dict:
            raise TypeError(
                f"{caller}() takes inputs as a Tensor, a sequence or a dict, not "
                f"{type(inputs).__name__}; pass dict(inputs)"
            )
        inputs = tuple(inputs.values())
    chosen = _as_tuple(inputs)
    if not chosen:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty")
    return chosen


def _gradients(given: _Gradients, count: int) -> tuple[Tensor | None, ...]:
    """One gradient, or None, for each of `count` outputs."""
    return (None,) * count if given is None else _as_tuple(given)


def backward(
    tensors: _Tensors,
    grad_tensors: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Gradients = None,
    inputs: _Inputs | None = None,
) -> None:
    """Adds the gradients of `tensors` to the ``.grad`` of the leaves they depend on.

    `grad_tensors` are the cotangents of non-scalar `tensors`. With `inputs`, tensors or
    a dict of them, only their ``.grad`` changes. `retain_graph` (default:
    `create_graph`) keeps tensors saved for backward for another pass; `create_graph`
    records the pass, for higher derivatives.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "backward() got both grad_tensors and its old name grad_variables: "
                "pass grad_tensors alone"
            )
        grad_tensors = grad_variables
    chosen = () if inputs is None else _chosen(inputs, "backward")
    roots = _as_tuple(tensors)
    given = _gradients(grad_tensors, len(roots))
    if _are_parts((*roots, *chosen)):
        roots, given = _root_parts(roots, given)
        chosen = tuple(map(part_of, chosen))
    _C._run_backward(
        roots,
        given,
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        chosen,
        True,
        True,
    )


@overload
def grad(
    outputs: _Tensors, inputs: _Tensors, *args: Any, **kwargs: Any
) -> tuple[Tensor | None, ...]: ...
@overload
def grad(
    outputs: _Tensors, inputs: dict[str, Tensor], *args: Any, **kwargs: Any
) -> dict[str, Tensor | None]: ...
@_C.overridable
def grad(
    outputs: _Tensors,
    inputs: _Inputs,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[str, Tensor | None]:
    """The gradients of `outputs` with respect to `inputs`; no ``.grad`` changes.

    A dict of inputs, such as ``dict(model.named_parameters())``, gives a dict.
    `allow_unused` gives None for an input that the outputs do not depend on,
    `materialize_grads` gives zeros.
    """
    if isinstance(inputs, dict):
        results = grad(
            *(outputs, _chosen(inputs, "grad"), grad_outputs, retain_graph),
            *(create_graph, only_inputs, allow_unused, is_grads_batched),
            materialize_grads,
        )
        return dict(zip(inputs, results, strict=True))
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs is ignored: grad() computes only gradients of the inputs; "
            "to accumulate others call backward()",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "materialize_grads=True gives zeros for unused inputs: "
            "allow_unused must not be False"
        )
    roots, wanted = _as_tuple(outputs), _chosen(inputs, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused

    def run(*gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if any(_C._unwrap(t) is not None for t in (*roots, *wanted)):
            return _pull_through_levels(roots, gradients, wanted, create_graph, unused)
        found: tuple[Tensor | None, ...] = _C._run_backward(
            roots, gradients, keep, create_graph, wanted, unused, False
        )
        return found

    given = _gradients(grad_outputs, len(roots))
    if _are_parts((*roots, *wanted)):
        roots, given = _root_parts(roots, given)
        parts = tuple(map(part_of, wanted))
        found = grad(
            *(roots, parts, given, retain_graph, create_graph, True, allow_unused),
            *(is_grads_batched, materialize_grads),
        )
        return tuple(map(_gradient_of, wanted, found))
    result = _run_batched(run, given) if is_grads_batched else run(*given)
    if not materialize_grads:
        return result
    return tuple(
        _zeros_like(i, create_graph) if g is None else g
        for g, i in zip(result, wanted, strict=True)
    )


# Tensors whose history is that of an inner tensor (DTensor).


def _are_parts(tensors: tuple[Any, ...]) -> bool:
    return any(map(holds_part, tensors))


def _gradient_of(tensor: Any, found: Any) -> Any:
    """The gradient in the form of the inner tensor."""
    if found is None or not holds_part(tensor):
        return found
    return tensor._with_gradient(found)


def _root_parts(
    roots: tuple[Any, ...], gradients: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The inner tensors of roots, and their gradients."""
    pairs = [
        root._root_part(gradient) if holds_part(root) else (root, gradient)
        for root, gradient in zip(roots, gradients, strict=True)
    ]
    return tuple(root for root, _ in pairs), tuple(gradient for _, gradient in pairs)


def _pull_through_levels(
    roots: tuple[Any, ...],
    gradients: tuple[Tensor | None, ...],
    wanted: tuple[Any, ...],
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Tensor | None, ...]:
    """Inside function transforms tensors may be batched or have tangents."""
    from pellucid.func._reverse import pull

    ones = (
        _one_like(root) if gradient is None else gradient
        for root, gradient in zip(roots, gradients, strict=True)
    )
    found = pull(roots, list(ones), wanted, create_graph)
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "a differentiated tensor was not used in the graph: pass allow_unused=True "
            "to get None for it, or materialize_grads=True for zeros"
        )
    return tuple(found)


def _one_like(root: Tensor) -> Tensor:
    import pellucid

    if root.numel() != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs; an output has the "
            f"shape {list(root.shape)}: pass a gradient of its shape"
        )
    if root.is_complex():
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs; an output is "
            f"{root.dtype}: pass a gradient"
        )
    return pellucid.ones_like(root).detach()


def _run_batched(
    run: Callable[..., tuple[Tensor | None, ...]], given: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """``run`` under vmap over the rows of the gradients; None for unused inputs."""
    from pellucid.func._vmap import vmap

    unused: list[bool] = []

    def used(*gradients: Tensor | None) -> tuple[Tensor, ...]:
        found = run(*gradients)
        unused[:] = [g is None for g in found]
        return tuple(g for g in found if g is not None)

    if all(g is None for g in given):
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs: is_grads_batched="
            "True takes grad_outputs with one row per gradient"
        )
    in_dims = tuple(None if g is None else 0 for g in given)
    results = iter(vmap(used, in_dims)(*given))
    return tuple(None if is_unused else next(results) for is_unused in unused)


def _zeros_like(tensor: Tensor, requires_grad: bool) -> Tensor:
    import pellucid

    zeros = pellucid.zeros_like(tensor)
    zeros.requires_grad = requires_grad
    return zeros


def variable(*args: Any, **kwargs: Any) -> Any:
    """Refuses: the removed constructor of ``Variable``."""
    raise RuntimeError(
        "torch.autograd.variable(...) is deprecated: use torch.tensor(..., "
        "requires_grad=True)"
    )


variable.Variable = Variable  # type: ignore[attr-defined] # as in PyTorch
_is_checkpoint_valid = _C._accumulates_into_all
_profiler_enabled = _C._timeline_is_on
_disable_profiler = _C._timeline_stop


def __getattr__(name: str) -> Any:
    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        module = import_module("pellucid.autograd.gradcheck")
        globals().update(
            gradcheck=module.gradcheck,
            gradgradcheck=module.gradgradcheck,
            GradcheckError=module.GradcheckError,
        )
        return globals()[name]
    if name in ("forward_ad", "functional", "profiler", "profiler_util"):
        return import_module(f"pellucid.autograd.{name}")
    if name == "kineto_available":
        return import_module("pellucid.profiler").kineto_available
    raise AttributeError(f"module 'pellucid.autograd' has no attribute {name!r}")
