"""``torch._dynamo.config``: settings for programs and libraries.

``disable`` is read in each call and runs compiled callables eagerly. The others have no
effect in this engine: it has no guards, so sizes and attributes never cause
recompilation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

disable = False
suppress_errors = False
recompile_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
verbose = False
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
specialize_int = False
specialize_float = False
force_parameter_static_shapes = True
allow_ignore_mark_dynamic = False
inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = False
guard_nn_modules = True
optimize_ddp: bool | str = True
error_on_recompile = False
skip_fsdp_hooks = True
enable_cpp_guard_manager = True
compiled_autograd = False
cache_size_limit = recompile_limit
accumulated_cache_size_limit = accumulated_recompile_limit
skip_code_recursive_on_recompile_limit_hit = True
raise_on_ctx_manager_usage = True
traceable_tensor_subclasses: set[type] = set()


def _set(values: dict[str, Any]) -> dict[str, Any]:
    """Sets settings; returns their previous values."""
    names = globals()
    unknown = [name for name in values if name not in names or name.startswith("_")]
    if unknown:
        raise AttributeError(f"torch._dynamo.config has no setting {unknown[0]!r}")
    before = {name: names[name] for name in values}
    names.update(values)
    return before


@contextlib.contextmanager
def patch(
    arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any
) -> Iterator[None]:
    """Changes settings in a scope or, as a decorator, in a function.

    Example::

        >>> import pellucid as torch
        >>> with torch._dynamo.config.patch(disable=True):
        ...     torch.compile(len)([1])
        1
    """
    values = dict(arg1) if isinstance(arg1, dict) else {}
    if isinstance(arg1, str):
        values[arg1] = arg2
    values.update(kwargs)
    before = _set(values)
    try:
        yield
    finally:
        _set(before)
