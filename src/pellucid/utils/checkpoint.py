"""Activation checkpointing: saves memory by recomputing the forward pass.

``checkpoint(function, *args)`` only stores the arguments and reruns the function when
backward needs its intermediate values. ``use_reentrant=False`` works through hooks on
saved tensors (``_recompute.py``); ``use_reentrant=True`` is a custom Function whose
backward runs a backward pass of its own. ``_selective.py`` chooses per op what to save.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._tensor.copying import leaf_of
from pellucid.autograd import Function
from pellucid.utils._random_states import (
    DefaultDeviceType,
    RandomStates,
    get_device_states,
    random_numbers_of,
    set_device_states,
)
from pellucid.utils._recompute import (
    CheckpointError,
    Frame,
    GraphExecGroup,
    current_scopes,
)
from pellucid.utils._selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_early_stop = True
_debug: bool | None = None


def noop_context_fn() -> _Contexts:
    """Contexts that do nothing: the default `context_fn`."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, whose intermediate values backward recomputes.

    With ``use_reentrant=False`` (recommended) there are no restrictions: nested
    arguments, keywords, nested checkpoints and ``autograd.grad`` work, and the second
    run stops as soon as all needed values are recomputed (`early_stop`). With
    ``use_reentrant=True`` only tensors among `args` get gradients, and only in
    ``backward()`` without ``inputs``.

    `preserve_rng_state` gives the second run the random numbers of the first.
    `context_fn` returns two contexts, for the first run and for the second.
    `determinism_check` ``"default"`` compares shape, dtype and device of saved tensors
    and raises CheckpointError if they differ, ``"none"`` does not; with `debug` that
    error shows where the tensor was saved.

    >>> y = checkpoint(block, x, use_reentrant=False)
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: pass use_reentrant explicitly; use_reentrant=False is "
            "recommended, the default is True",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"checkpoint with use_reentrant=True takes no keywords for the "
                f"function: {', '.join(kwargs)}. Use use_reentrant=False"
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "context_fn and debug are for checkpoint with use_reentrant=False"
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    with recorded(
        function,
        (kwargs, *args),
        context_fn=context_fn,
        determinism_check=determinism_check,
        debug=debug,
        early_stop=early_stop,
        preserve_rng_state=preserve_rng_state,
    ):
        return function(*args, **kwargs)


@contextmanager
def recorded(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
) -> Iterator[None]:
    """The scope of a checkpoint's first run: ``arguments`` are the keywords, then the
    positional ones.
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check must be 'default' or 'none', not {determinism_check!r}"
        )
    first_context, second_context = context_fn()
    state = RandomStates.of(arguments) if preserve_rng_state else None
    region, scopes = _current_region(), current_scopes()

    def recompute(keywords: dict[str, Any], *args: Any) -> None:
        with random_numbers_of(state), region, scopes(False), second_context:
            function(*args, **keywords)

    frame = Frame(
        recompute,
        arguments,
        early_stop=early_stop and _early_stop,
        compare=determinism_check == "default",
        debug=debug if _debug is None else _debug,
    )
    if not frame.records:
        yield
        return
    with frame.hooks(), first_context:
        yield


def _current_region() -> AbstractContextManager[Any]:
    """A copy of the current autocast region, for the second run."""
    enabled, dtype, caches_casts = _C._autocast_state()
    region: AbstractContextManager[Any] = pellucid.autocast(
        "cpu", dtype, enabled, caches_casts
    )
    return region


class CheckpointFunction(Function):
    """A checkpoint whose backward runs a backward pass of its own."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        check_backward_validity(args)
        ctx.function = function
        ctx.region, ctx.scopes = _current_region(), current_scopes()
        ctx.state = RandomStates.of(args) if preserve_rng_state else None
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C._accumulates_into_all():
            raise RuntimeError(
                "checkpoint with use_reentrant=True works in backward() without "
                "inputs alone, not in autograd.grad(): use use_reentrant=False"
            )
        # What a recomputation keeps in its place requires no gradient: ask the call.
        detached = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            detached[place] = leaf_of(tensor, ctx.needs_input_grad[2 + place])
        random_numbers, scopes = random_numbers_of(ctx.state), ctx.scopes(True)
        with random_numbers, ctx.region, scopes, pellucid.enable_grad():
            outputs = ctx.function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "no output of the checkpointed function requires gradients: the "
                "checkpoint is not needed"
            )
        pellucid.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        found = (a.grad if isinstance(a, Tensor) else None for a in detached)
        return (None, None, *found)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Runs functions in sequence, in `segments` checkpoints.

    `functions` is a ``nn.Sequential`` or a list of modules or functions. The last
    segment is not a checkpoint: backward begins with it at once.

    >>> y = checkpoint_sequential(model, 4, x, use_reentrant=False)
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: pass use_reentrant explicitly; "
            "use_reentrant=False is recommended, the default is True",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"unexpected keyword arguments: {', '.join(kwargs)}")
    children = getattr(functions, "children", None)
    steps: Sequence[Callable[..., Any]] = list(children() if children else functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size or 1):
        input = checkpoint(
            run(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return run(size * (segments - 1), len(steps))(input)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, with tensors detached to leaves over the same memory."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"only a tuple of values is supported, not {type(inputs).__name__}"
        )
    return tuple(
        leaf_of(value, value.requires_grad) if isinstance(value, Tensor) else value
        for value in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns when no tensor among `inputs` requires gradients."""
    if not any(value.requires_grad for value in inputs if isinstance(value, Tensor)):
        warnings.warn(
            "none of the inputs of the checkpoint requires gradients: nothing in it "
            "will get any. Use use_reentrant=False",
            stacklevel=2,
        )


class set_checkpoint_early_stop:
    """A scope that sets whether its checkpoints may stop recomputing early."""

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        global _early_stop
        self._previous, _early_stop = _early_stop, self.enable

    def __exit__(self, *exception: object) -> None:
        global _early_stop
        _early_stop = self._previous


class set_checkpoint_debug_enabled:
    """A scope that overrides `debug` of its checkpoints; None does not."""

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        global _debug
        self._previous, _debug = _debug, self.enabled

    def __exit__(self, *exception: object) -> None:
        global _debug
        _debug = self._previous
