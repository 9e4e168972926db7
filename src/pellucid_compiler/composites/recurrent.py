"""Recurrent layers over whole sequences: one matrix product for the inputs of all time
steps, then one op that scans over time (``../catalogue/recurrent.py``).

Sequences are (time, batch, features) or packed: the rows of all time steps
concatenated, ``batch_sizes`` rows for each step. ``nn.LSTM`` calls ``run_stack``, too.
"""

from pellucid_compiler.composites import api, composite, require

_STACK = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional"
)


def _of_sequences(name, state, results):
    return composite(
        f"{name}.input(Tensor input, {state} hx, {_STACK}, bool batch_first) -> "
        f"{results}",
        method=False,
        tags="nondeterministic_seeded",
    )


def _of_packed(name, state, results):
    return composite(
        f"{name}.data(Tensor data, Tensor batch_sizes, {state} hx, {_STACK}) -> "
        f"{results}",
        method=False,
        tags="nondeterministic_seeded",
    )


_PAIR, _TRIPLE = "(Tensor, Tensor)", "(Tensor, Tensor, Tensor)"


@_of_sequences("lstm", "Tensor[]", _TRIPLE)
def lstm(x, hx, *options):
    """Long short-term memory over a sequence.

    ``params`` are the weights of each layer and direction: (ih, hh), with biases (ih,
    hh, b_ih, b_hh), with a projection also hr. Returns the outputs and the last states.
    """
    output, (hidden, cell) = _sequence("LSTM", x, tuple(hx), *options)
    return output, hidden, cell


@_of_packed("lstm", "Tensor[]", _TRIPLE)
def lstm_packed(data, batch_sizes, hx, *options):
    """``lstm`` over packed data."""
    output, (hidden, cell) = _stack("LSTM", data, batch_sizes, tuple(hx), *options)
    return output, hidden, cell


def _sequence(mode, x, state, *options):
    *options, batch_first = options
    x = x.transpose(0, 1) if batch_first else x
    output, last = _stack(mode, x, None, state, *options)
    return output.transpose(0, 1) if batch_first else output, last


def _single(mode, x, hx, *options):
    output, (hidden,) = _sequence(mode, x, (hx,), *options)
    return output, hidden


def _single_packed(mode, data, batch_sizes, hx, *options):
    output, (hidden,) = _stack(mode, data, batch_sizes, (hx,), *options)
    return output, hidden


@_of_sequences("gru", "Tensor", _PAIR)
def gru(x, hx, *options):
    """Gated recurrent units over a sequence."""
    return _single("GRU", x, hx, *options)


@_of_packed("gru", "Tensor", _PAIR)
def gru_packed(data, batch_sizes, hx, *options):
    """``gru`` over packed data."""
    return _single_packed("GRU", data, batch_sizes, hx, *options)


@_of_sequences("rnn_tanh", "Tensor", _PAIR)
def rnn_tanh(x, hx, *options):
    """``tanh`` of an affine map of input and state, over a sequence."""
    return _single("RNN_TANH", x, hx, *options)


@_of_packed("rnn_tanh", "Tensor", _PAIR)
def rnn_tanh_packed(data, batch_sizes, hx, *options):
    """``rnn_tanh`` over packed data."""
    return _single_packed("RNN_TANH", data, batch_sizes, hx, *options)


@_of_sequences("rnn_relu", "Tensor", _PAIR)
def rnn_relu(x, hx, *options):
    """``relu`` of an affine map of input and state, over a sequence."""
    return _single("RNN_RELU", x, hx, *options)


@_of_packed("rnn_relu", "Tensor", _PAIR)
def rnn_relu_packed(data, batch_sizes, hx, *options):
    """``rnn_relu`` over packed data."""
    return _single_packed("RNN_RELU", data, batch_sizes, hx, *options)


def _stack(
    mode, data, batch_sizes, state, params, has_biases, layers, dropout, train,
    bidirectional,
):  # fmt: skip
    directions = 2 if bidirectional else 1
    weights = _by_layer(mode, list(params), has_biases, layers * directions)
    require(
        len(state) == (2 if mode == "LSTM" else 1),
        "{} does not have {} states",
        mode,
        len(state),
    )
    probability = dropout if train else 0.0
    return run_stack(mode, data, state, weights, directions, probability, batch_sizes)


def _by_layer(mode, params, has_biases, rows):
    """(ih, hh, b_ih, b_hh, hr) of each layer and direction; None for what is absent."""
    each, left = divmod(len(params), rows) if rows else (0, 1)
    plain = 4 if has_biases else 2
    require(
        not left and each in (plain, plain + (mode == "LSTM")),
        f"{len(params)} weights were given for {rows} layers and directions; each has "
        f"{plain}" + (", or one more with a projection" * (mode == "LSTM")),
    )
    table = []
    for row in range(rows):
        own = params[row * each : (row + 1) * each]
        biases = own[2:4] if has_biases else [None, None]
        table.append([*own[:2], *biases, own[-1] if each > plain else None])
    return table


# Cells

_CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"


