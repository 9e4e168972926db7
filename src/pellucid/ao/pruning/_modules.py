"""Modules and tensors of a model by their names, and the mask of a weight."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor, nn

__all__ = [
    "FakeSparsity",
    "fqn_to_module",
    "get_arg_info_from_tensor_fqn",
    "module_to_fqn",
]


class FakeSparsity(nn.Module):
    """A parametrization: the weight times ``mask``, which is not in the state of
    the model (a sparsifier has it).
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """The elements that the mask keeps; zeros for the others."""
        if self.mask.shape != x.shape:
            raise AssertionError(
                f"a mask of shape {tuple(self.mask.shape)} for a weight of "
                f"{tuple(x.shape)}"
            )
        return self.mask * x


def module_to_fqn(model: nn.Module, module: nn.Module, prefix: str = "") -> str | None:
    """The name of ``module`` within ``model``, "0.linear"; None if it is not there."""
    for name, found in model.named_modules():
        if found is module:
            return prefix + name
    return None


def fqn_to_module(model: nn.Module | None, path: str) -> Any:
    """The module or tensor of this name; None if there is none."""
    found: Any = model
    for name in path.split(".") if path else ():
        found = getattr(found, name, None)
    return found


def get_arg_info_from_tensor_fqn(model: nn.Module, tensor_fqn: str) -> dict[str, Any]:
    """The tensor's name apart: the module, its name, and the tensor's name there."""
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": module_fqn,
        "module": fqn_to_module(model, module_fqn),
        "tensor_name": tensor_name,
        "tensor_fqn": tensor_fqn,
    }
