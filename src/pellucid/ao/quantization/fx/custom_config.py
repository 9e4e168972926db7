"""Users' configuration of single modules: not traced, swapped, or standalone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.ao.quantization.backend_config import BackendConfig
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping
from pellucid.ao.quantization.quant_type import QuantType

__all__ = [
    "ConvertCustomConfig",
    "FuseCustomConfig",
    "PrepareCustomConfig",
    "StandaloneModuleConfigEntry",
]

_Swaps = dict[QuantType, dict[type, type]]


@dataclass
class StandaloneModuleConfigEntry:
    """How a standalone module is prepared; None: like its surroundings."""

    qconfig_mapping: QConfigMapping | None
    example_inputs: tuple[Any, ...]
    prepare_custom_config: PrepareCustomConfig | None
    backend_config: BackendConfig | None


class _CustomConfig:
    def __repr__(self) -> str:
        return f"{type(self).__name__}({ {k: v for k, v in vars(self).items() if v} })"


class PrepareCustomConfig(_CustomConfig):
    """For ``prepare_fx`` and ``prepare_qat_fx``.

    >>> from pellucid.ao.quantization.fx.custom_config import PrepareCustomConfig
    >>> PrepareCustomConfig().set_non_traceable_module_names(["head"])
    PrepareCustomConfig({'non_traceable_module_names': ['head']})
    """

    def __init__(self) -> None:
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: _Swaps = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.preserved_attributes: list[str] = []

    def set_standalone_module_name(
        self,
        module_name: str,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """Quantizes the module of a name as a standalone module."""
        given = (qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(*given)
        return self

    def set_standalone_module_class(
        self,
        module_class: type,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> PrepareCustomConfig:
        """Quantizes each module of a class as a standalone module."""
        given = (qconfig_mapping, example_inputs, prepare_custom_config, backend_config)
        entry = StandaloneModuleConfigEntry(*given)
        self.standalone_module_classes[module_class] = entry
        return self

    def set_float_to_observed_mapping(
        self,
        float_class: type,
        observed_class: type,
        quant_type: QuantType = QuantType.STATIC,
    ) -> PrepareCustomConfig:
        """Swaps modules of a class by ``observed_class.from_float``."""
        if quant_type != QuantType.STATIC:
            raise ValueError(
                "set_float_to_observed_mapping is for static quantization only, not "
                f"{quant_type.key}"
            )
        swaps = self.float_to_observed_mapping.setdefault(quant_type, {})
        swaps[float_class] = observed_class
        return self

    def set_non_traceable_module_names(
        self, module_names: list[str]
    ) -> PrepareCustomConfig:
        """Modules that are not traced, by name."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(
        self, module_classes: list[type]
    ) -> PrepareCustomConfig:
        """Modules that are not traced, by class."""
        self.non_traceable_module_classes = module_classes
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """The inputs that are passed quantized."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> PrepareCustomConfig:
        """The outputs that are returned quantized."""
        self.output_quantized_indexes = indexes
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> PrepareCustomConfig:
        """Attributes to copy to the graph's module."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(
        cls, prepare_custom_config_dict: dict[str, Any]
    ) -> PrepareCustomConfig:
        """Builds it from a dictionary, as returned by ``to_dict``."""
        given, made = prepare_custom_config_dict, cls()
        for key, add in (
            ("standalone_module_name", made.set_standalone_module_name),
            ("standalone_module_class", made.set_standalone_module_class),
        ):
            for name, mapping, inputs, config, backend in given.get(key, []):
                add(
                    name,
                    _read(mapping, QConfigMapping, key),
                    inputs,
                    _read(config, PrepareCustomConfig, key),
                    _read(backend, BackendConfig, key),
                )
        swaps = given.get("float_to_observed_custom_module_class", {})
        for kind, classes in swaps.items():
            for float_class, observed in classes.items():
                quant_type = QuantType.of_key(kind)
                made.set_float_to_observed_mapping(float_class, observed, quant_type)
        for key, name in _LISTS.items():
            setattr(made, name, given.get(key, []))
        return made

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of what is set."""
        found: dict[str, Any] = {}
        for key, entries in (
            ("standalone_module_name", self.standalone_module_names),
            ("standalone_module_class", self.standalone_module_classes),
        ):
            rows = [_row(name, entry) for name, entry in dict(entries).items()]
            if rows:
                found[key] = rows
        if self.float_to_observed_mapping:
            found["float_to_observed_custom_module_class"] = {
                kind.key: swaps
                for kind, swaps in self.float_to_observed_mapping.items()
            }
        for key, name in _LISTS.items():
            if getattr(self, name):
                found[key] = getattr(self, name)
        return found


_LISTS = {
    "non_traceable_module_name": "non_traceable_module_names",
    "non_traceable_module_class": "non_traceable_module_classes",
    "input_quantized_idxs": "input_quantized_indexes",
    "output_quantized_idxs": "output_quantized_indexes",
    "preserved_attributes": "preserved_attributes",
}


def _read(given: Any, kind: Any, key: str) -> Any:
    if given is None or isinstance(given, kind):
        return given
    if isinstance(given, dict):
        return kind.from_dict(given)
    raise ValueError(
        f'Expected {kind.__name__} in prepare_custom_config_dict["{key}"], got '
        f"'{type(given)}'"
    )


def _row(name: Any, entry: StandaloneModuleConfigEntry) -> tuple[Any, ...]:
    mapping, config = entry.qconfig_mapping, entry.prepare_custom_config
    return (
        name,
        mapping and mapping.to_dict(),
        entry.example_inputs,
        config and config.to_dict(),
        entry.backend_config,
    )


class ConvertCustomConfig(_CustomConfig):
    """For ``convert_fx``."""

    def __init__(self) -> None:
        self.observed_to_quantized_mapping: _Swaps = {}
        self.preserved_attributes: list[str] = []

    def set_observed_to_quantized_mapping(
        self,
        observed_class: type,
        quantized_class: type,
        quant_type: QuantType = QuantType.STATIC,
    ) -> ConvertCustomConfig:
        """Swaps observed modules by ``quantized_class.from_observed``."""
        swaps = self.observed_to_quantized_mapping.setdefault(quant_type, {})
        swaps[observed_class] = quantized_class
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> ConvertCustomConfig:
        """Attributes to copy to the graph's module."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(
        cls, convert_custom_config_dict: dict[str, Any]
    ) -> ConvertCustomConfig:
        """Builds it from a dictionary, as returned by ``to_dict``."""
        given, made = convert_custom_config_dict, cls()
        swaps = given.get("observed_to_quantized_custom_module_class", {})
        for kind, classes in swaps.items():
            for observed, quantized in classes.items():
                quant_type = QuantType.of_key(kind)
                made.set_observed_to_quantized_mapping(observed, quantized, quant_type)
        return made.set_preserved_attributes(given.get("preserved_attributes", []))

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of what is set."""
        found: dict[str, Any] = {}
        if self.observed_to_quantized_mapping:
            found["observed_to_quantized_custom_module_class"] = {
                kind.key: swaps
                for kind, swaps in self.observed_to_quantized_mapping.items()
            }
        if self.preserved_attributes:
            found["preserved_attributes"] = self.preserved_attributes
        return found


class FuseCustomConfig(_CustomConfig):
    """For ``fuse_fx``."""

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def set_preserved_attributes(self, attributes: list[str]) -> FuseCustomConfig:
        """Attributes to copy to the graph's module."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, fuse_custom_config_dict: dict[str, Any]) -> FuseCustomConfig:
        """Builds it from a dictionary, as returned by ``to_dict``."""
        found = fuse_custom_config_dict.get("preserved_attributes", [])
        return cls().set_preserved_attributes(found)

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of what is set."""
        found = self.preserved_attributes
        return {"preserved_attributes": found} if found else {}
