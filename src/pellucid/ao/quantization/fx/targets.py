"""The targets of each node's inputs and result: constructors of observers.

They follow from qconfigs, if a backend's table allows their dtypes. ``prepare.py``
inserts observers where a node's result target differs from its reader's input target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from warnings import warn

import pellucid
from pellucid.ao.quantization.backend_config import (
    BackendConfig,
    DTypeConfig,
    DTypeWithConstraints,
)
from pellucid.ao.quantization.fake_quantize import (
    FakeQuantizeBase,
    FixedQParamsFakeQuantize,
)
from pellucid.ao.quantization.fx.matching import Match, Modules, without_tensors
from pellucid.ao.quantization.observer import (
    FixedQParamsObserver,
    NoopObserver,
    PlaceholderObserver,
    ReuseInputObserver,
)
from pellucid.ao.quantization.qconfig import (
    float16_dynamic_qconfig,
    float16_static_qconfig,
    qconfig_equals,
)
from pellucid.fx import Graph, Node
from pellucid.nn import functional as F

_FLOAT = PlaceholderObserver.with_args(dtype=pellucid.float32)
_UNSIGNED = PlaceholderObserver.with_args(dtype=pellucid.quint8)
# Their quantized forms have float weights.
_FLOAT_WEIGHTS = (F.layer_norm, F.group_norm, F.instance_norm)


@dataclass
class Target:
    """Constructors for a node's inputs, results, weight and bias; None: no tensor."""

    input: Any = _FLOAT
    output: Any = _FLOAT
    weight: Any = _FLOAT
    bias: Any = _FLOAT
    weight_index: int | None = None
    bias_index: int | None = None
    reuses_input: bool = False
    shares_observer: bool = False

    def role(self, node: Node, argument: Node) -> str:
        """The role of an argument: ``"weight"``, ``"bias"`` or ``"input"``."""
        for name, index in (("weight", self.weight_index), ("bias", self.bias_index)):
            is_at = index is not None and index < len(node.args)
            if is_at and node.args[index or 0] is argument:
                return name
            if node.kwargs.get(name) is argument:
                return name
        return "input"

    def wanted(self, node: Node, argument: Node) -> Any:
        """The constructor for an argument of a node."""
        role = self.role(node, argument)
        if role == "weight" and node.target in _FLOAT_WEIGHTS:
            return None
        return getattr(self, role)


def dtype_of(constructor: Any) -> tuple[Any, bool]:
    """(dtype, whether the scale is dynamic)"""
    if constructor is None:
        return None, False
    made = constructor()
    return made.dtype, bool(getattr(made, "is_dynamic", False))


def targets_of(
    graph: Graph,
    modules: Modules,
    found: dict[Node, Match],
    qconfigs: dict[str, Any],
    backend: BackendConfig,
    quantized_inputs: list[int],
) -> dict[Node, Target]:
    """The target of each node."""
    tensorless = without_tensors(graph, modules)
    targets = {node: Target() for node in graph.nodes}
    for node, match in found.items():
        qconfig = qconfigs[match.last.name]
        if qconfig is not None:
            targets[node] = _by_qconfig(node, match, qconfig, backend)
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    for index in quantized_inputs:
        if index < len(inputs):
            targets[inputs[index]] = Target(_UNSIGNED, _UNSIGNED)
    for node in tensorless:
        targets[node] = Target(None, None)
    _mark_numbers(graph, found, targets)
    for node, match in found.items():
        if not is_supported(match, qconfigs[node.name], targets, backend):
            left = {*match.members()} - tensorless
            targets |= {each: Target() for each in left}
    return targets


def _by_qconfig(
    node: Node, match: Match, qconfig: Any, backend: BackendConfig
) -> Target:
    activation, is_dynamic = dtype_of(qconfig.activation)
    half = pellucid.float16
    is_half = not is_dynamic and activation is half and _is_half(qconfig.weight)
    bias = PlaceholderObserver.with_args(dtype=half if is_half else pellucid.float32)
    places: dict[str, int] = {}
    if node.op == "call_function" and node.target in backend.by_pattern:
        places = backend.by_pattern[node.target]._input_type_to_index
    return Target(
        *(qconfig.activation, qconfig.activation, qconfig.weight, bias),
        *(places.get("weight"), places.get("bias"), _reuses_input(qconfig)),
        match.shares_observer,
    )


def _is_half(constructor: Any) -> bool:
    return dtype_of(constructor)[0] is pellucid.float16


def _reuses_input(qconfig: Any) -> bool:
    made = qconfig.activation()
    if not isinstance(made, ReuseInputObserver) or qconfig.weight is None:
        return False
    return isinstance(qconfig.weight(), NoopObserver)


# Methods' arguments that are not tensors even if they are nodes: the first index, and
# the end.
_NUMBERS = {
    **dict.fromkeys(("permute", "repeat", "reshape", "transpose", "view"), (1, None)),
    **dict.fromkeys(("size", "unsqueeze", "unsqueeze_"), (1, 2)),
    "masked_fill": (1, 3),
}


def _mark_numbers(
    graph: Graph, found: dict[Node, Match], targets: dict[Node, Target]
) -> None:
    for node in graph.nodes:
        if node.op == "call_method" and node.target in _NUMBERS:
            start, end = _NUMBERS[str(node.target)]
            for argument in node.args[start:end]:
                many = argument if isinstance(argument, list | tuple) else [argument]
                for each in many:
                    _mark_number(each, found, targets)


