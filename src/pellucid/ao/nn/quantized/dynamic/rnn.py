"""Dynamically quantized recurrent layers, with int8 weights.

The product of a whole sequence with the input weights has one scale; the product of
each state with the recurrent weights has its own.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import is_quantized
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.printing import WithoutChildren
from pellucid.ao.nn.quantized.weights import quantized_weight


def _packed(weight: Tensor, bias: Tensor | None) -> Any:
    """Packs a quantized weight, or one to be rounded to float16."""
    if not is_quantized(weight):
        return called("linear_prepack_fp16", weight.detach().float(), bias)
    return called("linear_prepack", weight, bias)


def _observed(mod: Any, name: str) -> Tensor:
    """A weight of a float layer, quantized by its qconfig's observer."""
    observer, weight = _observer(mod)(), getattr(mod, name)
    if observer.dtype is pellucid.float16:
        return weight  # type: ignore[no-any-return]
    observer(weight)
    return quantized_weight(weight.float(), observer)


def _of_reference(mod: Any, name: str) -> Tensor:
    found: Tensor = mod.quantized_weight_of(name)
    return found


def _product(x: Tensor, packed: Any) -> Any:
    if hasattr(packed, "scales"):
        return called("linear_dynamic", x, packed, True)
    return called("linear_dynamic_fp16", x, packed)


