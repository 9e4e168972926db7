"""The compiled functions of one callable, and their selection for a segment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import pellucid
from pellucid import _C, Tensor
from pellucid._compile import state
from pellucid._compile.capture import graphs, variants
from pellucid._compile.capture.mode import (
    BY_EXCEPTION,
    CaptureMode,
    capturing,
    place_of_program,
)
from pellucid._compile.capture.segment import Segment
from pellucid._compile.capture.variants import Pattern
from pellucid._compile.settings import Settings

Facts = tuple[tuple[int, ...], tuple[int | float, ...]]  # sizes and numbers of a call


class Variant(NamedTuple):
    """A compiled function, and the calls for which it is valid."""

    pattern: Pattern
    facts: Facts
    function: Callable[..., Any]


class Backend:
    """Passes the graphs of a callable to its backend and runs the returned
    functions.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name, self.settings = name, settings
        self.reset()

    def reset(self) -> None:
        """Clears all graphs."""
        self.variants: dict[Any, list[Variant]] = {}
        self.compiled_at: dict[int, int] = {}  # graphs of the n-th segment of a call
        self.is_new = True  # the last call had a new segment: record source lines
        self.has_run = False
        self.breaks: list[tuple[str, str]] = []  # reasons and places

    def run(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Calls ``fn``, with its graphs run by the backend's functions."""
        if state.capture() is not None or _C._torch_function_modes():
            return fn(*args, **kwargs)
        call = _CallOf(self, fn, args, kwargs)
        mode = CaptureMode(call.execute, call.refuse, self.is_new)
        self.is_new = False
        self._count_frame()
        with capturing(mode):
            result = fn(*args, **kwargs)
        return result

    def _count_frame(self) -> None:
        from pellucid._dynamo.utils import counters

        if not self.has_run:
            self.has_run = True
            counters["frames"]["total"] += 1
            counters["frames"]["ok"] += 1

    def compile(self, module: Any, examples: list[Any]) -> Callable[..., Any]:
        """The backend's function for a graph."""
        from pellucid._dynamo import config
        from pellucid._dynamo.backends.registry import lookup_backend
        from pellucid._dynamo.exc import BackendCompilerFailed

        backend = lookup_backend(self.settings.backend)
        options: dict[str, Any] = {}
        if self.settings.mode is not None:
            options["mode"] = self.settings.mode
        if self.settings.options:
            options["options"] = dict(self.settings.options)
        try:
            function = backend(module, examples, **options)
            if not callable(function):
                raise TypeError(
                    "a backend returns a callable of the graph's inputs, not "
                    f"{type(function).__name__}; gm.forward is one"
                )
        except Exception as error:
            if not config.suppress_errors:
                raise BackendCompilerFailed(backend, error) from error
            warnings.warn(f"the graph runs uncompiled: {error}", stacklevel=2)
            function = module.forward
        return cast(Callable[..., Any], function)


class _CallOf:
    """One call of a compiled callable."""

    def __init__(self, backend: Backend, fn: Any, args: Any, kwargs: Any) -> None:
        self.backend = backend
        self.program = fn, args, kwargs
        self.count = 0

    def execute(
        self, segment: Segment, outputs: list[int], reason: str | None
    ) -> list[Tensor]:
        """The tensors of ``outputs``, computed by a compiled function."""
        backend = self.backend
        if reason is not None:
            self._note_break(reason)
        writes = any(call.writes for call in segment.calls)
        if not outputs and not writes:
            segment.run()  # so that unused random draws advance the generator
            return []
        number, self.count = self.count, self.count + 1
        facts = tuple(segment.sizes), tuple(segment.numbers)
        default = pellucid.get_default_dtype()
        casts = _C._autocast_state()
        key = (*segment.key, tuple(outputs), segment.grad_mode, default, casts)
        known = backend.variants.setdefault(key, [])
        for variant in known:
            slots = variant.pattern.slots(*facts)
            if slots is not None:
                return self._call(variant.function, segment, slots)
        if not self._may_compile(number):
            values = segment.run()
            return [values.pop(n) for n in outputs]
        pattern = self._pattern(segment, known, facts)
        slots = pattern.slots(*facts)
        assert slots is not None
        function = self._compile(segment, pattern, outputs, slots)
        known.append(Variant(pattern, facts, function))
        backend.compiled_at[number] = backend.compiled_at.get(number, 0) + 1
        return self._call(function, segment, slots)

    def _call(self, function: Any, segment: Segment, slots: list[Any]) -> list[Tensor]:
        inputs = [tensor for _, tensor in segment.inputs()]
        results = function(*slots, *inputs)
        del inputs
        return list(results)

    def _pattern(self, segment: Segment, known: list[Variant], facts: Facts) -> Pattern:
        dynamic = self.backend.settings.dynamic
        if dynamic is False:
            return variants.fixed(*facts)
        if known:
            return variants.widen(known[-1].pattern, known[-1].facts, *facts)
        marks: list[bool] = []
        for _, tensor in segment.inputs():
            marked = getattr(tensor, "_dynamo_dynamic_indices", ())
            static = getattr(tensor, "_dynamo_static_indices", ())
            fixed = isinstance(tensor, pellucid.nn.Parameter)
            marks += [
                (dynamic is True and not fixed and dim not in static) or dim in marked
                for dim in range(tensor.dim())
            ]
        return variants.open_sizes(*facts, marks)

    def _compile(
        self,
        segment: Segment,
        pattern: Pattern,
        outputs: Sequence[int],
        slots: list[Any],
    ) -> Any:
        from pellucid._dynamo.utils import counters

        self.backend.is_new = True
        names = graphs.names_of_inputs(*self.program)
        module = graphs.make_graph(segment, pattern, outputs, names)
        examples = [*slots, *(tensor for _, tensor in segment.inputs())]
        graphs.add_examples(module, examples)
        counters["stats"]["calls_captured"] += len(segment.calls)
        counters["stats"]["unique_graphs"] += 1
        return self.backend.compile(module, examples)

    def _may_compile(self, number: int) -> bool:
        """Whether the n-th segment may be compiled again."""
        from pellucid._dynamo import config
        from pellucid._dynamo.exc import FailOnRecompileLimitHit, RecompileError

        made = self.backend.compiled_at.get(number, 0)
        if not made:
            return True
        name, stance = self.backend.name, state.stance()
        if config.error_on_recompile or stance == "fail_on_recompile":
            raise RecompileError(f"{name} needs another graph, which is forbidden")
        if stance == "eager_on_recompile":
            return False
        if made < config.recompile_limit:
            return True
        message = (
            f"{name} was compiled {made} times for one segment, which is "
            "torch._dynamo.config.recompile_limit; other calls run uncompiled"
        )
        if config.fail_on_recompile_limit_hit or self.backend.settings.fullgraph:
            raise FailOnRecompileLimitHit(message)
        if made == config.recompile_limit:
            self.backend.compiled_at[number] = made + 1
            warnings.warn(message, stacklevel=2)
        return False

    def refuse(self, reason: str) -> None:
        """Raises Unsupported for a callable of ``fullgraph=True``."""
        from pellucid._dynamo.exc import Unsupported

        if self.backend.settings.fullgraph and reason != BY_EXCEPTION:
            raise Unsupported(
                f"fullgraph=True: {reason}, at\n    {_where()}\nThe program is no "
                "longer one graph. Move the line out of the compiled function, or "
                "leave fullgraph=False."
            )

    def _note_break(self, reason: str) -> None:
        from pellucid._dynamo.utils import counters

        self.refuse(reason)
        where = _where()
        if (reason, where) not in self.backend.breaks:
            self.backend.breaks.append((reason, where))
            counters["graph_break"][reason] += 1


def _where() -> str:
    place = place_of_program()
    return f"{place[0]}:{place[1]} in {place[2]}" if place else ""
