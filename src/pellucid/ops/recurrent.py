"""Gates of recurrent cells: what follows the matrix products of one time step."""

from pellucid.lang import pointwise, tanh
from pellucid.ops.activation import logistic


@pointwise(
    "_lstm_gates(Tensor i, Tensor f, Tensor g, Tensor o, Tensor cell) "
    "-> (Tensor, Tensor)",
    inplace=False,
    out=False,
    method=False,
)
def lstm_gates(i, f, g, o, cell):
    """The new hidden and cell state of an LSTM (Hochreiter 1997; Gers 2000)."""
    new = logistic(f) * cell + logistic(i) * tanh(g)
    return logistic(o) * tanh(new), new


@pointwise(
    "_gru_gates(Tensor r_input, Tensor z_input, Tensor n_input, Tensor r_hidden, "
    "Tensor z_hidden, Tensor n_hidden, Tensor hidden) -> Tensor",
    inplace=False,
    out=False,
    method=False,
)
def gru_gates(r_input, z_input, n_input, r_hidden, z_hidden, n_hidden, hidden):
    """The new hidden state of a gated recurrent unit (Cho 2014)."""
    reset = logistic(r_input + r_hidden)
    update = logistic(z_input + z_hidden)
    new = tanh(n_input + reset * n_hidden)
    return (hidden - new) * update + new