def lstm_step(gates: Tensor, hidden: Any, weights: Any) -> Any:
    """(h, c) of one step; ``gates`` are the products of the input."""
    h, c = hidden
    i, f, g, o = (gates + _product(h, weights)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(gates: Tensor, hidden: Any, weights: Any) -> Any:
    """(h,) of one step."""
    (h,) = hidden
    reset, update, new = gates.chunk(3, -1)
    h_reset, h_update, h_new = _product(h, weights).chunk(3, -1)
    update = (update + h_update).sigmoid()
    new = (new + (reset + h_reset).sigmoid() * h_new).tanh()
    return (new + update * (h - new),)


def _zeros(gates: int, inputs: int, hidden: int, dtype: Any) -> tuple[Any, Any]:
    def one(columns: int) -> Any:
        weight = pellucid.zeros(gates * hidden, columns)
        bias = pellucid.zeros(gates * hidden)
        if dtype is pellucid.float16:
            return called("linear_prepack_fp16", weight, bias)
        weight = pellucid.quantize_per_tensor(weight, 1.0, 0, pellucid.qint8)
        return called("linear_prepack", weight, bias)

    return one(inputs), one(hidden)


def _observer(mod: Any) -> Any:
    qconfig = getattr(mod, "qconfig", None)
    if qconfig is None or qconfig.weight is None:
        raise AssertionError(
            "a dynamically quantized layer needs a qconfig: set layer.qconfig = "
            "torch.ao.quantization.default_dynamic_qconfig"
        )
    return qconfig.weight


class CellWeights:
    """The packed input and recurrent weights of one layer and direction."""

    def __init__(self, inputs: Any, states: Any) -> None:
        self.inputs, self.states = inputs, states

    def __deepcopy__(self, memo: Any) -> CellWeights:
        return self


class PackedParameter(nn.Module):
    """The weights of one layer and direction, as state dicts name them."""

    def __init__(self, param: CellWeights) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        if prefix + "param" in state_dict:
            self.param = state_dict.pop(prefix + "param")
        else:
            rest[2].append(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class _Recurrent(WithoutChildren):
    """``LSTM`` and ``GRU``: layers and directions over their steps."""

    _FLOAT_MODULE: Any = None
    GATES, STATES = 0, 0
    step: Any = None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = pellucid.qint8,
    ) -> None:
        super().__init__()
        self.mode = type(self).__name__
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.bias = num_layers, bias
        self.batch_first, self.dropout = batch_first, float(dropout)
        self.bidirectional, self.dtype, self.version = bidirectional, dtype, 2
        self.training = False  # without dropout, as in PyTorch
        weights = []
        for layer in range(num_layers):
            inputs = hidden_size * self._directions if layer else input_size
            for _ in range(self._directions):
                weights.append(
                    CellWeights(*_zeros(self.GATES, inputs, hidden_size, dtype))
                )
        self._hold(weights)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _hold(self, weights: Any) -> None:
        self._all_weight_values = nn.ModuleList(map(PackedParameter, weights))

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, plain in (
            *(("num_layers", 1), ("bias", True), ("batch_first", False)),
            *(("dropout", 0), ("bidirectional", False)),
        ):
            if getattr(self, name) != plain:
                text += f", {name}={getattr(self, name)}"
        return text

    def forward(self, input: Any, hx: Any = None) -> Any:
        """``input``: float32 ``[steps, batch, input_size]`` or batch first; the results
        are those of the float layer.
        """
        if isinstance(input, nn.utils.rnn.PackedSequence):
            raise NotImplementedError(
                "a dynamically quantized recurrent layer needs padded sequences: "
                "torch.nn.utils.rnn.pad_packed_sequence"
            )
        if input.dim() != 3 or input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input must have 3 dimensions, the last of size {self.input_size}; "
                f"it is {list(input.shape)}"
            )
        x = input.transpose(0, 1) if self.batch_first else input
        states = self._states(hx, x)
        ends: list[Any] = []
        for layer in range(self.num_layers):
            made = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                start = tuple(each[place] for each in states)
                outputs, end = self._run(x, start, place, direction == 1)
                made.append(outputs)
                ends.append(end)
            x = made[0] if len(made) == 1 else pellucid.cat(made, -1)
            if self.training and self.dropout and layer < self.num_layers - 1:
                x = nn.functional.dropout(x, self.dropout)
        last = tuple(pellucid.stack(each) for each in zip(*ends, strict=True))
        x = x.transpose(0, 1) if self.batch_first else x
        return x, last if self.STATES == 2 else last[0]

    def _states(self, hx: Any, x: Tensor) -> Any:
        shape = (self.num_layers * self._directions, x.shape[1], self.hidden_size)
        if hx is None:
            return [pellucid.zeros(shape)] * self.STATES
        states = tuple(hx) if self.STATES == 2 else (hx,)
        for each in states:
            if tuple(each.shape) != shape:
                raise RuntimeError(
                    f"Expected hidden size {shape}, got {tuple(each.shape)}"
                )
        return states

    def _run(self, x: Tensor, state: Any, place: int, backwards: bool) -> Any:
        weights = self._all_weight_values[place].param
        steps = _product(x, weights.inputs).unbind(0)
        outputs = []
        for gates in reversed(steps) if backwards else steps:
            state = type(self).step(gates, state, weights.states)
            outputs.append(state[0])
        return pellucid.stack(outputs[::-1] if backwards else outputs), state

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float layer, by the weight observers of its qconfig."""
        return cls._of(mod, _observer(mod)().dtype, _observed)

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """Converts a reference layer."""
        return cls._of(ref_mod, ref_mod.weight_ih_l0_dtype, _of_reference)

    @classmethod
    def _of(cls, mod: Any, dtype: Any, weight_of: Any) -> Any:
        if mod.proj_size:
            raise NotImplementedError("quantized recurrent layers have no proj_size")
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        for name in (
            *("input_size", "hidden_size", "num_layers", "bias", "batch_first"),
            *("dropout", "bidirectional"),
        ):
            setattr(made, name, getattr(mod, name))
        made.mode, made.dtype, made.version = cls.__name__, dtype, 2
        made.training = False
        weights = []
        for layer in range(mod.num_layers):
            for end in ("", "_reverse")[: made._directions]:
                both = []
                for kind in ("ih", "hh"):
                    bias = getattr(mod, f"bias_{kind}_l{layer}{end}", None)
                    weight = weight_of(mod, f"weight_{kind}_l{layer}{end}")
                    both.append(_packed(weight, bias))
                weights.append(CellWeights(*both))
        made._hold(weights)
        return made

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights, by the float layer's names."""
        return self._by_name("weight", 0)

    def get_bias(self) -> dict[str, Any]:
        """The biases, by the float layer's names."""
        return self._by_name("bias", 1)

    def _by_name(self, kind: str, place: int) -> dict[str, Any]:
        found = {}
        for k, each in enumerate(self._all_weight_values):
            layer, direction = divmod(k, self._directions)
            end = f"l{layer}" + ("_reverse" if direction else "")
            param: Any = each.param
            found[f"{kind}_ih_{end}"] = param.inputs.unpack()[place]
            found[f"{kind}_hh_{end}"] = param.states.unpack()[place]
        return found


