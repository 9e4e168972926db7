"""Recurrent layers and cells: RNN, LSTM, GRU.

The steps over time are in ``pellucid_compiler/composites/recurrent.py``, packed
sequences in ``nn/utils/rnn.py``.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import pellucid
from pellucid import Tensor
from pellucid._package.calls.captured import captured_as
from pellucid.nn import init
from pellucid.nn._packed_sequence import PackedSequence
from pellucid.nn.modules.module import Module
from pellucid.nn.parameter import Parameter
from pellucid_compiler.composites import recurrent

# (outputs, last states)
_run_stack: Callable[..., tuple[Tensor, tuple[Tensor, ...]]] = recurrent.run_stack

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """The base of RNN, LSTM and GRU: weights by layer and direction, checks, forward.

    Weights are named ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``,
    ``bias_hh_l0``, ``weight_hr_l0`` and so on, with ``_reverse`` for the other
    direction; all are drawn from ``U(-1 / sqrt(hidden_size), 1 / sqrt(hidden_size))``.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, dropout, proj_size, mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                names = self._add_weights(layer, f"l{layer}{suffix}", device, dtype)
                self._all_weights.append(names)
        self.reset_parameters()

    def _add_weights(
        self, layer: int, suffix: str, device: Any, dtype: Any
    ) -> list[str]:
        directions = 2 if self.bidirectional else 1
        output = self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else output * directions
        rows = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, Any] = {
            f"weight_ih_{suffix}": (rows, inputs),
            f"weight_hh_{suffix}": (rows, output),
        }
        if self.bias:
            shapes[f"bias_ih_{suffix}"] = rows
            shapes[f"bias_hh_{suffix}"] = rows
        if self.proj_size:
            shapes[f"weight_hr_{suffix}"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            weight = pellucid.empty(shape, device=device, dtype=dtype)
            setattr(self, name, Parameter(weight))
        return list(shapes)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not be contiguous in one buffer here."""

    def reset_parameters(self) -> None:
        """Reinitialises all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size,)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises for an input of another dtype, rank or number of features."""
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if not input.is_floating_point() or not (
            input.dtype is dtype or pellucid.is_autocast_enabled(input.device.type)
        ):
            raise ValueError(
                f"the input has dtype {input.dtype}, the weights {dtype}: convert one "
                "of them"
            )
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            kind = "a batch" if batch_sizes is None else "packed data"
            raise RuntimeError(f"{kind} has {rank} dims, not {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the initial hidden states."""
        return *_rows_of_state(self, input, batch_sizes), self._state_sizes()[0]

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raises unless the state has the expected shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(
        self, input: Tensor, hidden: Any, batch_sizes: Tensor | None
    ) -> None:
        """Raises for an input or initial states that do not fit the layer."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states permuted along the batch."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} takes 2 or 3 dimensions, not {input.dim()}"
            )
        is_batched = input.dim() == 3
        if hx is not None:
            self._check_state_rank(hx, is_batched)
        if not is_batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = self._each_state(hx, lambda state: state.unsqueeze(1))
        output, state = self._run(input, hx, None)
        if is_batched:
            return output, self._packed_state(state)
        output = output.squeeze(0 if self.batch_first else 1)
        return output, self._packed_state(s.squeeze(1) for s in state)

    def _each_state(self, hx: Any, change: Callable[[Tensor], Tensor]) -> Any:
        if hx is None:
            return None
        return tuple(map(change, hx)) if isinstance(hx, tuple) else change(hx)

    def _check_state_rank(self, hx: Any, is_batched: bool) -> None:
        wanted = 3 if is_batched else 2
        states = hx if isinstance(hx, tuple) else (hx,)
        if len(states) < len(self._state_sizes()):
            raise IndexError(
                f"the initial state of {type(self).__name__} is a pair (h_0, c_0); "
                f"given: one {type(hx).__name__}"
            )
        for tensor in states:
            if tensor.dim() != wanted:
                kind = "batched 3-D" if is_batched else "unbatched 2-D"
                raise RuntimeError(
                    f"For {kind} input, initial states should also be {wanted}-D but "
                    f"got a {tensor.dim()}-D tensor"
                )

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data, sizes, sorted_indices, unsorted_indices = packed
        if hx is not None:
            hx = self.permute_hidden(hx, sorted_indices)
        output, state = self._run(data, hx, sizes)
        result = PackedSequence(output, sizes, sorted_indices, unsorted_indices)
        found = self._packed_state(state)
        return result, self.permute_hidden(found, unsorted_indices)

    def _checked_state(self, data: Tensor, hx: Any, batch_sizes: Tensor | None) -> Any:
        """The initial states, zeros by default; raises for wrong shapes."""
        if hx is not None:
            self.check_forward_args(data, hx, batch_sizes)
            return hx
        self.check_input(data, batch_sizes)
        layers, batch = _rows_of_state(self, data, batch_sizes)
        dtype, device = data.dtype, data.device
        zeros = [
            pellucid.zeros(layers, batch, size, dtype=dtype, device=device)
            for size in self._state_sizes()
        ]
        return self._packed_state(zeros)

    def _run_by_op(
        self, data: Tensor, hx: Any, batch_sizes: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        hx = self._checked_state(data, hx, batch_sizes)
        given = (data,) if batch_sizes is None else (data, batch_sizes)
        layout = (self.batch_first,) if batch_sizes is None else ()
        output, *state = getattr(pellucid, self.mode.lower())(
            *(*given, hx, [w for row in self.all_weights for w in row], self.bias),
            *(self.num_layers, self.dropout, self.training, self.bidirectional),
            *layout,
        )
        return output, tuple(state)

    @captured_as(_run_by_op)
    def _run(
        self, data: Tensor, hx: Any, batch_sizes: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The outputs and the states."""
        hx = self._checked_state(data, hx, batch_sizes)
        initial: tuple[Tensor, ...] = hx if isinstance(hx, tuple) else (hx,)
        swaps = self.batch_first and batch_sizes is None
        if swaps:
            data = data.transpose(0, 1)
        output, state = _run_stack(
            self.mode,
            data,
            initial,
            _weight_table(self),
            2 if self.bidirectional else 1,
            self.dropout if self.training else 0.0,
            batch_sizes,
        )
        if swaps:
            output = output.transpose(0, 1)
        # Autocast computes in float32.
        if self.mode != "LSTM" and output.dtype is not (dtype := initial[0].dtype):
            return output.to(dtype), tuple(s.to(dtype) for s in state)
        return output, state

    def _packed_state(self, state: Any) -> Any:
        """The state as returned to the caller: one tensor, or a pair for LSTM."""
        (hidden,) = state
        return hidden

    def extra_repr(self) -> str:
        parts = [str(self.input_size), str(self.hidden_size)]
        if self.proj_size:
            parts.append(f"proj_size={self.proj_size}")
        for name, default in (
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


# Functions: of a method that a module calls Python makes an object first.


def _rows_of_state(
    layer: RNNBase, input: Tensor, batch_sizes: Tensor | None
) -> tuple[int, int]:
    """(layers times directions, batch): the first dims of the initial states."""
    if batch_sizes is not None:
        batch = int(batch_sizes[0])
    else:
        batch = input.size(0 if layer.batch_first else 1)
    return layer.num_layers * (2 if layer.bidirectional else 1), batch


def _weight_table(layer: RNNBase) -> list[list[Tensor | None]]:
    """(ih, hh, b_ih, b_hh, hr) of each layer and direction; None for what is absent."""
    has_biases, has_projections = layer.bias, layer.proj_size
    table: list[list[Tensor | None]] = []
    for names in layer._all_weights:
        row: list[Tensor | None] = [getattr(layer, name) for name in names]
        if not has_biases:
            row[2:2] = None, None
        if not has_projections:
            row.append(None)
        table.append(row)
    return table


def _check_options(
    input_size: int,
    hidden_size: Any,
    num_layers: int,
    dropout: Any,
    proj_size: int,
    mode: str,
) -> None:
    number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(f"dropout is a number between 0 and 1, not {dropout!r}")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            f"dropout={dropout} acts between layers, and there is only one layer",
            stacklevel=4,
        )
    if not isinstance(hidden_size, int):
        raise TypeError(f"hidden_size is an int, not {type(hidden_size).__name__}")
    if input_size <= 0:
        raise ValueError(f"input_size must be positive, not {input_size}")
    if hidden_size <= 0:
        raise ValueError(f"hidden_size must be positive, not {hidden_size}")
    if num_layers <= 0:
        raise ValueError(f"num_layers must be positive, not {num_layers}")
    if proj_size < 0 or proj_size >= hidden_size:
        raise ValueError(
            f"proj_size must be in [0, hidden_size={hidden_size}), not {proj_size}"
        )
    if mode not in _GATES:
        raise ValueError(f"there is no recurrent layer {mode!r}")


