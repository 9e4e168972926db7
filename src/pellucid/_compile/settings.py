"""The arguments of ``torch.compile``, checked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pellucid._compile.accepted_settings import INDUCTOR
from pellucid._compile.state import RUN_AS_WRITTEN

MODES: Final = (
    "default",
    "reduce-overhead",
    "max-autotune",
    "max-autotune-no-cudagraphs",
)

REPLAYS: Final = ("never", "faster", "always")


@dataclass(frozen=True)
class Settings:
    """How a callable is compiled.

    ``backend`` is a name or a function. Calls are replayed (replays.py) if that is
    faster; the option "replay" is "never", "faster" or "always" (without timing). The
    mode "reduce-overhead" replays more. Other modes and options select trade-offs that
    this engine does not have.
    """

    backend: str | Callable[..., Any] = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def replays(self) -> str:
        """Which calls run again without Python: "never", "faster" or "always"."""
        # Only replays recompute results.
        default = "faster" if memory_budget() >= 1 else "always"
        return str(self.options.get("replay", default))

    @property
    def keeps_arguments(self) -> bool:
        """Whether replays may refer to arguments that nothing else keeps alive."""
        return self.mode == "reduce-overhead" or self.options.get("replay") == "always"

    @property
    def takes_graphs(self) -> bool:
        """Whether the backend is a function of graphs, given or registered."""
        return self.backend not in ("inductor", *RUN_AS_WRITTEN)


def memory_budget() -> float:
    """The fraction of the peak memory that recomputation should reach; 1: no goal."""
    return float(_functorch_config().activation_memory_budget)


@functools.cache
def _functorch_config() -> Any:
    from pellucid._functorch import config

    return config


def check_options(options: dict[str, Any]) -> None:
    """RuntimeError for an option that neither Pellucid nor PyTorch has."""
    for given, value in options.items():
        name = given.replace("-", "_")
        if name == "replay":
            continue
        if name not in INDUCTOR:
            raise RuntimeError(
                f"Unexpected optimization option {given}; "
                "torch._inductor.list_options() gives the known ones"
            )
        known = INDUCTOR[name]
        if known is not None and type(value) is not type(known):
            raise RuntimeError(
                f"Unexpected type of attr {given}, got {type(value).__name__} should "
                f"be {type(known).__name__}"
            )


def check_settings(
    backend: Any, fullgraph: bool, dynamic: bool | None, mode: Any, options: Any
) -> Settings:
    """Raises PyTorch's errors for incompatible arguments."""
    from pellucid._dynamo.backends.registry import is_known
    from pellucid._dynamo.exc import InvalidBackend

    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified "
            "at the same time."
        )
    if isinstance(backend, str) and not is_known(backend):
        raise InvalidBackend(backend)
    if not isinstance(backend, str) and not callable(backend):
        raise TypeError(
            f"backend is a name or a function, not {type(backend).__name__}; "
            "torch._dynamo.list_backends() gives the names"
        )
    if mode is not None and backend == "inductor" and mode not in MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}"
        )
    if backend == "inductor":
        check_options(options or {})
    settings = Settings(backend, fullgraph, dynamic, mode, dict(options or {}))
    if backend == "inductor" and settings.replays not in REPLAYS:
        raise RuntimeError(
            f"Unexpected value {settings.replays!r} of the option 'replay': expected "
            f"one of {', '.join(REPLAYS)}"
        )
    return settings
