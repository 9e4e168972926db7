"""Recurrent layers and cells, with separate scales for each weight."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor, nn
from pellucid.ao.nn.quantized.reference.weights import RoundedWeights


class _Reference(RoundedWeights):
    _OPTIONS: tuple[str, ...] = ()

    def __init__(
        self: Any,
        *args: Any,
        weight_qparams_dict: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        given = weight_qparams_dict or {}
        for name, _ in list(self.named_parameters()):
            if name.startswith("weight"):
                self.take_scales(name, given.get(name))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

    @classmethod
    def from_float(cls: Any, mod: Any, weight_qparams_dict: dict[str, Any]) -> Any:
        """Converts a float layer; scales are given by the names of weights."""
        given = {name: getattr(mod, name) for name in cls._OPTIONS}
        made = cls(**given, weight_qparams_dict=weight_qparams_dict)
        for name, parameter in mod.named_parameters():
            setattr(made, name, nn.Parameter(parameter.detach()))
        return made


class _Layer(_Reference):
    _OPTIONS = (
        *("input_size", "hidden_size", "num_layers", "bias", "batch_first"),
        *("dropout", "bidirectional"),
    )

    def _weight_table(self: Any) -> list[list[Tensor | None]]:
        table = super()._weight_table()  # type: ignore[misc]
        for weights, names in zip(table, self._all_weights, strict=True):
            for place, name in enumerate(names[:2]):
                weights[place] = self.rounded_weight_of(name)
        return table  # type: ignore[no-any-return]


class LSTM(_Layer, nn.LSTM):
    """``nn.LSTM`` with rounded weights."""


class GRU(_Layer, nn.GRU):
    """``nn.GRU`` with rounded weights."""


class _Cell(_Reference):
    _OPTIONS: tuple[str, ...] = ("input_size", "hidden_size", "bias")

    def _weights(self: Any) -> tuple[Any, ...]:
        rounded = map(self.rounded_weight_of, ("weight_ih", "weight_hh"))
        return *rounded, self.bias_ih, self.bias_hh


class LSTMCell(_Cell, nn.LSTMCell):
    """``nn.LSTMCell`` with rounded weights."""


class GRUCell(_Cell, nn.GRUCell):
    """``nn.GRUCell`` with rounded weights."""


class RNNCell(_Cell, nn.RNNCell):
    """``nn.RNNCell`` with rounded weights."""

    _OPTIONS = (*_Cell._OPTIONS, "nonlinearity")
