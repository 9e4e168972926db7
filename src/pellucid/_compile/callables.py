"""The functions and modules that ``torch.compile`` returns."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

from pellucid import _C
from pellucid._compile.compilation import Compilation
from pellucid._compile.settings import Settings
from pellucid._package.calls import offered

_runners: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def make_runner(fn: Callable[..., Any], settings: Settings) -> Compilation:
    """The compilation that runs the calls of ``fn``."""
    name = getattr(fn, "__qualname__", type(fn).__name__)
    runner = Compilation(name, settings)
    _runners.add(runner)
    return runner


def all_runners() -> list[Any]:
    """The compilations of all live compiled callables."""
    return list(_runners)


def innermost(fn: Any) -> Any:
    """The callable that was compiled, or ``fn`` itself."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def compile_function(fn: Callable[..., Any], settings: Settings) -> Callable[..., Any]:
    """A function with the name and signature of ``fn`` that calls it in a region."""
    fn = innermost(fn)
    runner = make_runner(fn, settings)
    compiled = _C.CompiledFunction(fn, runner)
    functools.update_wrapper(compiled, fn)
    marked: Any = compiled
    marked._torchdynamo_orig_callable = fn
    marked._torchdynamo_inline = fn
    marked._pellucid_compilation = runner
    marked.get_compiler_config = lambda: dict(settings.options)
    return compiled


@offered.into("_dynamo.backends.debugging.BUILT_IN")
def inductor(gm: Any, example_inputs: Sequence[Any], **options: Any) -> Any:
    """The default backend applied to a graph: its ops are recorded and grouped
    (docs/compile.md).
    """
    return compile_function(gm.forward, Settings())
