"""``weight_norm`` as a hook before forward: the form of old checkpoints, with
``weight_g`` and ``weight_v``. New code uses ``parametrizations.weight_norm``.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._package.calls.deprecation import deprecated
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def _norm_except(weight: Tensor, dim: int) -> Tensor:
    if dim == -1:
        return weight.norm()
    others = [d for d in range(weight.dim()) if d != dim % weight.dim()]
    return pellucid.linalg.vector_norm(weight, 2, others, keepdim=True)


class WeightNorm:
    """The hook: sets the weight to ``g * v / |v|``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight computed from norm and direction."""
        g = getattr(module, f"{self.name}_g")
        v = getattr(module, f"{self.name}_v")
        weight: Tensor = v * (g / _norm_except(v, self.dim))
        return weight

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replaces the parameter ``name`` by its norm and direction."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"the parameter {name} has two weight_norm hooks")
        norm = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        g = _norm_except(weight.detach(), norm.dim)
        module.register_parameter(f"{name}_g", Parameter(g))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, norm.compute_weight(module))
        module.register_forward_pre_hook(norm)
        return norm

    def remove(self, module: Module) -> None:
        """Restores the parameter with its current value."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a weight into norm ``weight_g`` and direction ``weight_v`` (Salimans and
    Kingma 2016).
    """
    deprecated(
        "nn.utils.weight_norm", "nn.utils.parametrizations.weight_norm", FutureWarning
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Removes ``weight_norm``."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of {name!r} not found in {module}")
