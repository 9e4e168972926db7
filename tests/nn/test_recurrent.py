"""Recurrent layers: one op over time agrees with the formulas step by step, in values
and in first and second derivatives.
"""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.autograd import gradcheck, gradgradcheck

TIME, BATCH, INPUT, HIDDEN = 4, 3, 2, 3
KINDS = ("RNN", "GRU", "LSTM")


MANY, WIDE = 20, 24  # examples and elements that several blocks of lanes share


def layer_of(kind, hidden=HIDDEN, **options):
    torch.manual_seed(0)
    return getattr(nn, kind)(INPUT, hidden, dtype=torch.float64, **options)


def stepwise(layer, x):
    """The outputs of a layer in one direction, by PyTorch's documented formulas."""
    w_input, w_state = layer.weight_ih_l0, layer.weight_hh_l0
    b_input = b_state = 0
    if layer.bias:
        b_input, b_state = layer.bias_ih_l0, layer.bias_hh_l0
    size = layer.proj_size or layer.hidden_size
    h = x.new_zeros(x.size(1), size)
    c = x.new_zeros(x.size(1), layer.hidden_size)
    outputs = []
    for step in x:
        a, b = step @ w_input.t() + b_input, h @ w_state.t() + b_state
        if layer.mode == "LSTM":
            i, f, g, o = (a + b).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            if layer.proj_size:
                h = h @ layer.weight_hr_l0.t()
        elif layer.mode == "GRU":
            (r, z, n), (r_h, z_h, n_h) = a.chunk(3, 1), b.chunk(3, 1)
            z = (z + z_h).sigmoid()
            h = (1 - z) * (n + (r + r_h).sigmoid() * n_h).tanh() + z * h
        else:
            h = (a + b).tanh() if layer.mode == "RNN_TANH" else (a + b).relu()
        outputs.append(h)
    return torch.stack(outputs)


CASES = [
    ("LSTM", {}),
    ("LSTM", {"bias": False}),
    ("LSTM", {"proj_size": 2}),
    ("GRU", {}),
    ("GRU", {"bias": False}),
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu"}),
]


@pytest.mark.parametrize("sizes", [(TIME, BATCH, HIDDEN), (WIDE, MANY, WIDE)])
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_values_and_gradients_are_those_of_the_formulas(kind, options, sizes):
    time, batch, hidden = sizes
    layer = layer_of(kind, hidden, **options)
    x = torch.randn(time, batch, INPUT, dtype=torch.float64, requires_grad=True)
    inputs = [x, *layer.parameters()]
    actual, expected = layer(x)[0], stepwise(layer, x)
    assert torch.allclose(actual, expected)
    weight = torch.randn_like(expected)
    grads = torch.autograd.grad((actual * weight).sum(), inputs)
    for grad, wanted in zip(
        grads, torch.autograd.grad((expected * weight).sum(), inputs), strict=True
    ):
        assert torch.allclose(grad, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_have_second_derivatives(kind):
    layer = layer_of(kind, bidirectional=True)
    x = torch.randn(TIME, BATCH, INPUT, dtype=torch.float64, requires_grad=True)

    names, weights = zip(*layer.named_parameters(), strict=True)

    def outputs(x, *weights):
        inputs = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(layer, inputs, (x,))[0]

    inputs = (x, *weights)
    assert gradcheck(outputs, inputs, fast_mode=True)
    assert gradgradcheck(outputs, inputs, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[4, 2, 3], [3, 3, 3]])
def test_packed_gradients_are_those_of_each_sequence(kind, lengths):
    layer = layer_of(kind, num_layers=2, bidirectional=True)
    sequences = [
        torch.randn(n, INPUT, dtype=torch.float64, requires_grad=True) for n in lengths
    ]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    inputs = [*sequences, *layer.parameters()]
    together = layer(packed)[0].data.square().sum()
    alone = sum(layer(s)[0].square().sum() for s in sequences)
    grads = torch.autograd.grad(together, inputs)
    for grad, wanted in zip(grads, torch.autograd.grad(alone, inputs), strict=True):
        assert torch.allclose(grad, wanted)


def test_a_state_given_and_returned_has_gradients():
    layer = layer_of("LSTM")
    x = torch.randn(TIME, BATCH, INPUT, dtype=torch.float64)
    state = tuple(
        torch.randn(1, BATCH, HIDDEN, dtype=torch.float64, requires_grad=True)
        for _ in range(2)
    )

    def last_state(*state):
        return layer(x, state)[1]

    assert gradcheck(last_state, state)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", range(1, 9))
