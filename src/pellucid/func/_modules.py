"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any

import pellucid
from pellucid import _C
from pellucid._tensor import Tensor
from pellucid.utils._python_dispatch import _first_to_see
from pellucid.utils._pytree import tree_flatten, tree_unflatten

_State = Mapping[str, Tensor]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: _State | Sequence[_State],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with substituted parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by the names of ``named_parameters`` and
            ``named_buffers``; several dicts must not share a name.
        tie_weights: replace a tensor that the module has under several names under all
            of them.
        strict: names that are missing or unknown are an error.

    >>> params = dict(model.named_parameters())
    >>> grad(lambda p: functional_call(model, p, (x,)).sum())(params)
    """
    state = _merged(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with substituted(module, state, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def substituted(
    module: Any, state: _State, tie_weights: bool, strict: bool
) -> AbstractContextManager[None]:
    """A scope in which the module has the parameters and buffers of ``state``."""
    return _swapped(_Places(module).of_state(state, tie_weights, strict))


def _merged(dicts: _State | Sequence[_State]) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "functional_call takes a dict of tensors or a sequence of dicts, got "
            f"{type(dicts).__name__}"
        )
    merged: dict[str, Tensor] = {}
    for state in dicts:
        if not isinstance(state, Mapping):
            raise ValueError(f"expected dicts of tensors, got {type(state).__name__}")
        twice = merged.keys() & state.keys()
        if twice:
            raise ValueError(f"{sorted(twice)} appear in several of the dictionaries")
        merged.update(state)
    return merged


_Slot = tuple[dict[str, Any], str]


class _Places:
    """The owners of a module's parameters and buffers, by full name."""

    def __init__(self, module: Any) -> None:
        self.slots: dict[str, _Slot] = {}
        for prefix, owner in module.named_modules(remove_duplicate=False):
            for table in (owner._parameters, owner._buffers):
                for name, value in table.items():
                    if value is not None:
                        full = f"{prefix}.{name}" if prefix else name
                        self.slots[full] = (table, name)

    def of_state(
        self, state: _State, tie_weights: bool, strict: bool
    ) -> list[tuple[_Slot, Tensor]]:
        unknown = state.keys() - self.slots.keys()
        given = {self._identity(name): name for name in state if name not in unknown}
        tied = {
            name: given[self._identity(name)]
            for name in self.slots
            if tie_weights and self._identity(name) in given
        }
        missing = self.slots.keys() - state.keys() - tied.keys()
        if strict and (unknown or missing):
            raise RuntimeError(
                f"functional_call with strict=True: unknown names {sorted(unknown)}, "
                f"missing names {sorted(missing)}"
            )
        known = [name for name in state if name not in unknown]
        for name in known:
            other = tied.get(name, name)
            if state[other] is not state[name]:
                raise ValueError(
                    f"functional_call: {name} and {other} are one tensor of the module "
                    "but were given different ones; give one of them, or "
                    "tie_weights=False"
                )
        sources = {**tied, **{name: name for name in known}}
        return [(self.slots[name], state[old]) for name, old in sources.items()]

    def _identity(self, name: str) -> int:
        table, key = self.slots[name]
        return id(table[key])


@contextmanager
def _swapped(replaced: Sequence[tuple[_Slot, Tensor]]) -> Iterator[None]:
    originals = [table[name] for (table, name), _ in replaced]
    try:
        for (table, name), value in replaced:
            table[name] = value
        yield
    finally:
        for ((table, name), _), value in zip(replaced, originals, strict=True):
            table[name] = value


def stack_module_state(
    models: Sequence[Any],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of equal modules, stacked along a new dim 0.

    With ``vmap`` over ``functional_call`` they are an ensemble. Raises RuntimeError for
    no models, for models of several classes and of mixed training modes.

    >>> params, buffers = stack_module_state(models)
    >>> vmap(lambda p, b: functional_call(base, (p, b), (x,)))(params, buffers)
    """
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got none")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: all models must be in the same mode")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: all models must be of the same class")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return _stacked(params), _stacked(buffers)


def _stacked(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: _stack_leaf([s[name] for s in states]) for name in states[0]}


def _stack_leaf(tensors: Sequence[Tensor]) -> Tensor:
    """Stacks tensors; a leaf if all are, so that an optimizer accepts it."""
    stacked = pellucid.stack(list(tensors))
    if not all(t.is_leaf for t in tensors):
        return stacked
    needs_grad = {t.requires_grad for t in tensors}
    if len(needs_grad) > 1:
        raise RuntimeError(
            "stack_module_state: a parameter requires gradients in some of the models "
            "only"
        )
    return stacked.detach().requires_grad_(needs_grad.pop())


def functionalize(
    func: Callable[..., Any], *, remove: str = "mutations"
) -> Callable[..., Any]:
    """``func`` without in-place writes, for tracing by ``make_fx``.

    In a trace an in-place op is replaced by the out-of-place op, later views are views
    of its result, and inputs are written once, at the end; with
    ``mutations_and_views`` views become ops that copy. Outside of a trace ``func`` runs
    unchanged, with the same results. Raises RuntimeError for an unknown ``remove``.

    Example::

        make_fx(functionalize(f))(x).code
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize: remove must be 'mutations' or 'mutations_and_views', got "
            f"{remove!r}"
        )

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        mode: Any = _first_to_see()
        if not getattr(mode, "enable_tracing", False):  # not tracing
            return _C._call_transformed(func, *args, **kwargs)
        leaves, spec = tree_flatten((args, kwargs))
        if any(_C._unwrap(t) is not None for t in leaves if isinstance(t, Tensor)):
            raise NotImplementedError(
                "functionalize within vmap, grad or jvp cannot be traced: put it "
                "outside, as in functionalize(vmap(f))"
            )

        def flat(*leaves: Any) -> Any:
            given, named = tree_unflatten(list(leaves), spec)
            return func(*given, **named)

        return mode.call_functionally(flat, tuple(leaves), remove != "mutations")

    return wrapper


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Removes the running statistics of all batch norms in ``root``; returns it.

    A module that writes to its buffers cannot run under vmap: the examples would write
    different values to one buffer. Without the buffers it uses batch statistics.

    >>> model = replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(4)))
    """
    from pellucid.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
