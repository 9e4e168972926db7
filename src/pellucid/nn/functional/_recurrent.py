"""Recurrent layers over whole sequences: one matrix product for the inputs of all time
steps, then one op that walks over time (``catalogue/recurrent.py``).

Called by ``modules/rnn.py``. Sequences are (time, batch, features) or packed: the rows
of all time steps one after the other, ``batch_sizes`` of them each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn

State = tuple[Tensor, ...]


def run_layer(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Tensor | None],
    steps: PackedSteps | None,
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
    active = None
    if steps is not None:
        gates, active = steps.pad(gates), steps.active
    stacks: State
    hidden, *cell = state
    if mode == "LSTM":
        stacks = pellucid._lstm(
            gates, hidden, cell[0], w_state, projection, active, reverse
        )[:2]
    elif mode == "GRU":
        stacks = pellucid._gru(gates, hidden, w_state, b_state, active, reverse)[:1]
    else:
        activation = mode.removeprefix("RNN_").lower()
        stacks = (pellucid._rnn(gates, hidden, w_state, active, reverse, activation),)
    last = tuple(stack[0 if reverse else -1] for stack in stacks)
    output = stacks[0] if steps is None else steps.pack(stacks[0])
    return output, last


class PackedSteps:
    """The rows of packed data as steps of a whole batch, and back.

    ``active``, (time, batch), says which examples have a step at a time; None if all
    have, always.
    """

    def __init__(self, batch_sizes: Tensor) -> None:
        sizes = batch_sizes.tolist()
        self.time, self.batch = len(sizes), sizes[0]
        self.active: Tensor | None = None
        if sizes[-1] < self.batch:
            examples = pellucid.arange(self.batch)
            self.active = examples < batch_sizes.unsqueeze(1)
            self.rows = self.active.flatten().nonzero().squeeze(1)

    def pad(self, data: Tensor) -> Tensor:
        """(rows, features) to (time, batch, features), zeros where no example is."""
        if self.active is not None:
            whole = data.new_zeros(self.time * self.batch, data.size(1))
            data = whole.index_copy(0, self.rows, data)
        return data.view(self.time, self.batch, -1)

    def pack(self, steps: Tensor) -> Tensor:
        """(time, batch, features) to (rows, features)."""
        data = steps.flatten(0, 1)
        return data if self.active is None else data.index_select(0, self.rows)


def run_stack(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Sequence[Tensor | None]],
    directions: int,
    dropout: float,
    batch_sizes: Tensor | None,
) -> tuple[Tensor, State]:
    """All layers: (outputs of the last, last states stacked as ``state`` is)."""
    last: list[Any] = []
    layers = len(weights) // directions
    steps = None if batch_sizes is None else PackedSteps(batch_sizes)
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            own = tuple(s[place] for s in state)
            output, end = run_layer(
                mode, input, own, weights[place], steps, direction == 1
            )
            outputs.append(output)
            last.append(end)
        input = outputs[0] if directions == 1 else pellucid.cat(outputs, -1)
        if dropout and layer < layers - 1:
            input = pellucid.dropout(input, dropout, True)
    return input, tuple(pellucid.stack(part) for part in zip(*last, strict=True))
