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
    """A parametrization: the weight times ``mask``, which is part of the
    sparsifier's state, not of the model's.
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """The weight times the mask."""
        if self.mask.shape != x.shape:
            raise AssertionError(
                f"a mask of shape {tuple(self.mask.shape)} for a weight of "
                f"{tuple(x.shape)}"
            )
        return self.mask * x


def module_to_fqn(model: nn.Module, module: nn.Module, prefix: str = "") -> str | None:
    """The name of ``module`` within ``model``, "0.linear"; None if it is not a
    submodule.
    """
    for name, submodule in model.named_modules():
        if submodule is module:
            return prefix + name
    return None


def fqn_to_module(model: nn.Module | None, path: str) -> Any:
    """The module or tensor of this name; None if there is none."""
    item: Any = model
    for name in path.split(".") if path else ():
        item = getattr(item, name, None)
    return item


def get_arg_info_from_tensor_fqn(model: nn.Module, tensor_fqn: str) -> dict[str, Any]:
    """The parts of the tensor's name: the module, its name, and the tensor's name in
    it.
    """
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": module_fqn,
        "module": fqn_to_module(model, module_fqn),
        "tensor_name": tensor_name,
        "tensor_fqn": tensor_fqn,
    }
