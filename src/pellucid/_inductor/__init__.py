"""``torch._inductor``: PyTorch's names for the default backend of ``compile``.

A package of ``aoti_compile_and_package`` holds the exported program; loading it needs
neither the model's code nor a compiler, and kernels are taken from the engine's packs.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pellucid.export import ExportedProgram
    from pellucid.fx import GraphModule

__all__ = [
    "aoti_compile_and_package",
    "aoti_load_package",
    "compile",
    "cudagraph_mark_step_begin",
    "list_mode_options",
    "list_options",
]

# PyTorch's meaning of the modes, as settings of ``config``.
_MODES: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {
        "max_autotune": True,
        "coordinate_descent_tuning": True,
    },
    "max-autotune": {
        "max_autotune": True,
        "triton.cudagraphs": True,
        "coordinate_descent_tuning": True,
    },
}


def list_mode_options(
    mode: str | None = None, dynamic: bool | None = None
) -> dict[str, Any]:
    """The settings of each mode of ``torch.compile``, or of one."""
    return copy.deepcopy(_MODES if mode is None else _MODES[mode])


def list_options() -> list[str]:
    """The names that ``torch.compile(options=...)`` takes from PyTorch's programs."""
    from pellucid._compile.accepted_settings import INDUCTOR

    return list(INDUCTOR)


def compile(
    gm: GraphModule, example_inputs: list[Any], options: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """The graph as a callable whose ops run in groups: ``torch.compile(gm)``."""
    from pellucid._dynamo.compile import compile as compile_callable

    compiled: Callable[..., Any] = compile_callable(gm, options=options)
    return compiled


def aoti_compile_and_package(
    exported_program: ExportedProgram,
    _deprecated_unused_args: Any = None,
    _deprecated_unused_kwargs: Any = None,
    *,
    package_path: Any = None,
    inductor_configs: dict[str, Any] | None = None,
) -> Any:
    """Writes a program to a file for ``aoti_load_package``; returns its path.

    Without ``package_path`` the file is in a new temporary folder. The settings in
    ``inductor_configs`` are checked and have no effect. ValueError for anything but an
    ExportedProgram, AssertionError for a path that does not end in ``.pt2``. Example::

        program = torch.export.export(model, (x,))
        path = torch._inductor.aoti_compile_and_package(program)
        torch._inductor.aoti_load_package(path)(x)
    """
    from pellucid._compile.settings import check_options
    from pellucid.export import ExportedProgram, save

    if not isinstance(exported_program, ExportedProgram):
        raise ValueError(
            "Only ExportedProgram is supported: torch.export.export gives one of a "
            f"module, and this is a {type(exported_program).__name__}"
        )
    path = package_path
    if path is None:
        path = os.path.join(tempfile.mkdtemp(prefix="pellucid-"), "model.pt2")
    if isinstance(path, str | os.PathLike) and not os.fspath(path).endswith(".pt2"):
        raise AssertionError(f"package_path must end in .pt2, and is {path!r}")
    check_options(inductor_configs or {})
    save(exported_program, path)
    return path


class AOTICompiledModel:
    """A program that was loaded from a package; a call runs it without gradients."""

    def __init__(self, program: ExportedProgram) -> None:
        from pellucid._dynamo.compile import compile as compile_callable

        self._program = program
        self._module = program.module()
        self._run = compile_callable(self._module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import pellucid

        with pellucid.no_grad():
            return self._run(*args, **kwargs)

    def get_constant_fqns(self) -> list[str]:
        """The names of its parameters, buffers and constants."""
        return [*self._program.state_dict, *self._program.constants]

    def load_constants(
        self,
        constants_map: dict[str, Any],
        *,
        check_full_update: bool,
        user_managed: bool = False,
    ) -> None:
        """Replaces values of parameters, buffers and constants by name.

        ``check_full_update``: whether all must be given. ``user_managed``: the tensors
        themselves are used, not copies. ValueError for wrong names.
        """
        import pellucid

        own = self.get_constant_fqns()
        unknown = sorted(constants_map.keys() - set(own))
        missing = sorted(set(own) - constants_map.keys()) if check_full_update else []
        if unknown or missing:
            raise ValueError(
                f"load_constants: unknown names {unknown}, missing names {missing}; "
                f"the program has {sorted(own)}"
            )
        for name, value in constants_map.items():
            holder = self._module
            *path, last = name.split(".")
            for part in path:
                holder = getattr(holder, part)
            tensor = getattr(holder, last)
            with pellucid.no_grad():
                if user_managed:
                    tensor.set_(value)
                else:
                    tensor.copy_(value)


def aoti_load_package(path: Any, *args: Any, **kwargs: Any) -> AOTICompiledModel:
    """The program that ``aoti_compile_and_package`` wrote, as a callable."""
    from pellucid.export import load

    return AOTICompiledModel(load(path))


def cudagraph_mark_step_begin() -> None:
    """Marks the beginning of a step. Results of earlier steps are never overwritten."""


def __getattr__(name: str) -> Any:
    if name != "config":
        raise AttributeError(f"module 'pellucid._inductor' has no attribute {name!r}")
    from importlib import import_module

    return import_module("pellucid._inductor.config")
