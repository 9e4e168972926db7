"""Composites: ops that are Python functions over other ops.

    @composite("trace(Tensor self) -> Tensor")
    def trace(x):
        return x.diagonal().sum()

A composite has no kernel and no derivative: it runs in Python, on tensors of the
framework that imports it. Devices, Meta, gradients, vmap and forward mode follow from
the ops that it calls. ``api`` is that framework: ``api.where`` is ``torch.where``. This
package complements the catalogue, with one file per family. Programs import single
files of it at run time, so it imports nothing; the build calls ``all_composites``. Read
next: statistics.py, declare/variants.py.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False  # importing typing takes a tenth of a first call
if TYPE_CHECKING:
    from typing import Any


class _Api:
    """The framework that runs the bodies, which assigns its namespace
    (``__dict__``).
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


api = _Api()


class Composite:
    """One overload: its schema, its body, and the options of its declaration."""

    def __init__(
        self, schema: str, body: Callable[..., Any], options: dict[str, Any]
    ) -> None:
        self.schema = schema
        self.body = body
        self.options = options
        self.__doc__ = body.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the body directly, for use in other bodies; modes do not see the op."""
        return self.body(*args, **kwargs)

    @property
    def place(self) -> str:
        """The import path of the body: ``module:name``."""
        return f"{self.body.__module__}:{self.body.__name__}"


_declared: list[Composite] = []


def composite(
    schema: str, **options: Any
) -> Callable[[Callable[..., Any] | Composite], Composite]:
    """Declare a composite under PyTorch's schema; overloads of one body are stacked.
    Options:

    ``method``, ``function``  where it appears (True: as both; no method if it is in a
                    namespace); neither: only in ``torch.ops``
    ``namespace``   the module of the function: ``"linalg"``, ``"fft"``, ``"special"``,
                    whose name is a prefix of the op's (``linalg_norm``), or ``"nn"``,
                    which is ``_C._nn``
    ``out``         whether an ``out=`` form derives: True, its overload's name, or its
                    schema
    ``inplace``     whether an in-place form derives: True, or its overload's name;
                    ``inplace_function``: whether it is a function, not only a method
    ``forms``       schemas of further overloads with the same arguments by name
    ``aliases``     second names of the op and of all its forms; ``special_expit`` is a
                    function of the namespace that it begins with
    ``also``, ``autocast``, ``backward``, ``backward_out``, ``casts_out``, ``core``,
    ``tags``        as in declare/options.py
    ``core_as``     a body of Core ATen ops for modes, if the body calls other ops
    ``variadic``    the last list of tensors may be given as separate arguments:
                    ``block_diag(a, b)``
    ``gives_view``  a result that is a view of a tensor that the body computed remains a
                    view, as in PyTorch; otherwise it becomes a base
    ``takes_parts`` the body takes sparse, quantized and nested tensors as they are;
                    else it runs only where no rule of their kind computes the op
    ``seen``        dispatch modes see the op itself, not the ops that it calls
    """

    def declare(body: Callable[..., Any] | Composite) -> Composite:
        function = body.body if isinstance(body, Composite) else body
        overload = Composite(schema, function, options)
        _declared.append(overload)
        return overload

    return declare


def all_composites() -> list[Composite]:
    """Every composite, after importing all files of this package."""
    from importlib import import_module
    from pathlib import Path

    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem != "__init__":
            import_module(f"{__name__}.{path.stem}")
    return _declared


def framework_module(name: str) -> Any:
    """The framework's module ``name``, imported at first use: bodies call its functions
    on sparse, quantized and nested tensors.
    """
    from importlib import import_module

    return import_module(f"{api.__name__}.{name}")


def require(
    condition: bool, message: str, *values: Any, error: type[Exception] = RuntimeError
) -> None:
    """Raise ``error`` unless ``condition`` holds. The ``{}`` of the message are
    replaced by ``values``, shapes as tuples; nothing is formatted if the condition
    holds.
    """
    if not condition:
        formatted = (tuple(g) if isinstance(g, tuple) else g for g in values)
        raise error(message.format(*formatted) if values else message)


def widened(x: Any) -> Any:
    """``x``, in float32 if it has half precision: for bodies that round once."""
    return x.float() if x.dtype in (api.half, api.bfloat16) else x


def is_watched() -> bool:
    """Whether a dispatch mode other than a tracer is active: then a body should call
    the ops of PyTorch's body, even if a faster equivalent exists.
    """
    modes = api._C._torch_dispatch_modes()
    return bool(modes) and any(
        not (getattr(mode, "_observes", False) or hasattr(mode, "tracer"))
        for mode in modes
    )


def unbatched(x: Any) -> Any:
    """The values of all examples of ``vmap``, where ``x`` appears as one example."""
    while (unwrapped := api._C._unwrap(x)) is not None:
        x = unwrapped[1]
    return x


def all_true(condition: Any) -> bool:
    """Whether every element, of every example of vmap, is true; True on Meta."""
    condition = unbatched(condition)
    return not has_values(condition) or bool(condition.all())


def any_true(condition: Any) -> bool:
    """Whether an element, of any example of vmap, is true; False on Meta."""
    condition = unbatched(condition)
    return has_values(condition) and bool(condition.any())


def has_values(x: Any) -> bool:
    """Whether elements can be read: False on Meta and for fake tensors."""
    return not (x.is_meta or hasattr(x, "fake_mode"))
