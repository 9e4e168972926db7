"""The description of what a backend can quantize: patterns of calls, and dtypes.

A pattern is a module class, a function, the name of a method, or a tuple of two or
three consecutive ones. Internally, tuples are nested and begin with the last call
(``nested``), so that one search also handles patterns with several inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pellucid

__all__ = [
    "BackendConfig",
    "BackendPatternConfig",
    "DTypeConfig",
    "DTypeWithConstraints",
    "ObservationType",
]


class ObservationType(Enum):
    """The source of the scale of a pattern's results."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0  # an observer of their own: conv, linear
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1  # that of the input: cat, max_pool
    INPUT_OUTPUT_NOT_OBSERVED = 2  # they are not tensors: size


@dataclass
class DTypeWithConstraints:
    """A dtype, with a backend's limits on its integers and scales.

    ``scale_exact_match`` and ``zero_point_exact_match`` are for functions of a fixed
    range (sigmoid, tanh). ``scale_max_upper_bound`` is recorded only.
    """

    dtype: Any = None
    quant_min_lower_bound: float | None = None
    quant_max_upper_bound: float | None = None
    scale_min_lower_bound: float | None = None
    scale_max_upper_bound: float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


@dataclass(init=False)
class DTypeConfig:
    """One set of dtypes that a pattern can be quantized with."""

    input_dtype_with_constraints: DTypeWithConstraints
    output_dtype_with_constraints: DTypeWithConstraints
    weight_dtype_with_constraints: DTypeWithConstraints
    bias_dtype: Any
    is_dynamic: bool | None

    def __init__(
        self,
        input_dtype: Any = None,
        output_dtype: Any = None,
        weight_dtype: Any = None,
        bias_dtype: Any = None,
        is_dynamic: bool | None = None,
    ) -> None:
        self.input_dtype_with_constraints = _constrained(input_dtype)
        self.output_dtype_with_constraints = _constrained(output_dtype)
        self.weight_dtype_with_constraints = _constrained(weight_dtype)
        self.bias_dtype, self.is_dynamic = bias_dtype, is_dynamic

    @property
    def input_dtype(self) -> Any:
        """The dtype of the first input, None for any."""
        return self.input_dtype_with_constraints.dtype

    @property
    def output_dtype(self) -> Any:
        """The dtype of the result, None for any."""
        return self.output_dtype_with_constraints.dtype

    @property
    def weight_dtype(self) -> Any:
        """The dtype of the weight, None for any."""
        return self.weight_dtype_with_constraints.dtype

    @classmethod
    def from_dict(cls, dtype_config_dict: dict[str, Any]) -> DTypeConfig:
        """Builds it from a dictionary of its arguments."""
        for name in ("input_dtype", "output_dtype", "weight_dtype"):
            given = dtype_config_dict.get(name)
            if not isinstance(given, pellucid.dtype | DTypeWithConstraints | None):
                raise ValueError(
                    f"Expected {name} to be a torch.dtype or DTypeWithConstraints, not "
                    f"{type(given).__name__}"
                )
        return cls(
            **{name: dtype_config_dict.get(name) for name in _ARGUMENTS},
        )

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of its arguments, without those that are None."""
        found = {
            f"{name}_dtype": getattr(self, f"{name}_dtype_with_constraints")
            for name in ("input", "output", "weight")
            if getattr(self, f"{name}_dtype") is not None
        }
        for name in ("bias_dtype", "is_dynamic"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found


_ARGUMENTS = ("input_dtype", "output_dtype", "weight_dtype", "bias_dtype", "is_dynamic")


def _constrained(dtype: Any) -> DTypeWithConstraints:
    if isinstance(dtype, DTypeWithConstraints):
        return dtype
    return DTypeWithConstraints(dtype)


# The attributes of a BackendPatternConfig that dictionaries contain under their names,
# without a leading underscore.
_PARTS = (
    *("pattern", "observation_type", "root_module", "qat_module"),
    *("reference_quantized_module", "fused_module", "fuser_method"),
    *("_root_node_getter", "_extra_inputs_getter", "_input_type_to_index"),
    *("_num_tensor_args_to_observation_type", "_pattern_complex_format"),
)


class BackendPatternConfig:
    """How a backend quantizes one pattern."""

    def __init__(self, pattern: Any = None) -> None:
        self.pattern = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module: Any = None
        self.qat_module: Any = None
        self.reference_quantized_module: Any = None
        self.fused_module: Any = None
        self.fuser_method: Callable[..., Any] | None = None
        self._root_node_getter: Callable[..., Any] | None = None
        self._extra_inputs_getter: Callable[..., Any] | None = None
        self._num_tensor_args_to_observation_type: dict[int, ObservationType] = {}
        self._input_type_to_index: dict[str, int] = {}
        self._pattern_complex_format: Any = None

    def __repr__(self) -> str:
        found = {k: v for k, v in vars(self).items() if v not in (None, [], {})}
        return f"BackendPatternConfig({found})"

    def set_pattern(self, pattern: Any) -> BackendPatternConfig:
        """A module class, a function, a method's name, or two or three in a tuple."""
        if self._pattern_complex_format is not None:
            raise ValueError(
                "Only one of 'pattern' or 'pattern_complex_format' can be set"
            )
        self.pattern = pattern
        return self

    def set_observation_type(
        self, observation_type: ObservationType
    ) -> BackendPatternConfig:
        """Sets the source of the results' scale; by default their own observer."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """Adds a set of dtypes."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(
        self, dtype_configs: list[DTypeConfig]
    ) -> BackendPatternConfig:
        """The sets of dtypes that the pattern can be quantized with."""
        self.dtype_configs = dtype_configs
        return self

    def set_root_module(self, root_module: Any) -> BackendPatternConfig:
        """The float layer in the pattern that has the weight."""
        self.root_module = root_module
        return self

    def set_qat_module(self, qat_module: Any) -> BackendPatternConfig:
        """Sets the layer for training, with a fake-quantized weight."""
        self.qat_module = qat_module
        return self

    def set_reference_quantized_module(
        self, reference_quantized_module: Any
    ) -> BackendPatternConfig:
        """Sets the reference layer: it computes in floats with a rounded weight."""
        self.reference_quantized_module = reference_quantized_module
        return self

    def set_fused_module(self, fused_module: Any) -> BackendPatternConfig:
        """Sets the class that ``fuser_method`` returns."""
        self.fused_module = fused_module
        return self

    def set_fuser_method(
        self, fuser_method: Callable[..., Any]
    ) -> BackendPatternConfig:
        """``fuser_method(is_qat, first, second, ...)`` makes one layer of several."""
        self.fuser_method = fuser_method
        return self

    def _set_root_node_getter(self, getter: Any) -> BackendPatternConfig:
        self._root_node_getter = getter
        return self

    def _set_extra_inputs_getter(self, getter: Any) -> BackendPatternConfig:
        self._extra_inputs_getter = getter
        return self

    def _set_num_tensor_args_to_observation_type(
        self, mapping: dict[int, ObservationType]
    ) -> BackendPatternConfig:
        self._num_tensor_args_to_observation_type = mapping
        return self

    def _set_input_type_to_index(
        self, input_type_to_index: dict[str, int]
    ) -> BackendPatternConfig:
        self._input_type_to_index = input_type_to_index
        return self

    def _set_pattern_complex_format(self, pattern: Any) -> BackendPatternConfig:
        if self.pattern is not None:
            raise ValueError(
                "Only one of 'pattern' or 'pattern_complex_format' can be set"
            )
        self._pattern_complex_format = pattern
        return self

    def nested(self) -> Any:
        """The pattern with its last call first: ``(relu, (norm, conv))``."""
        if self._pattern_complex_format is not None:
            return self._pattern_complex_format
        if self.pattern is None:
            raise ValueError(
                "Either 'pattern' or 'pattern_complex_format' must be specified"
            )
        if not isinstance(self.pattern, tuple):
            return self.pattern
        if len(self.pattern) not in (2, 3):
            raise ValueError(
                f"Expected a tuple with 2 or 3 elements, got: {self.pattern}"
            )
        first, *others = self.pattern
        for each in others:
            first = (each, first)
        return first

    def fused(self, is_qat: bool, modules: Any) -> Any:
        """Applies ``fuser_method`` to modules nested like the pattern."""
        if self.fuser_method is None:
            raise AssertionError(f"no fuser method is set for {self.nested()}")
        if self._pattern_complex_format is not None:
            return self.fuser_method(is_qat, *modules)
        in_order: list[Any] = []
        while isinstance(modules, tuple):
            last, modules = modules
            in_order.append(last)
        return self.fuser_method(is_qat, modules, *reversed(in_order))

    @classmethod
    def from_dict(
        cls, backend_pattern_config_dict: dict[str, Any]
    ) -> BackendPatternConfig:
        """Builds it from a dictionary, as returned by ``to_dict``."""
        made = cls()
        for name in _PARTS:
            if backend_pattern_config_dict.get(name.lstrip("_")) is not None:
                setattr(made, name, backend_pattern_config_dict[name.lstrip("_")])
        for given in backend_pattern_config_dict.get("dtype_configs", []):
            if not isinstance(given, DTypeConfig | dict):
                raise ValueError(
                    'Expected a list of DTypeConfigs in "dtype_configs", got an '
                    f"element of {type(given)}"
                )
            if isinstance(given, dict):
                given = DTypeConfig.from_dict(given)
            made.add_dtype_config(given)
        return made

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of what is set."""
        found: dict[str, Any] = {
            "observation_type": self.observation_type,
            "dtype_configs": [each.to_dict() for each in self.dtype_configs],
        }
        for name in _PARTS:
            if getattr(self, name) not in (None, {}):
                found[name.lstrip("_")] = getattr(self, name)
        return found


class BackendConfig:
    """The patterns that a backend can quantize.

    >>> from pellucid.ao.quantization.backend_config import BackendConfig
    >>> linear = BackendPatternConfig(torch.nn.Linear)
    >>> len(BackendConfig("mine").set_backend_pattern_config(linear).configs)
    1
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._pattern_complex_format_to_config: dict[Any, BackendPatternConfig] = {}

    def __repr__(self) -> str:
        return f"BackendConfig({vars(self)})"

    def set_name(self, name: str) -> BackendConfig:
        """Its name."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Sets one pattern, replacing its previous configuration."""
        self._pattern_complex_format_to_config[config.nested()] = config
        return self

    def set_backend_pattern_configs(
        self, configs: list[BackendPatternConfig]
    ) -> BackendConfig:
        """Several patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """All patterns."""
        return list(self._pattern_complex_format_to_config.values())

    @property
    def by_pattern(self) -> dict[Any, BackendPatternConfig]:
        """All patterns by their nested form."""
        return self._pattern_complex_format_to_config

    @classmethod
    def from_dict(cls, backend_config_dict: dict[str, Any]) -> BackendConfig:
        """Builds it from a dictionary with "name" and "configs"."""
        made = cls(backend_config_dict.get("name", ""))
        for given in backend_config_dict.get("configs", []):
            if not isinstance(given, BackendPatternConfig | dict):
                raise ValueError(
                    "Expected backend_config_dict['configs'] to be a list of "
                    f"dictionaries; it has an element of {type(given)}"
                )
            if isinstance(given, dict):
                given = BackendPatternConfig.from_dict(given)
            made.set_backend_pattern_config(given)
        return made

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary with "name" and "configs"."""
        configs = [config.to_dict() for config in self.configs]
        return {"name": self.name, "configs": configs}
