"""Explains a call, from its arguments to machine code.

``explain(fn, *args)`` runs the call, recorded by the timeline, and shows for every op:
schema, dispatch keys, specialisation key, handler, Graph, passes that changed the
Graph, plan, kernels and whether the pack has them, and which driver ran its products
and why; of several ops a line each, and all of it in ``.more``. ``.passes()`` shows the
Graph before and after each pass; ``.llvm()`` and ``.assembly()`` go on to machine code,
which needs llvmlite.
``python -m pellucid.explain softsign`` shows an op by name.

    >>> print(pellucid.explain(torch.softmax, x, -1))

``explain.backward(loss)``, or ``explain(loss.grad_fn)``, walks a backward pass;
``explain.view``, ``gradient``, ``dtype``, ``saved``, ``compare``, ``repeated``,
``slow``, ``directions``, ``strides``, ``loader``, ``device``, ``quantized``,
``exported`` and ``buckets`` answer one question each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pellucid.explain.report import (
    Explanation,
    calls_of,
    sections_of,
    watched_log,
)

__all__ = [
    *("Explanation", "backward", "buckets", "compare", "declaration", "device"),
    *("directions", "dtype", "explain", "exported", "gradient", "loader", "quantized"),
    *("repeated", "saved", "slow", "strides", "view"),
]


def explain(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls ``fn`` and explains every op that it ran; print the result.

    A ``grad_fn`` in the place of ``fn`` is explained by its backward pass, what
    ``torch.compile`` gave, without arguments, by what its first call recorded.
    """
    compilation = getattr(fn, "_pellucid_compilation", None)
    if compilation is not None and not args and not kwargs:
        from pellucid._compile.report import CompilationReport

        return CompilationReport(compilation)
    from pellucid import _C

    if isinstance(fn, _C.Node):
        return backward(fn)
    log = watched_log(lambda: fn(*args, **kwargs))
    return Explanation(list(sections_of(calls_of(log))))


def backward(target: Any) -> Explanation:
    """The backward pass of a tensor or a ``grad_fn``, node by node."""
    from pellucid.explain.backward_pass import explain_backward

    return explain_backward(target)


def view(tensor: Any, *args: Any, **kwargs: Any) -> str:
    """Which memory a tensor shares, which variables refer to it, and whether flattening
    copies. Of a function, called with ``args``, the same of its result, and which lines
    made views.

    Example: ``print(pellucid.explain.view(x.t()))``.
    """
    from pellucid.explain.answers import explain_view

    return explain_view(tensor, args, kwargs)


def gradient(tensor: Any, output: Any) -> str:
    """Why ``tensor.grad`` is None after ``output.backward()``, or how it is reached.
    Of a function that computes the output, also which lines ended the graph.

    Example: ``print(pellucid.explain.gradient(w, loss))``.
    """
    from pellucid.explain.answers import explain_gradient

    return explain_gradient(tensor, output)


def dtype(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Which calls of ``fn(*args, **kwargs)`` mixed floating dtypes, and so widened.

    Example: ``print(pellucid.explain.dtype(model, x))``.
    """
    from pellucid.explain.answers import explain_dtype

    return explain_dtype(fn, args, kwargs)


def saved(target: Any) -> str:
    """What is saved for the backward pass of a tensor, by kind of node.

    Example: ``print(pellucid.explain.saved(loss))``.
    """
    from pellucid.explain.answers import explain_saved

    return explain_saved(target)


def compare(a: Callable[[], Any], b: Callable[[], Any]) -> str:
    """The first op whose bits differ between two runs, its line, and by how much.

    Example: ``print(pellucid.explain.compare(lambda: model(x), lambda: other(x)))``.
    """
    from pellucid.explain.runs import explain_compare

    return explain_compare(a, b)


def repeated(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Which ops of ``fn(*args, **kwargs)`` computed the same from the same values.

    Example: ``print(pellucid.explain.repeated(model, x))``.
    """
    from pellucid.explain.runs import explain_repeated

    return explain_repeated(fn, args, kwargs)


def slow(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The overheads of ``fn(*args, **kwargs)`` besides computation, and settings.

    Example: ``print(pellucid.explain.slow(model, x))``.
    """
    from pellucid.explain.times import explain_slow

    return explain_slow(fn, args, kwargs)


def directions(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Each line's milliseconds forward, backward, and their ratio.

    Example: ``print(pellucid.explain.directions(step))``, which calls backward().
    """
    from pellucid.explain.times import explain_directions

    return explain_directions(fn, args, kwargs)


def strides(tensor: Any) -> str:
    """The measured cost of a tensor's layout for one pass, and when a copy is faster.

    Example: ``print(pellucid.explain.strides(x.t()))``.
    """
    from pellucid.explain.times import explain_strides

    return explain_strides(tensor)


def loader(loader: Any, batches: int = 8) -> str:
    """Where the time of a DataLoader's batches goes. ValueError for datasets that are
    iterated.

    Example: ``print(pellucid.explain.loader(train_loader))``.
    """
    from pellucid.explain.times import explain_loader

    return explain_loader(loader, batches)


def device(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Which steps of ``fn(*args, **kwargs)`` the CPU ran for a device, and why.

    Example: ``print(pellucid.explain.device(model, x))``.
    """
    from pellucid.explain.times import explain_device

    return explain_device(fn, args, kwargs)


def quantized(model: Any, narrow: Any, inputs: Any) -> str:
    """Which layers of a quantized model lose most beside the ``model`` that it was made
    from, and on which of the ``inputs`` (tensors, or tuples of arguments).

    Example: ``print(pellucid.explain.quantized(model, narrow, [x]))``.
    """
    from pellucid.explain.parts import explain_quantized

    return explain_quantized(model, narrow, inputs)


def exported(model: Any, args: tuple[Any, ...], dynamic_shapes: Any = None) -> str:
    """What of a module is not in the program that ``torch.export.export`` makes with
    these arguments: decided branches, Python's own calls and attributes, fixed sizes,
    results that nothing reads.

    Example: ``print(pellucid.explain.exported(model, (x,)))``.
    """
    from pellucid.explain.parts import explain_exported

    return explain_exported(model, args, dynamic_shapes)


def buckets(step: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Of each bucket of gradients of a DistributedDataParallel's ``step(*args)``: when
    it was full, how long its reduction took, and how much of that backward hid. Every
    rank calls it. The step runs twice.

    Example: ``print(pellucid.explain.buckets(train_step))``.
    """
    from pellucid.explain.parts import explain_buckets

    return explain_buckets(step, args, kwargs)


def declaration(op: Any, dtype: str = "float32") -> Explanation:
    """Explains a user-defined op, for small tensors of ``dtype``.

    Example: ``print(pellucid.explain.declaration(my_op).assembly())``.
    """
    from pellucid.explain.__main__ import explain_declaration

    return explain_declaration(op, dtype)


class _Callable(ModuleType):
    """Makes the package callable: ``pellucid.explain(fn)``."""

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return explain(fn, *args, **kwargs)


sys.modules[__name__].__class__ = _Callable