class LSTM(_Recurrent):
    """``nn.LSTM`` with int8 weights.

    >>> layer = torch.ao.nn.quantized.dynamic.LSTM(3, 4)
    >>> layer(torch.ones(5, 2, 3))[0].shape
    torch.Size([5, 2, 4])
    """

    _FLOAT_MODULE, GATES, STATES, step = nn.LSTM, 4, 2, lstm_step


class GRU(_Recurrent):
    """``nn.GRU`` with int8 weights."""

    _FLOAT_MODULE, GATES, STATES, step = nn.GRU, 3, 1, gru_step


class _Cell(nn.Module):
    """One step of a recurrent layer."""

    GATES = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        dtype: Any = pellucid.qint8,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_dtype = dtype
        both = _zeros(self.GATES, input_size, hidden_size, dtype)
        self._packed_weight_ih, self._packed_weight_hh = both

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else text + ", bias=False"

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            destination[prefix + name] = getattr(self, name)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            else:
                rest[2].append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _zero(self, input: Tensor) -> Any:
        if input.dim() != 2 or input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {list(input.shape)}, expected "
                f"[batch, {self.input_size}]"
            )
        return pellucid.zeros(input.shape[0], self.hidden_size)

    def _gates(self, input: Tensor) -> Any:
        return _product(input, self._packed_weight_ih)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Converts a float cell, by the weight observers of its qconfig."""
        return cls._of(mod, _observer(mod)().dtype, _observed)

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """Converts a reference cell."""
        return cls._of(ref_mod, ref_mod.weight_ih_dtype, _of_reference)

    @classmethod
    def _of(cls, mod: Any, dtype: Any, weight_of: Any) -> Any:
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made.input_size, made.hidden_size = mod.input_size, mod.hidden_size
        made.bias, made.weight_dtype = mod.bias, dtype
        if hasattr(mod, "nonlinearity"):
            made.nonlinearity = mod.nonlinearity
        made._packed_weight_ih = _packed(weight_of(mod, "weight_ih"), mod.bias_ih)
        made._packed_weight_hh = _packed(weight_of(mod, "weight_hh"), mod.bias_hh)
        return made


class LSTMCell(_Cell):
    """``nn.LSTMCell`` with int8 weights."""

    GATES = 4

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """(h, c)"""
        zero = self._zero(input)
        hidden = (zero, zero) if hx is None else hx
        return lstm_step(self._gates(input), hidden, self._packed_weight_hh)


class GRUCell(_Cell):
    """``nn.GRUCell`` with int8 weights."""

    GATES = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The new state."""
        hidden = self._zero(input) if hx is None else hx
        return gru_step(self._gates(input), (hidden,), self._packed_weight_hh)[0]


class RNNCell(_Cell):
    """``nn.RNNCell`` with int8 weights."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = pellucid.qint8,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The new state."""
        hidden = self._zero(input) if hx is None else hx
        sums = self._gates(input) + _product(hidden, self._packed_weight_hh)
        return sums.tanh() if self.nonlinearity == "tanh" else sums.relu()