@pytest.mark.parametrize("batch", [1, BATCH])
@pytest.mark.parametrize("reverse", [False, True])
def test_any_number_of_steps_passes_gradients_to_the_first_state(
    kind, time, batch, reverse
):
    layer = layer_of(kind, bidirectional=reverse)
    x = torch.randn(time, batch, INPUT, dtype=torch.float64, requires_grad=True)
    count = 1 + reverse
    wide = torch.randn(2, count, HIDDEN, batch, dtype=torch.float64, requires_grad=True)

    def last_state(x, wide):  # the first states are column-major
        first = wide.transpose(2, 3)
        state = (first[0], first[1].expand(count, batch, HIDDEN))
        return layer(x, state if kind == "LSTM" else state[0])[1]

    assert gradcheck(last_state, (x, wide))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [1, 2, 5])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_any_number_of_steps_passes_gradients_to_weights(kind, time, bidirectional):
    layer = layer_of(kind, bidirectional=bidirectional)
    x = torch.randn(time, BATCH, INPUT, dtype=torch.float64)
    names = [n for n, _ in layer.named_parameters() if "weight_hh" in n]

    def outputs(*weights):
        inputs = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(layer, inputs, (x,))[0]

    assert gradcheck(outputs, tuple(layer.get_parameter(n) for n in names))


def test_gradients_of_the_cells_alone_and_of_outputs_and_cells_add_up():
    layer = layer_of("LSTM", WIDE)
    x = torch.randn(WIDE, MANY, INPUT, dtype=torch.float64, requires_grad=True)
    output, (_, cell) = layer(x)
    inputs = [x, *layer.parameters()]

    def grads(value):
        return torch.autograd.grad(value, inputs, retain_graph=True)

    parts = zip(grads(output.sum()), grads(cell.sum()), strict=True)
    both = grads(output.sum() + cell.sum())
    assert all(torch.allclose(a + b, c) for (a, b), c in zip(parts, both, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(TIME, 40, HIDDEN), (WIDE, 37, WIDE)])
def test_bits_do_not_depend_on_the_number_of_threads(kind, sizes):
    time, batch, hidden = sizes
    layer = layer_of(kind, hidden, bidirectional=True)
    x = torch.randn(time, batch, INPUT, dtype=torch.float64)
    threads = torch.get_num_threads()
    actual = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        layer.zero_grad()
        layer(x)[0].sum().backward()
        actual.append([p.grad for p in layer.parameters()])
    torch.set_num_threads(threads)
    for grads in actual[1:]:
        assert all(map(torch.equal, grads, actual[0]))


def test_an_empty_batch_gives_empty_outputs():
    layer = layer_of("GRU")
    output, last = layer(torch.zeros(TIME, 0, INPUT, dtype=torch.float64))
    assert output.shape == (TIME, 0, HIDDEN) and last.shape == (1, 0, HIDDEN)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_functions_are_the_layers(mode, bidirectional):
    kinds = {"lstm": nn.LSTM, "gru": nn.GRU}
    kind = kinds.get(mode, nn.RNN)
    options = {"nonlinearity": mode[4:]} if kind is nn.RNN else {}
    layer = kind(3, 4, num_layers=2, bidirectional=bidirectional, **options)
    first = torch.randn(4 if bidirectional else 2, 2, 4)
    state = (first, first / 2) if mode == "lstm" else first
    rest = (list(layer.parameters()), True, 2, 0.0, False, bidirectional)
    function = getattr(torch, mode)

    def flat(pair):
        output, last = pair
        return output, *(last if mode == "lstm" else (last,))

    x = torch.randn(5, 2, 3)
    want = flat(layer(x, state))
    for actual, expected in zip(function(x, state, *rest, False), want, strict=True):
        assert torch.equal(actual, expected)
    actual = function(x.transpose(0, 1), state, *rest, True)
    assert torch.equal(actual[0].transpose(0, 1), want[0])
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
    want = flat(layer(packed, state))
    actual = function(packed.data, packed.batch_sizes, state, *rest)
    assert torch.equal(actual[0], want[0].data)
    assert torch.equal(actual[1], want[1])


def test_cell_functions_are_the_cells():
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    lstm, gru, rnn = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)
    for one, other in zip(
        torch.lstm_cell(x, (h, h), *lstm.parameters()), lstm(x, (h, h)), strict=True
    ):
        assert torch.equal(one, other)
    assert torch.equal(torch.gru_cell(x, h, *gru.parameters()), gru(x, h))
    assert torch.equal(torch.rnn_tanh_cell(x, h, *rnn.parameters()), rnn(x, h))
    assert torch.rnn_relu_cell(x[0], h[0], rnn.weight_ih, rnn.weight_hh).shape == (4,)