@composite(
    f"lstm_cell(Tensor input, Tensor[] hx, {_CELL}) -> (Tensor, Tensor)", method=False
)
def lstm_cell(x, hx, *weights):
    """One step of ``lstm``: (h, c) of (batch, hidden) from input and state."""
    require(len(hx) == 2, "lstm_cell expects two hidden states, not {}", len(hx))
    return _step("LSTM", x, tuple(hx), weights)


def _cell(name):
    schema = f"{name}(Tensor input, Tensor hx, {_CELL}) -> Tensor"
    return composite(schema, method=False)


@_cell("gru_cell")
def gru_cell(x, hx, *weights):
    """One step of ``gru``."""
    return _step("GRU", x, (hx,), weights)[0]


@_cell("rnn_tanh_cell")
def rnn_tanh_cell(x, hx, *weights):
    """One step of ``rnn_tanh``."""
    return _step("RNN_TANH", x, (hx,), weights)[0]


@_cell("rnn_relu_cell")
def rnn_relu_cell(x, hx, *weights):
    """One step of ``rnn_relu``."""
    return _step("RNN_RELU", x, (hx,), weights)[0]


def _step(mode, x, state, weights):
    batched = x.dim() == 2
    rows = x if batched else x.unsqueeze(0)
    state = state if batched else tuple(s.unsqueeze(0) for s in state)
    require(
        rows.dim() == 2 and all(s.dim() == 2 for s in state),
        "a cell takes an input and states of 1 or 2 dims, not {} and {}",
        x.dim(),
        [s.dim() for s in state],
    )
    hidden, expected = state[0], (weights[0].size(-1), weights[1].size(-1))
    require(
        (rows.size(-1), hidden.size(-1)) == expected and len(rows) == len(hidden),
        "input and state have shapes {} and {}; the weights take {} and {} "
        "features, and both need the same number of rows",
        rows.shape,
        hidden.shape,
        expected[0],
        expected[1],
    )
    _, last = run_layer(mode, rows.unsqueeze(0), state, (*weights, None), None, False)
    return last if batched else tuple(s.squeeze(0) for s in last)


# Layers


def run_layer(mode, x, state, weights, steps, reverse):
    """(outputs of all time steps, last state) of one layer in one direction.

    ``weights`` are those of the input and of the state, their biases, and the
    projection; None for what is missing.
    """
    w_input, w_state, b_input, b_state, projection = weights
    bias = b_input
    if mode != "GRU" and b_state is not None:
        # Both biases are added to the same sum, so they can be merged.
        bias = b_state if b_input is None else b_input + b_state
    gates = api._C._nn.linear(x, w_input, bias)
    active = None
    if steps is not None:
        gates, active = steps.pad(gates), steps.active
    end = 0 if reverse else -1
    if mode == "LSTM":
        hidden, cell = state
        outputs, cells = api._C._pellucid._lstm(
            gates, hidden, cell, w_state, projection, active, reverse
        )[:2]
        last = outputs[end], cells[end]
    elif mode == "GRU":
        outputs = api._C._pellucid._gru(
            gates, state[0], w_state, b_state, active, reverse
        )[0]
        last = (outputs[end],)
    else:
        activation = mode.removeprefix("RNN_").lower()
        outputs = api._C._pellucid._rnn(
            gates, state[0], w_state, active, reverse, activation
        )
        last = (outputs[end],)
    return outputs if steps is None else steps.pack(outputs), last


class PackedSteps:
    """The rows of packed data as steps of a whole batch, and back.

    ``active``, (time, batch), is the mask of the examples that have a step at a time;
    None if all examples have all steps.
    """

    def __init__(self, batch_sizes, device):
        sizes = batch_sizes.tolist()
        self.time, self.batch = len(sizes), sizes[0]
        self.active = None
        if sizes[-1] < self.batch:
            examples = api.arange(self.batch)
            active = examples < batch_sizes.cpu().unsqueeze(1)
            self.active = active.to(device)
            self.rows = self.active.flatten().nonzero().squeeze(1)

    def pad(self, data):
        """(rows, features) to (time, batch, features), padded with zeros."""
        if self.active is not None:
            whole = data.new_zeros(self.time * self.batch, data.size(1))
            data = whole.index_copy(0, self.rows, data)
        return data.view(self.time, self.batch, -1)

    def pack(self, steps):
        """(time, batch, features) to (rows, features)."""
        data = steps.flatten(0, 1)
        return data if self.active is None else data.index_select(0, self.rows)


def run_stack(mode, x, state, weights, directions, dropout, batch_sizes):
    """All layers: (outputs of the last, last states stacked as ``state`` is)."""
    last = []
    layers = len(weights) // directions
    steps = None if batch_sizes is None else PackedSteps(batch_sizes, x.device)
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            own = tuple([s[place] for s in state])
            output, end = run_layer(mode, x, own, weights[place], steps, direction == 1)
            outputs.append(output)
            last.append(end)
        x = outputs[0] if directions == 1 else api.cat(outputs, -1)
        if dropout and layer < layers - 1:
            x = api.dropout(x, dropout, True)
    return x, tuple([api.stack(part) for part in zip(*last, strict=True)])
