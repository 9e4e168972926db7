"""Composites: ops that are Python functions over other ops.

    @composite("trace(Tensor self) -> Tensor")
    def trace(x):
        return x.diagonal().sum()

A composite has no kernel and no derivative: it runs in Python, on tensors of the
framework that imports it, and everything follows from the ops that it calls: every
device, Meta, gradients, vmap, forward mode. ``api`` is that framework: ``api.where`` is
``torch.where``. This package is the other half of the catalogue, one file a family.
Programs import single files of it at run time, so it imports nothing; the build calls
``all_composites``. Read next: statistics.py, declare/variants.py.
"""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False  # importing typing takes a tenth of a first call
if TYPE_CHECKING:
    from typing import Any


class _Api:
    """The framework that runs the bodies; it puts its namespace here (``__dict__``)."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


api = _Api()


class Composite:
    """One overload: its schema, its body, and what the declaration says beside them."""

    def __init__(
        self, schema: str, body: Callable[..., Any], options: dict[str, Any]
    ) -> None:
        self.schema = schema
        self.body = body
        self.options = options
        self.__doc__ = body.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The body, for other bodies: what is called is not seen as an op."""
        return self.body(*args, **kwargs)

    @property
    def place(self) -> str:
        """Where the body is found again: ``module:name``."""
        return f"{self.body.__module__}:{self.body.__name__}"


_declared: list[Composite] = []


def composite(
    schema: str, **options: Any
) -> Callable[[Callable[..., Any] | Composite], Composite]:
    """Declare a composite under PyTorch's schema; overloads of one body are stacked.
    Options:

    ``method``, ``function``  where it appears (True: as both; no method if it is in a
                    namespace); neither: in ``torch.ops`` alone
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
    ``also``, ``autocast``, ``backward``, ``backward_out``, ``core``,
    ``tags``        as in declare/decorators.py
    ``core_as``     a body of ops of Core ATen, where the own one is an op seen as this
    ``variadic``    the last list of tensors may come loose: ``block_diag(a, b)``
    ``gives_view``  a result that is a view of what the body computed stays one, as of
                    PyTorch's; else nobody sees that it is
    ``takes_parts`` the body takes sparse, quantized and nested tensors as they are;
                    else it runs only where no rule of their kind computes the op
    ``seen``        dispatch modes see the op itself, not the ops that it calls
    """

    def declare(body: Callable[..., Any] | Composite) -> Composite:
        function = body.body if isinstance(body, Composite) else body
        made = Composite(schema, function, options)
        _declared.append(made)
        return made

    return declare


def all_composites() -> list[Composite]:
    """Every composite, after importing all files of this package."""
    from importlib import import_module
    from pathlib import Path

    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem != "__init__":
            import_module(f"{__name__}.{path.stem}")
    return _declared


def room(name: str) -> Any:
    """The framework's module ``name``, where bodies call what knows the parts of
    sparse, quantized and nested tensors; imported at first use.
    """
    from importlib import import_module

    return import_module(f"{api.__name__}.{name}")


def require(
    condition: bool, message: str, *given: Any, error: type[Exception] = RuntimeError
) -> None:
    """Raise ``error`` unless ``condition`` holds. Each ``{}`` of the message is one of
    ``given``, shapes as tuples; a call that is right formats nothing.
    """
    if not condition:
        shown = (tuple(g) if isinstance(g, tuple) else g for g in given)
        raise error(message.format(*shown) if given else message)


def is_watched() -> bool:
    """Whether a dispatch mode, other than a tracer, wants to see the ops of PyTorch's
    body, where a faster one gives the same.
    """
    return any(
        not (getattr(mode, "_observes", False) or hasattr(mode, "tracer"))
        for mode in api._C._torch_dispatch_modes()
    )


def unbatched(x: Any) -> Any:
    """The values of all examples, where ``vmap`` shows those of one."""
    while (found := api._C._unwrap(x)) is not None:
        x = found[1]
    return x


def all_true(condition: Any) -> bool:
    """Whether every element is true, of every example that vmap runs, and on Meta."""
    condition = unbatched(condition)
    return not has_values(condition) or bool(condition.all())


def any_true(condition: Any) -> bool:
    """Whether some element is true, of some example that vmap runs; on Meta none is."""
    condition = unbatched(condition)
    return has_values(condition) and bool(condition.any())


def has_values(x: Any) -> bool:
    """Whether there are elements to read: not on Meta, and not of a fake tensor."""
    return not (x.is_meta or hasattr(x, "fake_mode"))