def _mark_number(
    argument: Any, found: dict[Node, Match], targets: dict[Node, Target]
) -> None:
    """Sets the target, also upstream through ops that only move elements."""
    while isinstance(argument, Node):
        targets[argument].input = targets[argument].output = None
        match = found.get(argument)
        if match is None or not match.shares_observer or not argument.args:
            return
        argument = argument.args[0]


# Whether a backend's table allows the dtypes


def is_supported(
    match: Match, qconfig: Any, targets: dict[Node, Target], backend: BackendConfig
) -> bool:
    """Whether one of the pattern's sets of dtypes matches its nodes' targets."""
    if match.config is None:
        return True
    configs = backend.by_pattern[match.pattern].dtype_configs
    return any(_allows(config, match, qconfig, targets) for config in configs)


def _allows(
    config: DTypeConfig, match: Match, qconfig: Any, targets: dict[Node, Target]
) -> bool:
    root = match.root
    arguments = [*root.args, *root.kwargs.values()]
    while any(isinstance(each, list | tuple) for each in arguments):
        arguments = [
            inner
            for each in arguments
            for inner in (each if isinstance(each, list | tuple) else [each])
        ]
    return all(
        _allows_argument(config, root, each, qconfig, targets[root])
        for each in arguments
        if isinstance(each, Node)
    ) and _allows_result(config, qconfig, targets[match.last])


def _allows_argument(
    config: DTypeConfig, node: Node, argument: Node, qconfig: Any, target: Target
) -> bool:
    role = target.role(node, argument)
    dtype, is_dynamic = dtype_of(getattr(target, role))
    if role == "bias":
        return config.bias_dtype in (None, dtype)
    if role == "weight":
        if config.weight_dtype is None:
            return True
        limits = config.weight_dtype_with_constraints
        return dtype is config.weight_dtype and _is_within(qconfig, limits, "weight")
    if config.input_dtype is None:
        return True
    limits = config.input_dtype_with_constraints
    return (
        dtype is config.input_dtype
        and bool(config.is_dynamic) == is_dynamic
        and _is_within(qconfig, limits, "activation")
    )


def _allows_result(config: DTypeConfig, qconfig: Any, target: Target) -> bool:
    if config.output_dtype is None:
        return True
    dtype, is_dynamic = dtype_of(target.output)
    # with a dynamic qconfig results are floats
    dtype = pellucid.float32 if is_dynamic else dtype
    limits = config.output_dtype_with_constraints
    return dtype is config.output_dtype and _is_within(qconfig, limits, "activation")


def _is_within(qconfig: Any, limits: DTypeWithConstraints, part: str) -> bool:
    """Whether a qconfig's observer is within a backend's limits."""
    constructor = getattr(qconfig, part, None)
    if limits.dtype is None or constructor is None:
        return True
    made = constructor()
    if made.dtype is not limits.dtype:
        return True
    observer = made
    if isinstance(made, FakeQuantizeBase):
        observer = getattr(made, "activation_post_process", made)
    problem = (
        _range_problem(observer, limits)
        or _scale_problem(observer, limits)
        or _fixed_problem(made, observer, limits, qconfig)
    )
    if problem:
        warn(f"QConfig {part} {problem}, ignoring {qconfig}", stacklevel=2)
    return not problem


def _range_problem(observer: Any, limits: DTypeWithConstraints) -> str | None:
    least, most = limits.quant_min_lower_bound, limits.quant_max_upper_bound
    if least is None or most is None:
        return None
    given = getattr(observer, "quant_min", None), getattr(observer, "quant_max", None)
    if given[0] is None or given[1] is None:
        return "must specify 'quant_min' and 'quant_max'"
    if given[0] < least or given[1] > most:
        return (
            "quantization range must fall within the backend's: it is "
            f"{given}, the backend's is {(least, most)}"
        )
    return None


def _scale_problem(observer: Any, limits: DTypeWithConstraints) -> str | None:
    least = limits.scale_min_lower_bound
    if least is None:
        return None
    given = getattr(observer, "eps", None)
    if given is None:
        return "must specify 'eps'"
    if float(given) < least:
        return (
            f"eps ({float(given)}) must be greater than or equal to the backend's min "
            f"scale value ({least})"
        )
    return None


def _fixed_problem(
    made: Any, observer: Any, limits: DTypeWithConstraints, qconfig: Any
) -> str | None:
    scale, zero_point = limits.scale_exact_match, limits.zero_point_exact_match
    if scale is None or zero_point is None:
        return None
    if any(
        qconfig_equals(qconfig, half)
        for half in (float16_static_qconfig, float16_dynamic_qconfig)
    ):
        return None
    if not isinstance(made, FixedQParamsObserver | FixedQParamsFakeQuantize):
        return (
            "must specify a FixedQParamsObserver or a FixedQParamsFakeQuantize for "
            "fixed qparams ops: torch.ao.quantization.get_default_qconfig_mapping and "
            "get_default_qat_qconfig_mapping do"
        )
    given = float(observer.scale), int(observer.zero_point)
    if given != (scale, zero_point):
        return (
            f"has the scale and zero point {given}; the backend's are "
            f"{(scale, zero_point)}"
        )
    return None
