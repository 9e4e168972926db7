"""``fuse_modules``: layers that follow each other become one."""

from __future__ import annotations

import copy
from typing import Any

from pellucid import nn
from pellucid.ao.nn import intrinsic as nni
from pellucid.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

# A convolution's norm, and what they become in training without and with ReLU.
_CONVOLUTIONS: dict[Any, tuple[Any, Any, Any, Any]] = {
    nn.Conv1d: (nn.BatchNorm1d, nni.ConvBn1d, nni.ConvBnReLU1d, nni.ConvReLU1d),
    nn.Conv2d: (nn.BatchNorm2d, nni.ConvBn2d, nni.ConvBnReLU2d, nni.ConvReLU2d),
    nn.Conv3d: (nn.BatchNorm3d, nni.ConvBn3d, nni.ConvBnReLU3d, nni.ConvReLU3d),
}
_PLAIN: dict[tuple[Any, ...], Any] = {
    (nn.Conv1d, nn.ReLU): nni.ConvReLU1d,
    (nn.Conv2d, nn.ReLU): nni.ConvReLU2d,
    (nn.Conv3d, nn.ReLU): nni.ConvReLU3d,
    (nn.Linear, nn.ReLU): nni.LinearReLU,
    (nn.BatchNorm2d, nn.ReLU): nni.BNReLU2d,
    (nn.BatchNorm3d, nn.ReLU): nni.BNReLU3d,
}


def fuse_modules(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = None,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """The model with each named sequence of layers fused into its first.

    Conv-BN, Conv-BN-ReLU, Conv-ReLU, Linear-ReLU, Linear-BN and BN-ReLU; the others
    become ``nn.Identity``. Batch norms are folded: the model must be in eval mode
    (``fuse_modules_qat`` for training).

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()).eval()
    >>> torch.ao.quantization.fuse_modules(model, ["0", "1"])[1]
    Identity()
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func)


def fuse_modules_qat(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = None,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """``fuse_modules`` for quantization-aware training: batch norms stay layers."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func)


def _fuse(model: Any, names: Any, is_qat: bool, inplace: bool, fuser: Any) -> Any:
    model = model if inplace else copy.deepcopy(model)
    groups = [names] if all(isinstance(name, str) for name in names) else names
    for group in groups:
        layers = [model.get_submodule(name) for name in group]
        make = fuser or fuse_known_modules
        for name, layer in zip(group, make(layers, is_qat), strict=True):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, layer)
    return model


def fuse_known_modules(mod_list: Any, is_qat: bool, *unused: Any) -> list[Any]:
    """The fused layer with the hooks of both ends, and identities for the others."""
    first, last = mod_list[0], mod_list[-1]
    fused = _fused(mod_list, is_qat)
    for hook in first._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    first._forward_pre_hooks.clear()
    for hook in last._forward_hooks.values():
        fused.register_forward_hook(hook)
    last._forward_hooks.clear()
    others = [nn.Identity().train(first.training) for _ in mod_list[1:]]
    return [fused, *others]


def _fused(layers: list[Any], is_qat: bool) -> Any:
    kinds = tuple(type(layer) for layer in layers)
    if len({layer.training for layer in layers}) > 1:
        raise AssertionError("all layers must be in the same mode: train or eval")
    if kinds in _PLAIN:
        return _PLAIN[kinds](*layers)
    convolution = _CONVOLUTIONS.get(kinds[0])
    if convolution and kinds[1:] in ((convolution[0],), (convolution[0], nn.ReLU)):
        return _with_norm(layers, is_qat, convolution)
    if kinds == (nn.Linear, nn.BatchNorm1d):
        return nni.LinearBn1d(*layers) if is_qat else fuse_linear_bn_eval(*layers)
    raise NotImplementedError(
        "Cannot fuse modules: " + ", ".join(kind.__name__ for kind in kinds)
    )


def _with_norm(layers: list[Any], is_qat: bool, kinds: tuple[Any, ...]) -> Any:
    _, with_norm, with_both, with_relu = kinds
    convolution, norm = layers[:2]
    if norm.num_features != convolution.out_channels:
        raise AssertionError(
            f"the convolution has {convolution.out_channels} output channels, the norm "
            f"{norm.num_features}"
        )
    if is_qat:
        if not norm.affine or not norm.track_running_stats:
            raise AssertionError(
                "a norm is fused with affine=True and track_running_stats=True"
            )
        return (with_both if len(layers) == 3 else with_norm)(*layers)
    if convolution.training:
        raise AssertionError("a norm is folded in eval mode: call model.eval()")
    folded = fuse_conv_bn_eval(convolution, norm)
    return with_relu(folded, layers[2]) if len(layers) == 3 else folded
