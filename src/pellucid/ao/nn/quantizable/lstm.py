"""LSTMs made of linear layers, activations and arithmetic with observers.

Float at first; ``convert`` makes each layer inside a quantized one. The names of the
layers are PyTorch's, for state dicts. Dropout is ignored, as in PyTorch.
"""

from __future__ import annotations

from typing import Any
from warnings import warn

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn.quantized import FloatFunctional

_GATES = ("input", "forget", "cell", "output")
_States = tuple[Tensor, Tensor]


class LSTMCell(nn.Module):
    """``nn.LSTMCell``; ``split_gates`` computes each gate by layers of its own.

    >>> cell = torch.ao.nn.quantizable.LSTMCell(3, 4)
    >>> cell(torch.ones(2, 3))[0].shape
    torch.Size([2, 4])
    """

    _FLOAT_MODULE: Any = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_dim, hidden_dim
        self.bias, self.split_gates = bias, split_gates

        def linear(inputs: int) -> Any:
            given: Any = {"bias": bias, "device": device, "dtype": dtype}
            if not split_gates:
                return nn.Linear(inputs, 4 * hidden_dim, **given)
            made = {name: nn.Linear(inputs, hidden_dim, **given) for name in _GATES}
            return nn.ModuleDict(made)

        self.igates, self.hgates = linear(input_dim), linear(hidden_dim)
        self.gates: Any = FloatFunctional()
        if split_gates:
            self.gates = nn.ModuleDict({name: FloatFunctional() for name in _GATES})
        self.input_gate, self.forget_gate = nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate, self.output_gate = nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype = self.cell_state_dtype = pellucid.quint8

    def forward(self, x: Tensor, hidden: Any = None) -> _States:
        """The states ``(h, c)`` after ``x``, of shape (batch, input size)."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        h, c = hidden
        if self.split_gates:
            gates: Any = [
                self.gates[name].add(self.igates[name](x), self.hgates[name](h))
                for name in _GATES
            ]
        else:
            gates = self.gates.add(self.igates(x), self.hgates(h)).chunk(4, 1)
        opened = self.input_gate(gates[0]), self.forget_gate(gates[1])
        cell, output = self.cell_gate(gates[2]), self.output_gate(gates[3])
        c = self.fgate_cx_igate_cgate.add(
            self.fgate_cx.mul(opened[1], c), self.igate_cgate.mul(opened[0], cell)
        )
        return self.ogate_cy.mul(output, pellucid.tanh(c)), c

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> _States:
        """States of zeros."""
        zeros = pellucid.zeros(batch_size, self.hidden_size)
        if not is_quantized:
            return zeros, zeros.clone()
        h, c = self.initial_hidden_state_qparams, self.initial_cell_state_qparams
        return (
            pellucid.quantize_per_tensor(zeros, *h, self.hidden_state_dtype),
            pellucid.quantize_per_tensor(zeros, *c, self.cell_state_dtype),
        )

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls,
        wi: Tensor,
        wh: Tensor,
        bi: Tensor | None = None,
        bh: Tensor | None = None,
        split_gates: bool = False,
    ) -> Any:
        """A cell with these weights and biases of inputs and states."""
        if (bi is None) != (bh is None):
            raise AssertionError("give both biases or none")
        made = cls(wi.shape[1], wh.shape[1], bi is not None, split_gates=split_gates)
        for weight, bias, gates in ((wi, bi, made.igates), (wh, bh, made.hgates)):
            layers = list(gates.values()) if split_gates else [gates]
            for layer, part in zip(layers, weight.chunk(len(layers)), strict=True):
                layer.weight = nn.Parameter(part)
            if bias is not None:
                for layer, part in zip(layers, bias.chunk(len(layers)), strict=True):
                    layer.bias = nn.Parameter(part)
        return made

    @classmethod
    def from_float(
        cls,
        other: Any,
        use_precomputed_fake_quant: bool = False,
        split_gates: bool = False,
    ) -> Any:
        """Converts an ``nn.LSTMCell`` that has a qconfig."""
        if type(other) is not cls._FLOAT_MODULE or not hasattr(other, "qconfig"):
            raise AssertionError(f"needs an nn.LSTMCell with a qconfig, not {other}")
        given = other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh
        made = cls.from_params(*given, split_gates=split_gates)
        linear = [made.igates, made.hgates]
        if split_gates:
            linear += [*made.igates.values(), *made.hgates.values()]
        for layer in (made, *linear):
            layer.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """One layer in one direction."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, hidden: Any = None) -> tuple[Tensor, Any]:
        """The results of all steps of ``x``, (steps, batch, input size)."""
        results = []
        for k in range(x.shape[0]):
            hidden = self.cell(x[k], hidden)
            results.append(hidden[0])
        return pellucid.stack(results, 0), hidden


