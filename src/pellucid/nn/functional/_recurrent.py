"""Recurrent layers over whole sequences: one matrix product for the inputs of all time
steps, then a step of a product and one kernel of gates for each.

Called by ``modules/rnn.py``. Sequences are (time, batch, features) or packed: the rows
of all time steps one after the other, ``batch_sizes`` of them each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn

State = tuple[Tensor, ...]
Step = Callable[[Tensor, State], State]


def lstm_step(weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> Step:
    """(gates of the input, (hidden, cell)) to the new (hidden, cell)."""
    transposed = weight.t()
    projected = None if projection is None else projection.t()

    def step(gates: Tensor, state: State) -> State:
        hidden, cell = state
        i, f, g, o = pellucid.addmm(gates, hidden, transposed).chunk(4, 1)
        hidden, cell = pellucid._lstm_gates(i, f, g, o, cell)
        if projected is not None:
            hidden = hidden @ projected
        return hidden, cell

    return step


def gru_step(weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> Step:
    """(gates of the input, (hidden,)) to the new (hidden,)."""

    def step(gates: Tensor, state: State) -> State:
        (hidden,) = state
        from_hidden = _nn.linear(hidden, weight, bias)
        r, z, n = gates.chunk(3, 1)
        reset, update, new = from_hidden.chunk(3, 1)
        return (pellucid._gru_gates(r, z, n, reset, update, new, hidden),)

    return step


def _plain_step(activation: Callable[[Tensor], Tensor]) -> Callable[..., Step]:
    def make(weight: Tensor, bias: Tensor | None, projection: Tensor | None) -> Step:
        transposed = weight.t()

        def step(gates: Tensor, state: State) -> State:
            return (activation(pellucid.addmm(gates, state[0], transposed)),)

        return step

    return make


STEPS: dict[str, Callable[..., Step]] = {
    "LSTM": lstm_step,
    "GRU": gru_step,
    "RNN_TANH": _plain_step(pellucid.tanh),
    "RNN_RELU": _plain_step(pellucid.relu),
}


def run_layer(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Tensor | None],
    batch_sizes: list[int] | None,
    reverse: bool,
) -> tuple[Tensor, State]:
    """(outputs of all time steps, last state) of one layer in one direction.

    ``weights`` are those of the input and of the state, their biases, and the
    projection; None for what is missing.
    """
    w_input, w_state, b_input, b_state, projection = weights
    assert w_input is not None and w_state is not None
    bias = b_input
    if mode != "GRU" and b_input is not None:
        # One bias is enough where both are added to the same sum.
        bias = b_input + b_state
    gates = _nn.linear(input, w_input, bias)
    step = STEPS[mode](w_state, b_state, projection)
    if batch_sizes is None:
        steps = list(gates.unbind(0))
        outputs, state = _run_steps(step, steps, state, reverse)
        return pellucid.stack(outputs), state
    steps = list(gates.split(batch_sizes))
    run = _run_packed_backwards if reverse else _run_packed
    outputs, state = run(step, steps, state, batch_sizes)
    return pellucid.cat(outputs), state


def _run_steps(
    step: Step, steps: list[Tensor], state: State, reverse: bool
) -> tuple[list[Tensor], State]:
    outputs = []
    for gates in reversed(steps) if reverse else steps:
        state = step(gates, state)
        outputs.append(state[0])
    return (outputs[::-1] if reverse else outputs), state


def _run_packed(
    step: Step, steps: list[Tensor], state: State, batch_sizes: list[int]
) -> tuple[list[Tensor], State]:
    """The sequences end one after the other, the last of the batch first."""
    outputs, ended = [], []
    size = batch_sizes[0]
    state = tuple(s[:size] for s in state)
    for gates, count in zip(steps, batch_sizes, strict=True):
        if count < size:
            ended.append(tuple(s[count:] for s in state))
            state = tuple(s[:count] for s in state)
            size = count
        state = step(gates, state)
        outputs.append(state[0])
    ended.append(state)
    parts = zip(*reversed(ended), strict=True)
    return outputs, tuple(pellucid.cat(part) for part in parts)


def _run_packed_backwards(
    step: Step, steps: list[Tensor], state: State, batch_sizes: list[int]
) -> tuple[list[Tensor], State]:
    """The sequences begin one after the other, the first of the batch first."""
    start, size, outputs = state, batch_sizes[-1], []
    state = tuple(s[:size] for s in start)
    for gates, count in zip(reversed(steps), reversed(batch_sizes), strict=True):
        if count > size:
            joining = (s[size:count] for s in start)
            pairs = zip(state, joining, strict=True)
            state = tuple(pellucid.cat(pair) for pair in pairs)
            size = count
        state = step(gates, state)
        outputs.append(state[0])
    return outputs[::-1], state


def run_stack(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Sequence[Tensor | None]],
    directions: int,
    dropout: float,
    batch_sizes: list[int] | None,
) -> tuple[Tensor, State]:
    """All layers: (outputs of the last, last states stacked as ``state`` is)."""
    last: list[Any] = []
    layers = len(weights) // directions
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            own = tuple(s[place] for s in state)
            output, end = run_layer(
                mode, input, own, weights[place], batch_sizes, direction == 1
            )
            outputs.append(output)
            last.append(end)
        input = outputs[0] if directions == 1 else pellucid.cat(outputs, -1)
        if dropout and layer < layers - 1:
            input = pellucid.dropout(input, dropout, True)
    return input, tuple(pellucid.stack(part) for part in zip(*last, strict=True))
