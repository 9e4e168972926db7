"""Recurrent layers and cells as functions: ``torch.lstm``, ``torch.gru_cell``, ...

What ``nn.LSTM`` and its like are over a list of weights; the steps stand in
``nn/functional/_recurrent.py``. Imported when first asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pellucid import Tensor
from pellucid.nn.functional import _recurrent

_Weights = Sequence[Tensor | None]


def lstm(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory over a sequence, or over packed data.

    ``lstm(input, (h_0, c_0), params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)``, or ``lstm(data, batch_sizes, (h_0, c_0), params,
    has_biases, num_layers, dropout, train, bidirectional)``. ``params``: the weights of
    each layer and direction, (ih, hh) and with biases (ih, hh, b_ih, b_hh), with a
    projection also hr. Gives the outputs and the last states (h_n, c_n), as
    ``nn.LSTM`` does. Example::

        >>> import pellucid as torch
        >>> layer = torch.nn.LSTM(3, 4)
        >>> state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
        >>> weights = list(layer.parameters())
        >>> x = torch.ones(5, 2, 3)
        >>> out = torch.lstm(x, state, weights, True, 1, 0.0, False, False, False)
        >>> out[0].shape
        torch.Size([5, 2, 4])
    """
    output, (hidden, cell) = _layers("LSTM", input, args, kwargs)
    return output, hidden, cell


def _single_state(mode: str, name: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def layer(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        output, (hidden,) = _layers(mode, input, args, kwargs)
        return output, hidden

    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = (
        f"As ``lstm``, with the steps of {mode} and one tensor as the state: gives the "
        "outputs and the last states."
    )
    return layer


gru = _single_state("GRU", "gru")
rnn_tanh = _single_state("RNN_TANH", "rnn_tanh")
rnn_relu = _single_state("RNN_RELU", "rnn_relu")


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of ``lstm``: (h, c) of (batch, hidden) from input and state."""
    hidden, cell = _step("LSTM", input, tuple(hx), (w_ih, w_hh, b_ih, b_hh))
    return hidden, cell


def _single_cell(mode: str, name: str) -> Callable[..., Tensor]:
    def cell(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        (hidden,) = _step(mode, input, (hx,), (w_ih, w_hh, b_ih, b_hh))
        return hidden

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"One step of {mode}: (batch, hidden) from an input and the state."
    return cell


gru_cell = _single_cell("GRU", "gru_cell")
rnn_tanh_cell = _single_cell("RNN_TANH", "rnn_tanh_cell")
rnn_relu_cell = _single_cell("RNN_RELU", "rnn_relu_cell")


def _layers(
    mode: str, input: Tensor, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Takes the arguments of the form for sequences or of that for packed data;
    TypeError unless they are all there and no others.
    """
    second = args[0] if args else kwargs.get("batch_sizes", kwargs.get("hx"))
    own_state = isinstance(second, Tensor) == (mode != "LSTM")
    packed = "batch_sizes" in kwargs or (
        isinstance(second, Tensor) and (not own_state or second.dim() == 1)
    )
    form = _packed if packed else _sequence
    try:
        inspect.signature(form).bind(mode, input, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{mode.lower()}(): {error}") from None
    return form(mode, input, *args, **kwargs)


def _sequence(
    mode: str,
    input: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    sequence = input.transpose(0, 1) if batch_first else input
    output, state = _stack(
        *(mode, sequence, None, hx, params, has_biases, num_layers, dropout, train),
        bidirectional,
    )
    return output.transpose(0, 1) if batch_first else output, state


def _packed(
    mode: str,
    data: Tensor,
    batch_sizes: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    return _stack(
        *(mode, data, batch_sizes, hx, params, has_biases, num_layers, dropout, train),
        bidirectional,
    )


def _stack(
    mode: str,
    data: Tensor,
    batch_sizes: Tensor | None,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    directions = 2 if bidirectional else 1
    weights = _by_layer(mode, list(params), has_biases, num_layers * directions)
    state = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    if len(state) != (2 if mode == "LSTM" else 1):
        raise RuntimeError(f"{mode} does not have {len(state)} states")
    probability = dropout if train else 0.0
    return _recurrent.run_stack(
        mode, data, state, weights, directions, probability, batch_sizes
    )


def _by_layer(
    mode: str, params: list[Tensor], has_biases: bool, rows: int
) -> list[_Weights]:
    """(ih, hh, b_ih, b_hh, hr) of each layer and direction; None for what is absent."""
    each, left = divmod(len(params), rows) if rows else (0, 1)
    plain = 4 if has_biases else 2
    if left or each not in (plain, plain + (mode == "LSTM")):
        raise RuntimeError(
            f"{len(params)} weights were given for {rows} layers and directions; each "
            f"has {plain}" + (", or one more with a projection" * (mode == "LSTM"))
        )
    table: list[_Weights] = []
    for row in range(rows):
        own: list[Tensor | None] = list(params[row * each : (row + 1) * each])
        biases = own[2:4] if has_biases else [None, None]
        table.append([*own[:2], *biases, own[-1] if each > plain else None])
    return table


def _step(
    mode: str, input: Tensor, state: tuple[Tensor, ...], weights: _Weights
) -> tuple[Tensor, ...]:
    batched = input.dim() == 2
    rows = input if batched else input.unsqueeze(0)
    state = state if batched else tuple(s.unsqueeze(0) for s in state)
    if rows.dim() != 2 or any(s.dim() != 2 for s in state):
        raise RuntimeError(
            f"a cell takes an input and states of 1 or 2 dims, not {input.dim()} and "
            f"{[s.dim() for s in state]}"
        )
    _check_features(rows, state[0], weights)
    _, last = _recurrent.run_layer(
        mode, rows.unsqueeze(0), state, (*weights, None), None, False
    )
    return last if batched else tuple(s.squeeze(0) for s in last)


def _check_features(rows: Tensor, hidden: Tensor, weights: _Weights) -> None:
    from_input, from_hidden = weights[0], weights[1]
    assert from_input is not None and from_hidden is not None
    given = rows.size(-1), hidden.size(-1)
    expected = from_input.size(-1), from_hidden.size(-1)
    if given != expected or rows.size(0) != hidden.size(0):
        raise RuntimeError(
            f"input and state have shapes {tuple(rows.shape)} and "
            f"{tuple(hidden.shape)}; the weights take {expected[0]} and {expected[1]} "
            "features, and the rows are as many"
        )