def test_recurrent_functions_refuse_what_does_not_fit():
    layer, x, h = nn.GRU(3, 4), torch.ones(5, 2, 3), torch.zeros(1, 2, 4)
    weights = list(layer.parameters())
    with pytest.raises(RuntimeError, match="3 weights were given"):
        torch.gru(x, h, weights[:3], True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="states"):
        torch.lstm(x, (h,), weights, True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="features"):
        torch.gru_cell(x[0], h[0], weights[1], weights[0])
    with pytest.raises(RuntimeError, match="dims"):
        torch.gru_cell(x, h, *weights)


def test_a_nonlinearity_that_is_none():
    x, hidden, weight = torch.ones(2, 1, 3), torch.ones(1, 3), torch.ones(3, 3)
    with pytest.raises(RuntimeError, match="'tanh' or 'relu'"):
        torch._C._op_named("pellucid::_rnn")(x, hidden, weight, None, False, "")


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_a_missing_argument_is_the_function_s(name):
    x, state = torch.zeros(1, 1, 1), torch.zeros(1, 1, 1)
    hx = (state, state) if name == "lstm" else state
    with pytest.raises(TypeError, match=rf"(?s)^{name}\(\) .*batch_first"):
        getattr(torch, name)(x, hx, [], False, 1, 0.0, False, False)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_takes_inputs_of_both_dtypes(kind, dtype):
    layer, x = kind(4, 6), torch.randn(5, 2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, state = layer(x.to(dtype))
    expected, _ = layer(x)
    hidden = state[0] if kind is nn.LSTM else state
    wanted = torch.bfloat16 if kind is nn.LSTM else dtype
    assert output.dtype is hidden.dtype is wanted
    torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.05)
    with pytest.raises(ValueError, match=r"the input has dtype torch\.bfloat16"):
        layer(x.bfloat16())


def ones(*shape):
    return torch.ones(shape)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nn.LSTM(3, 4)(ones(2, 2, 3), (ones(1, 3, 4), ones(1, 2, 4))),
            *(RuntimeError, r"Expected hidden\[0\] size \(1, 2, 4\), got \[1, 3, 4\]"),
        ),
        (
            lambda: nn.LSTM(3, 4)(ones(2, 2, 3), (ones(1, 2, 4), ones(1, 2, 5))),
            *(RuntimeError, r"Expected hidden\[1\] size"),
        ),
        (
            lambda: nn.GRU(3, 4, batch_first=True)(ones(2, 5, 3), ones(1, 5, 4)),
            *(RuntimeError, r"Expected hidden size \(1, 2, 4\)"),
        ),
        (
            lambda: nn.GRU(3, 4)(ones(2, 3), ones(1, 1, 4)),
            *(RuntimeError, "unbatched 2-D"),
        ),
        (lambda: nn.GRU(0, 4), ValueError, "input_size"),
        (lambda: nn.GRUCell(3, 4)(ones(2, 5)), RuntimeError, "got 5, expected 3"),
        (
            lambda: nn.GRUCell(3, 4)(ones(2, 3), ones(3, 4)),
            *(RuntimeError, "batch size 2 doesn't match hidden0 batch size 3"),
        ),
        (
            lambda: nn.LSTMCell(3, 4)(ones(2, 3), (ones(2, 4), ones(2, 5))),
            *(RuntimeError, "hidden1 has inconsistent hidden_size: got 5"),
        ),
        (lambda: nn.RNNCell(3, 4)(ones(3), ones(1, 4)), RuntimeError, "2 dims"),
        (lambda: nn.RNNCell(3, 4)(ones(3), ones(1, 1, 4)), ValueError, "1 or 2 dim"),
    ],
)
def test_inputs_and_states_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_subclasses_check():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    x = ones(5, 7, 3)
    assert layer.get_expected_hidden_size(x, None) == (4, 7, 2)
    assert layer.get_expected_cell_size(x, torch.tensor([6])) == (4, 6, 4)
    states = torch.arange(2.0).view(1, 2, 1), torch.zeros(1, 2, 1)
    swapped = layer.permute_hidden(states, torch.tensor([1, 0]))
    assert swapped[0].flatten().tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="2 dims, not 3"):
        layer.check_input(x, torch.tensor([6]))


def test_an_unbatched_sequence_has_the_same_results_in_either_order_of_dims():
    torch.manual_seed(0)
    layer = nn.GRU(3, 4)
    first = nn.GRU(3, 4, batch_first=True)
    first.load_state_dict(layer.state_dict())
    x, state = torch.randn(5, 3), torch.randn(1, 4)
    for actual, wanted in zip(first(x, state), layer(x, state), strict=True):
        assert torch.equal(actual, wanted)