class RNN(RNNBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over time; or with relu.

    Maps (time, batch, features), or with ``batch_first`` (batch, time, features), to
    the hidden states of the last layer and the final hidden states of all layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size is only an option of LSTM")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"nonlinearity is 'tanh' or 'relu', not {self.nonlinearity!r}"
            )
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter 1997; Gers 2000), with ``proj_size`` projected
    (Sak 2014).

    The state is a pair: hidden and cell states of all layers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def _packed_state(self, state: Any) -> Any:
        return tuple(state)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the initial cell states."""
        return *_rows_of_state(self, input, batch_sizes), self.hidden_size

    def check_forward_args(
        self, input: Tensor, hidden: Any, batch_sizes: Tensor | None
    ) -> None:
        self.check_input(input, batch_sizes)
        expected = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for index in range(2):
            message = f"Expected hidden[{index}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[index], expected[index], message)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return tuple(state.index_select(1, permutation) for state in hx)


class GRU(RNNBase):
    """Gated recurrent units (Cho 2014), the reset gate applied after the product."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size is only an option of LSTM")
        super().__init__("GRU", *args, **kwargs)


# Cells


class RNNCellBase(Module):
    """One step of a recurrent layer as a module."""

    mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        options = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(pellucid.empty((rows, input_size), **options))
        self.weight_hh = Parameter(pellucid.empty((rows, hidden_size), **options))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(pellucid.empty(rows, **options)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialises all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text + ("" if self.bias else f", bias={self.bias}")

    def _step_by_op(self, input: Tensor, state: Any) -> tuple[Tensor, ...]:
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__} takes 1 or 2 dimensions, not {input.dim()}"
            )
        batched = input.dim() == 2
        rows = input if batched else input.unsqueeze(0)
        is_pair = self.mode == "LSTM"
        if state is None:
            options: dict[str, Any] = {"dtype": rows.dtype, "device": rows.device}
            zeros = pellucid.zeros(rows.size(0), self.hidden_size, **options)
            state = (zeros,) * (1 + is_pair)
        elif not batched:
            state = tuple(s.unsqueeze(0) for s in state)
        state = self._run_op(rows, state)
        return state if batched else tuple(s.squeeze(0) for s in state)

    def _run_op(self, rows: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The new state of a batch."""
        run = getattr(pellucid, f"{self.mode.lower()}_cell")
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        if self.mode == "LSTM":
            pair: tuple[Tensor, ...] = run(rows, state, *weights)
            return pair
        return (run(rows, state[0], *weights),)

    @captured_as(_step_by_op)
    def _step(self, input: Tensor, state: Any) -> tuple[Tensor, ...]:
        """The new state."""
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__} takes 1 or 2 dimensions, not {input.dim()}"
            )
        batched = input.dim() == 2
        rows = input if batched else input.unsqueeze(0)
        if rows.size(-1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {rows.size(-1)}, expected "
                f"{self.input_size}"
            )
        if state is None:
            zeros = rows.new_zeros(rows.size(0), self.hidden_size)
            state = (zeros,) * (2 if self.mode == "LSTM" else 1)
        else:
            size = self.hidden_size
            expected = (rows.size(0), size) if batched else (size,)
            for index, tensor in enumerate(state):
                if tensor.shape != expected:
                    self._refuse_state(index, tensor, input)
            state = state if batched else tuple(s.unsqueeze(0) for s in state)
        state = self._run_op(rows, state)
        return state if batched else tuple(s.squeeze(0) for s in state)

    def _refuse_state(self, index: int, tensor: Tensor, input: Tensor) -> NoReturn:
        """Raises for a state whose shape does not fit."""
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"hidden{index} of {type(self).__name__} has 1 or 2 dimensions, "
                f"not {tensor.dim()}"
            )
        if tensor.dim() != input.dim():
            raise RuntimeError(
                f"hidden{index} has {tensor.dim()} dims, and the input has "
                f"{input.dim()}: both are batches, or neither is"
            )
        if tensor.size(-1) != self.hidden_size:
            raise RuntimeError(
                f"hidden{index} has inconsistent hidden_size: got "
                f"{tensor.size(-1)}, expected {self.hidden_size}"
            )
        raise RuntimeError(
            f"Input batch size {input.size(0)} doesn't match hidden{index} "
            f"batch size {tensor.size(0)}"
        )


class RNNCell(RNNCellBase):
    """``tanh(W_ih x + b_ih + W_hh h + b_hh)``; or with relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def mode(self) -> str:  # type: ignore[override]
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"nonlinearity is 'tanh' or 'relu', not {self.nonlinearity!r}"
            )
        return f"RNN_{self.nonlinearity.upper()}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (hidden,) = self._step(input, None if hx is None else (hx,))
        return hidden

    def extra_repr(self) -> str:
        text = super().extra_repr()
        if self.nonlinearity != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (input, (hidden, cell)) to the next (hidden, cell)."""

    mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        hidden, cell = self._step(input, hx)
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    mode = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (hidden,) = self._step(input, None if hx is None else (hx,))
        return hidden
