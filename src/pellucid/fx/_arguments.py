"""The parameters of the traced function, as placeholders.

Parameters with concrete values become constants; containers of them are flattened, and
``PH`` in a container marks an input. Called by ``Tracer.create_args_for_root``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from pellucid.utils import _pytree as pytree

if TYPE_CHECKING:
    from pellucid.fx._symbolic_trace import Tracer


class PHBase:
    """An input, in the containers of ``concrete_args``."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input whose placeholder receives these attributes (``ph_key`` its name)."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr: Any, to: Any) -> None:
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def of_root(
    tracer: Tracer, function: Any, is_module: bool, concrete_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """The function to run and the values to run it with."""
    code = inspect.unwrap(function).__code__
    names = list(code.co_varnames)
    total = code.co_argcount + code.co_kwonlyargcount
    args: list[Any] = [tracer.root] if is_module else []
    own = names[len(args) : total]
    if is_module and total == 0:
        raise RuntimeError("``self`` argument cannot be part of *args expansion!")
    signature = _signature(function)
    if isinstance(concrete_args, tuple):
        if len(own) != len(concrete_args):
            raise RuntimeError(
                f"Tracing expected {len(own)} arguments but got {len(concrete_args)} "
                "concrete arguments"
            )
        concrete_args = dict(zip(own, concrete_args, strict=True))

    def placeholder(name: str) -> Any:
        return _placeholder(tracer, name, signature, concrete_args)

    args += [placeholder(name) for name in own]
    star = total
    if code.co_kwonlyargcount or code.co_flags & inspect.CO_VARARGS:
        function = _positional_only(function, total)
    if code.co_flags & inspect.CO_VARARGS:
        args.append(tracer._proxy_placeholder(f"*{names[star]}", (), None))
        star += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        args.append(tracer._proxy_placeholder(f"**{names[star]}", (), None))
        function = _positional_only(function, total)
    if concrete_args is None:
        return function, args
    flat, in_spec = pytree.tree_flatten(tuple(args))
    if all(child.is_leaf() for child in in_spec.children_specs):
        return function, args
    info = _PyTreeInfo(names[:total], in_spec, None)
    codegen = tracer.graph._codegen = _PyTreeCodeGen(info)
    flat, in_spec = pytree.tree_flatten(tuple(args))

    def flatten_fn(*leaves):  # type: ignore[no-untyped-def]  # the graph's return type
        tree = pytree.tree_unflatten(list(leaves), in_spec)
        result, out_spec = pytree.tree_flatten(function(*tree))
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
        return result

    return flatten_fn, flat


def _signature(function: Any) -> inspect.Signature:
    """Annotations with names replaced by types, where they can be evaluated."""
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:
        found = inspect.signature(function)
    empty = inspect.Parameter.empty
    parameters = [
        p.replace(annotation=empty) if isinstance(p.annotation, str) else p
        for p in found.parameters.values()
    ]
    return found.replace(parameters=parameters)


def return_annotation(function: Any) -> Any:
    """The function's return annotation, or None."""
    if not getattr(function, "__annotations__", None):
        return None
    found = _signature(function).return_annotation
    is_known = found not in (inspect.Signature.empty, Any) and not isinstance(
        found, str
    )
    return found if is_known else None


def _placeholder(
    tracer: Tracer, name: str, signature: inspect.Signature, concrete: Any
) -> Any:
    parameter = signature.parameters.get(name)
    default: tuple[Any, ...] = ()
    annotation = None
    if parameter is not None:
        if parameter.default is not inspect.Parameter.empty:
            default = (parameter.default,)
        if parameter.annotation not in (inspect.Parameter.empty, Any):
            annotation = parameter.annotation
    if concrete is None or name not in concrete:
        if name[0] == "*":
            default = ()
        return tracer._proxy_placeholder(name, default, annotation)
    count = 0

    def replace(value: Any) -> Any:
        nonlocal count
        count += 1
        if isinstance(value, PHBase):
            return _input_leaf(tracer, f"{name}_{count}", value)
        proxy = tracer.create_proxy("placeholder", f"{name}_{count}", default, {})
        _check_value(tracer, proxy, name, value)
        return value

    return pytree.tree_map(replace, concrete[name])


def _input_leaf(tracer: Tracer, name: str, value: PHBase) -> Any:
    if value is PH:
        return tracer.create_proxy("placeholder", name, (), {})
    proxy = tracer.create_proxy("placeholder", name, (), {})
    _transfer_attrs(fr=value, to=proxy.node)
    return proxy


def _check_value(tracer: Tracer, proxy: Any, name: str, value: Any) -> None:
    """Adds a node that fails if the program receives another value."""
    if isinstance(value, pellucid.Tensor):
        return
    if isinstance(value, bool | int | float) or value is None:
        if value is None:
            _check_none(tracer, proxy, name)
            return
        pellucid._assert(
            proxy == value,
            f"{name} has been specialized to have value {value} but got another value",
        )
        return
    import warnings

    warnings.warn(
        f"Was not able to add assertion to guarantee correct input {name} to "
        "specialized function. It is up to the user to make sure that your inputs "
        "match "
        "the inputs you specialized the function with.",
        stacklevel=2,
    )


def assert_is_none(value: Any, message: str) -> None:
    """Raise AssertionError with ``message`` unless ``value`` is None."""
    if value is not None:
        raise AssertionError(message)


def _check_none(tracer: Tracer, proxy: Any, name: str) -> None:
    message = f"{name} has been specialized to have value None but got another value"
    tracer.create_proxy("call_function", assert_is_none, (proxy, message), {})


def _positional_only(function: Any, count: int) -> Any:
    """The function with ``*args`` and ``**kwargs`` as ordinary parameters, each of
    which receives a Proxy.
    """
    code: CodeType = function.__code__
    extra = int(bool(code.co_flags & inspect.CO_VARARGS))
    extra += bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if not extra and not code.co_kwonlyargcount:
        return function
    changed = code.replace(
        co_flags=flags, co_argcount=count + extra, co_kwonlyargcount=0
    )
    made = FunctionType(
        *(changed, function.__globals__, function.__name__),
        *(function.__defaults__, function.__closure__),
    )
    return made
