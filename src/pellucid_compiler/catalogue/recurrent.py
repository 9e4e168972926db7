"""Recurrent layers over whole sequences: one scan, whose step is a matrix product and
the gates after it.

``input`` holds the products of the inputs of all steps, (time, batch, gates of hidden
elements), including biases. The results are the states after every step, then the
values of the gates, which are saved for backward. ``active``, (time, batch), is the
mask of the examples that have a step at a time; the states of the others do not change.
Called by ``composites/recurrent.py``.
"""

from pellucid_compiler.catalogue.activation import relu, sigmoid
from pellucid_compiler.declare import (
    require,
    reshape,
    scan,
    scan_op,
    tabulate,
    tanh,
    total,
    where,
)


@scan_op(
    "pellucid::_lstm(Tensor input, Tensor hidden, Tensor cell, Tensor weight, "
    "Tensor? projection, Tensor? active, bool reverse) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    method=False,
    autocast="lower",
)
def lstm(x, hidden, cell, weight, projection, active, reverse):
    """Long short-term memory (Hochreiter 1997; Gers 2000), optionally with a projected
    hidden state (Sak 2014).

    Hidden and cell states; input, forget, cell and output gates.
    """
    x, weight = by_gate(x, weight, cell, 4)
    check_state(x, cell, cell.shape[1])
    check_state(x, hidden, weight.shape[2])
    if projection is not None:
        for size, state in zip(projection.shape, (hidden, cell), strict=True):
            require(
                size == state.shape[1],
                "a projection with a size of {} for a state of {} elements",
                size,
                state.shape[1],
            )

    def step(hidden, cell, x, *rest):
        mask, (weight, *projected) = split(active, rest)
        gates = x + from_state(hidden, weight)
        i, f, o = (sigmoid(gate(gates, k)) for k in (0, 1, 3))
        g = tanh(gate(gates, 2))
        new = f * cell + i * g
        out = o * tanh(new)
        for matrix in projected:
            out = product(out, matrix)
        return (
            masked_state(mask, out, hidden),
            masked_state(mask, new, cell),
            i,
            f,
            g,
            o,
        )

    constants = [weight] if projection is None else [weight, projection]
    sequences = [x] if active is None else [x, active]
    return scan(step, [hidden, cell], sequences, reverse, constants)


@scan_op(
    "pellucid::_gru(Tensor input, Tensor hidden, Tensor weight, Tensor? bias, Tensor? "
    "active, "
    "bool reverse) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    method=False,
    autocast="float32",
)
def gru(x, hidden, weight, bias, active, reverse):
    """Gated recurrent units (Cho 2014), the reset gate after the product.

    Hidden states; reset and update gates, new values, and the part of those that the
    reset gate multiplies.
    """
    x, weight = by_gate(x, weight, hidden, 3)
    check_state(x, hidden, weight.shape[2])

    def step(hidden, x, *rest):
        mask, (weight, *biases) = split(active, rest)
        state = from_state(hidden, weight)
        for bias in biases:
            state = state + bias
        r, z = (sigmoid(gate(x, k) + gate(state, k)) for k in (0, 1))
        inner = gate(state, 2)
        n = tanh(gate(x, 2) + r * inner)
        return masked_state(mask, (hidden - n) * z + n, hidden), r, z, n, inner

    constants = [weight]
    if bias is not None:
        constants.append(reshape(bias, [3, hidden.shape[1]]))
    sequences = [x] if active is None else [x, active]
    return scan(step, [hidden], sequences, reverse, constants)


@scan_op(
    "pellucid::_rnn(Tensor input, Tensor hidden, Tensor weight, Tensor? active, bool "
    "reverse, "
    "str nonlinearity) -> Tensor",
    method=False,
    autocast="lower",
)
def rnn(x, hidden, weight, active, reverse, nonlinearity):
    """Elman's recurrent network (1990), with tanh or relu: hidden states."""
    check_ranks(x, hidden, weight, 1)
    check_state(x, hidden, weight.shape[1])
    require(
        nonlinearity in ("tanh", "relu"),
        f"nonlinearity must be 'tanh' or 'relu', not '{nonlinearity}'",
    )
    activation = {"tanh": tanh, "relu": relu}[nonlinearity]

    def step(hidden, x, *rest):
        mask, (weight,) = split(active, rest)
        return masked_state(mask, activation(x + product(hidden, weight)), hidden)

    sequences = [x] if active is None else [x, active]
    return scan(step, hidden, sequences, reverse, [weight])


def by_gate(x, weight, state, gates):
    """``x`` and ``weight`` with the gates as a separate dim."""
    check_ranks(x, state, weight, gates)
    size = state.shape[1]
    return (
        reshape(x, [*x.shape[:2], gates, size]),
        reshape(weight, [gates, size, weight.shape[1]]),
    )


def check_ranks(x, state, weight, gates):
    """Check dtypes, ranks, and the number of features: gates times hidden elements."""
    require(
        x.is_floating and x.dtype == state.dtype == weight.dtype,
        f"a recurrence over {x.dtype} with a state of {state.dtype} and weights of "
        f"{weight.dtype}; convert them to one float dtype",
    )
    require(
        x.rank == 3 and weight.rank == 2 and state.rank == 2,
        f"a recurrence over ranks {x.rank}, {weight.rank} and {state.rank}; give "
        "(time, batch, features), (features, hidden) and (batch, hidden)",
    )
    require(x.shape[0] > 0, "a recurrence over no steps; give at least one")
    rows = state.shape[1] if gates == 1 else gates * state.shape[1]
    require(
        x.shape[2] == rows,
        "a recurrence of {} gates and hidden elements over {} features",
        rows,
        x.shape[2],
    )
    require(
        weight.shape[0] == rows,
        "a recurrence of {} gates and hidden elements with weights of {}",
        rows,
        weight.shape[0],
    )


def check_state(x, state, size):
    """Check the sizes that every step relies on."""
    require(
        state.shape[0] == x.shape[1],
        "a recurrence over a batch of {} with states of {} examples",
        x.shape[1],
        state.shape[0],
    )
    require(
        state.shape[1] == size,
        "a recurrence of {} elements with states of {}",
        size,
        state.shape[1],
    )


def split(active, rest):
    """(this step's mask or None, the constants) of a step's last arguments."""
    return (None, rest) if active is None else (rest[0], rest[1:])


def from_state(hidden, weight):
    """The contribution of the previous state to every gate."""
    batch, (gates, size, depth) = hidden.shape[0], weight.shape
    return tabulate(
        [batch, gates, size],
        lambda b, q, j: total([depth], lambda k: hidden[b, k] * weight[q, j, k]),
    )


def product(x, matrix):
    """``x @ matrix.T``."""
    return tabulate(
        [x.shape[0], matrix.shape[0]],
        lambda b, j: total([x.shape[1]], lambda k: x[b, k] * matrix[j, k]),
    )


def gate(x, number):
    """One gate's part."""
    return tabulate([x.shape[0], x.shape[2]], lambda b, j: x[b, number, j])


def masked_state(mask, new, old):
    """``new``, but ``old`` where an example has no step."""
    if mask is None:
        return new
    return tabulate(new.shape, lambda b, j: where(mask[b], new[b, j], old[b, j]))
