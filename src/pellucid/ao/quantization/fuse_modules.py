"""``fuse_modules``: fuses consecutive layers."""

from __future__ import annotations

import copy
from typing import Any

from pellucid import nn
from pellucid.ao.nn import intrinsic as nni
from pellucid.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

# The fused class of a sequence of layers; for training if it contains a norm.
FUSED: dict[tuple[Any, ...], Any] = {
    (nn.Linear, nn.ReLU): nni.LinearReLU,
    (nn.Linear, nn.BatchNorm1d): nni.LinearBn1d,
    (nn.BatchNorm2d, nn.ReLU): nni.BNReLU2d,
    (nn.BatchNorm3d, nn.ReLU): nni.BNReLU3d,
}
_TRANSPOSED: dict[Any, Any] = {}  # transposed convolutions, and the norm folded in each
for _dims in (1, 2, 3):
    _conv, _norm = getattr(nn, f"Conv{_dims}d"), getattr(nn, f"BatchNorm{_dims}d")
    FUSED[_conv, nn.ReLU] = getattr(nni, f"ConvReLU{_dims}d")
    FUSED[_conv, _norm] = getattr(nni, f"ConvBn{_dims}d")
    FUSED[_conv, _norm, nn.ReLU] = getattr(nni, f"ConvBnReLU{_dims}d")
    _TRANSPOSED[getattr(nn, f"ConvTranspose{_dims}d")] = _norm


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
    """``fuse_modules`` for quantization-aware training: batch norms are not folded."""
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
    fused = fuse_layers(is_qat, *mod_list)
    for hook in first._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    first._forward_pre_hooks.clear()
    for hook in last._forward_hooks.values():
        fused.register_forward_hook(hook)
    last._forward_hooks.clear()
    others = [nn.Identity().train(first.training) for _ in mod_list[1:]]
    return [fused, *others]


def fuse_layers(is_qat: bool, *layers: Any) -> Any:
    """One layer equivalent to ``layers`` in sequence."""
    kinds = tuple(type(layer) for layer in layers)
    if len({layer.training for layer in layers}) > 1:
        raise AssertionError("all layers must be in the same mode: train or eval")
    if _TRANSPOSED.get(kinds[0]) in kinds[1:] and len(kinds) == 2:
        if is_qat:
            raise NotImplementedError(
                "a transposed convolution is not fused with its norm in training"
            )
        return fuse_conv_bn_eval(layers[0], layers[1], transpose=True)
    fused = FUSED.get(kinds)
    if fused is None:
        raise NotImplementedError(
            "Cannot fuse modules: " + ", ".join(kind.__name__ for kind in kinds)
        )
    has_norm = kinds[0] not in _NORMS and kinds[1] in _NORMS
    return _with_norm(layers, is_qat, fused) if has_norm else fused(*layers)


_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def _with_norm(layers: tuple[Any, ...], is_qat: bool, fused: Any) -> Any:
    first, norm, *others = layers
    outputs = first.weight.shape[0]
    if norm.num_features != outputs:
        raise AssertionError(
            f"the layer has {outputs} outputs, the norm after it {norm.num_features}"
        )
    if is_qat:
        if not norm.affine or not norm.track_running_stats:
            raise AssertionError(
                "a norm is fused with affine=True and track_running_stats=True"
            )
        return fused(*layers)
    if first.training:
        raise AssertionError("a norm is folded in eval mode: call model.eval()")
    is_linear = isinstance(first, nn.Linear)
    folded = (fuse_linear_bn_eval if is_linear else fuse_conv_bn_eval)(first, norm)
    return fuse_layers(is_qat, folded, *others) if others else folded
