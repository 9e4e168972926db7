"""``spectral_norm`` as a hook before forward: the form of old checkpoints, with
``weight_orig`` and ``weight_u``. New code uses ``parametrizations.spectral_norm``.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import functional
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook: divides the weight by its largest singular value."""

    def __init__(
        self, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"n_power_iterations must be positive: {n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the outputs."""
        moved = weight.movedim(self.dim, 0)
        return moved.reshape(moved.shape[0], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight over its largest singular value (Miyato et al. 2018)."""
        weight = getattr(module, f"{self.name}_orig")
        u = getattr(module, f"{self.name}_u")
        v = getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with pellucid.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        result: Tensor = weight / u.dot(matrix.mv(v))
        return result

    def remove(self, module: Module) -> None:
        """Restores the parameter with its current value."""
        with pellucid.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v"):
            delattr(module, f"{self.name}_{part}")
        delattr(module, f"{self.name}_orig")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replaces the parameter ``name`` by the hook's result."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"the parameter {name} has two spectral_norm hooks")
        norm = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"spectral_norm: the parameter {name} is None")
        with pellucid.no_grad():
            rows, columns = norm.reshape_weight_to_matrix(weight).shape
            u = functional.normalize(weight.new_empty(rows).normal_(), dim=0, eps=eps)
            v = functional.normalize(
                weight.new_empty(columns).normal_(), dim=0, eps=eps
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(norm)
        return norm


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a weight by its largest singular value before each forward.

    ``dim`` is the dim of outputs: 1 for transposed convolutions, else 0.
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Removes ``spectral_norm``."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of {name!r} not found in {module}")