class _LSTMLayer(nn.Module):
    """One layer in one or both directions."""

    def __init__(self, cells: list[LSTMCell]) -> None:
        super().__init__()
        self.bidirectional = len(cells) == 2
        self.layer_fw = _LSTMSingleLayer(cells[0])
        if self.bidirectional:
            self.layer_bw = _LSTMSingleLayer(cells[1])

    def forward(self, x: Tensor, hidden: Any) -> tuple[Tensor, _States]:
        """``hidden``: both states, with a leading dim of directions if there are two"""
        h, c = hidden
        if not self.bidirectional:
            return self.layer_fw(x, (h, c))  # type: ignore[no-any-return]
        forward, ends = self.layer_fw(x, (h[0], c[0]))
        backward, starts = self.layer_bw(x.flip(0), (h[1], c[1]))
        made = pellucid.cat([forward, backward.flip(0)], forward.dim() - 1)
        h, c = (pellucid.stack(pair) for pair in zip(ends, starts, strict=True))
        return made, (h, c)


class LSTM(nn.Module):
    """``nn.LSTM``, in evaluation mode at first.

    >>> layer = torch.ao.nn.quantizable.LSTM(3, 4, num_layers=2)
    >>> layer(torch.ones(5, 2, 3))[0].shape
    torch.Size([5, 2, 4])
    """

    _FLOAT_MODULE: Any = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
            raise ValueError(f"dropout is a probability, not {dropout!r}")
        if dropout > 0:
            warn("dropout is ignored by quantizable.LSTM: train nn.LSTM", stacklevel=2)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.training = False
        directions = 2 if bidirectional else 1

        def cell(layer: int) -> LSTMCell:
            inputs = hidden_size * directions if layer else input_size
            given = inputs, hidden_size, bias, device, dtype
            return LSTMCell(*given, split_gates=split_gates)

        self.layers = nn.ModuleList(
            _LSTMLayer([cell(layer) for _ in range(directions)])
            for layer in range(num_layers)
        )

    def forward(self, x: Tensor, hidden: Any = None) -> tuple[Tensor, _States]:
        """The results and the last states, as ``nn.LSTM``."""
        x = x.transpose(0, 1) if self.batch_first else x
        ends = []
        for layer, start in zip(self.layers, self._states(x, hidden), strict=True):
            x, end = layer(x, start)
            ends.append(end)
        h, c = (pellucid.stack(each) for each in zip(*ends, strict=True))
        shape = -1, h.shape[-2], h.shape[-1]
        x = x.transpose(0, 1) if self.batch_first else x
        return x, (h.reshape(shape), c.reshape(shape))

    def _states(self, x: Tensor, hidden: Any) -> list[_States]:
        """The states of each layer before the first step."""
        directions = 2 if self.bidirectional else 1
        shape = directions, x.shape[1], self.hidden_size
        if hidden is None:
            zeros = pellucid.zeros(shape, device=x.device).squeeze(0)
            if x.is_quantized:
                zeros = pellucid.quantize_per_tensor(zeros, 1.0, 0, x.dtype)
            return [(zeros, zeros)] * self.num_layers
        if not isinstance(hidden[0], Tensor):
            return list(hidden)
        h, c = (each.reshape(self.num_layers, *shape) for each in hidden)
        return [(h[k].squeeze(0), c[k].squeeze(0)) for k in range(self.num_layers)]

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(
        cls, other: Any, qconfig: Any = None, split_gates: bool = False
    ) -> Any:
        """The observed layer of an ``nn.LSTM`` with a qconfig; fake-quantized if that
        is in training.
        """
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"needs an nn.LSTM, not {type(other)}")
        if not hasattr(other, "qconfig") and not qconfig:
            raise AssertionError("needs a qconfig: set layer.qconfig, or give one")
        made = cls(
            *(other.input_size, other.hidden_size, other.num_layers, other.bias),
            *(other.batch_first, other.dropout, other.bidirectional),
            split_gates=split_gates,
        )
        made.qconfig = getattr(other, "qconfig", qconfig)
        for k in range(other.num_layers):
            cells = []
            for end in ("", "_reverse")[: 2 if other.bidirectional else 1]:
                names = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
                found: list[Any] = [
                    getattr(other, f"{name}_l{k}{end}", None) for name in names
                ]
                wi, wh, bi, bh = found
                cells.append(LSTMCell.from_params(wi, wh, bi, bh, split_gates))
            made.layers[k] = _LSTMLayer(cells)
        flow = pellucid.ao.quantization
        observe = flow.prepare_qat if other.training else flow.prepare
        return observe(made.train(other.training), inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Raises NotImplementedError: ``quantized.LSTM.from_observed`` converts."""
        raise NotImplementedError("quantizable.LSTM is float: use quantized.LSTM")
