"""Cross-layer equalization: ``equalize`` moves scale between adjacent layers.

Between two layers that only a positively homogeneous function separates, output channel
``c`` of the first may be divided by any positive number and input channel ``c`` of the
second multiplied by it. ``equalize`` chooses the numbers for which both have the same
range, so that one scale per tensor loses less. Users call it before quantization.

Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
Correction", https://arxiv.org/abs/1906.04721, section 4.1.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn import intrinsic

_supported_types = {nn.Conv2d, nn.Linear, nn.Conv1d}
_supported_intrinsic_types = {
    *(intrinsic.ConvReLU2d, intrinsic.LinearReLU, intrinsic.ConvReLU1d),
}
_all_supported_types = _supported_types | _supported_intrinsic_types


def _layer(module: Any) -> Any:
    """The layer that has the weight: the first one of a fused module."""
    return module[0] if type(module) in _supported_intrinsic_types else module


def get_module_weight(module: Any) -> Any:
    """The weight of a supported module."""
    return _layer(module).weight


def set_module_weight(module: Any, weight: Tensor) -> None:
    """Replaces the weight."""
    _layer(module).weight = nn.Parameter(weight)


def has_bias(module: Any) -> bool:
    """Whether the module has a bias."""
    return getattr(_layer(module), "bias", None) is not None


def get_module_bias(module: Any) -> Any:
    """The bias of a supported module."""
    return _layer(module).bias


def set_module_bias(module: Any, bias: Tensor) -> None:
    """Replaces the bias."""
    _layer(module).bias = nn.Parameter(bias)


def max_over_ndim(
    input: Tensor, axis_list: Sequence[int], keepdim: bool = False
) -> Tensor:
    """The maximum over several dims."""
    return input.amax(list(axis_list), keepdim)


def min_over_ndim(
    input: Tensor, axis_list: Sequence[int], keepdim: bool = False
) -> Tensor:
    """The minimum over several dims."""
    return input.amin(list(axis_list), keepdim)


def channel_range(input: Tensor, axis: int = 0) -> Tensor:
    """The maximum minus the minimum of each channel."""
    others = [dim for dim in range(input.dim()) if dim != axis]
    return max_over_ndim(input, others) - min_over_ndim(input, others)


def get_name_by_module(model: nn.Module, module: nn.Module) -> str:
    """The name of a module in the model; ValueError if it is in none."""
    for name, each in model.named_modules():
        if each is module:
            return name
    raise ValueError("module is not in the model")


def cross_layer_equalization(
    module1: Any, module2: Any, output_axis: int = 0, input_axis: int = 1
) -> None:
    """Gives the output channels of the first module and the input channels of the
    second the same ranges; their product stays. Where one is constant, both stay.
    """
    modules = module1, module2
    if not all(type(each) in _all_supported_types for each in modules):
        raise ValueError(
            "equalization is for linear and convolution layers, with a fused ReLU or "
            f"without, not {type(module1).__name__} and {type(module2).__name__}"
        )
    first, second = map(get_module_weight, modules)
    channels, inputs = first.shape[output_axis], second.shape[input_axis]
    if channels != inputs:
        raise TypeError(
            f"the first module has {channels} output channels, the second {inputs} "
            "input channels: they must be equal"
        )
    ratios = channel_range(first, output_axis) / channel_range(second, input_axis)
    has_ranges = (ratios > 0) & ratios.isfinite()  # neither channel is constant
    scales = ratios.where(has_ranges, 1).sqrt()
    inverse = scales.reciprocal()
    if has_bias(module1):
        set_module_bias(module1, (get_module_bias(module1) * inverse).detach())
    for module, weight, axis, factors in (
        (module1, first, output_axis, inverse),
        (module2, second, input_axis, scales),
    ):
        shape = [1] * weight.dim()
        shape[axis] = -1
        set_module_weight(module, (weight * factors.reshape(shape)).detach())


def expand_groups_in_paired_modules_list(
    paired_modules_list: Sequence[Sequence[Any]],
) -> list[list[Any]]:
    """Groups of adjacent modules as pairs; ValueError for a group of one."""
    if any(len(group) < 2 for group in paired_modules_list):
        raise ValueError("a group has at least two adjacent modules")
    return [list(pair) for group in paired_modules_list for pair in pairwise(group)]


def process_paired_modules_list_to_name(
    model: nn.Module, paired_modules_list: Sequence[Sequence[Any]]
) -> list[list[str]]:
    """The groups with the names of the modules in place of modules."""
    return [
        [
            each if isinstance(each, str) else get_name_by_module(model, each)
            for each in group
        ]
        for group in paired_modules_list
    ]


def converged(
    curr_modules: dict[str, Any], prev_modules: dict[str, Any], threshold: float = 1e-4
) -> bool:
    """Whether the norms of the changes of all weights sum to less than the threshold;
    a previous module of None has changed.
    """
    if curr_modules.keys() != prev_modules.keys():
        raise ValueError(
            "both dicts have the same names of modules, not "
            f"{list(curr_modules)} and {list(prev_modules)}"
        )
    if None in prev_modules.values():
        return False
    with pellucid.no_grad():
        changes = [
            get_module_weight(module) - get_module_weight(prev_modules[name])
            for name, module in curr_modules.items()
        ]
        return sum(float(change.norm()) for change in changes) < threshold


def equalize(
    model: nn.Module,
    paired_modules_list: Sequence[Sequence[Any]],
    threshold: float = 1e-4,
    inplace: bool = True,
) -> nn.Module:
    """Equalizes adjacent modules until their weights change by less than the threshold.

    ``paired_modules_list``: groups of names, or of modules, in the order in which data
    passes; only a positively homogeneous function, such as ReLU, may be between them.
    Returns the model, or with ``inplace=False`` an equalized copy.
    """
    names = process_paired_modules_list_to_name(model, paired_modules_list)
    if not inplace:
        model = copy.deepcopy(model)
    pairs = expand_groups_in_paired_modules_list(names)
    every = dict(model.named_modules())
    modules: dict[str, Any] = {name: every[name] for pair in pairs for name in pair}
    previous: dict[str, Any] = dict.fromkeys(modules)
    while not converged(modules, previous, threshold):
        previous = copy.deepcopy(modules)
        for first, second in pairs:
            cross_layer_equalization(modules[first], modules[second])
    return model
