"""Layers on quantized tensors and with int8 weights: pooling, norms, recurrent cells.

Implemented in ``pellucid/ao/_quantized``.
"""

from pellucid_compiler.composites import api, composite, framework_module, require

_SEEN = {"method": False, "seen": True, "takes_parts": True}


def _pool(dims, defaults):
    """The schema of pooling over ``dims`` dims."""
    kernel, stride, padding, dilation = (f"int[{dims}] {text}" for text in defaults)
    return (
        f"quantized_max_pool{dims}d(Tensor self, {kernel}, {stride}, {padding}, "
        f"{dilation}, bool ceil_mode=False) -> Tensor"
    )


_DEFAULTS = ("kernel_size", "stride=[]", "padding=0", "dilation=1")
_POOLED = "ao._quantized.arithmetic"


@composite(_pool(1, _DEFAULTS), out=True, **_SEEN)
def quantized_max_pool1d(x, *window):
    """``max_pool1d`` of a quantized tensor, with its scale."""
    return framework_module(_POOLED).by_order(
        api.ops.aten.max_pool1d.default, x, *window
    )


@composite(_pool(2, _DEFAULTS), out=True, **_SEEN)
def quantized_max_pool2d(x, *window):
    """``max_pool2d`` of a quantized tensor, with its scale."""
    return framework_module(_POOLED).by_order(
        api.ops.aten.max_pool2d.default, x, *window
    )


@composite(_pool(3, _DEFAULTS), out=True, **_SEEN)
def quantized_max_pool3d(x, *window):
    """``max_pool3d`` of a quantized tensor, with its scale."""
    return framework_module(_POOLED).by_order(
        api.ops.aten.max_pool3d.default, x, *window
    )


@composite(
    "quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, "
    "Tensor var, float eps, float output_scale, int output_zero_point) -> Tensor",
    out=True,
    **_SEEN,
)
def quantized_batch_norm(x, *arguments):
    """``batch_norm`` with running statistics; the result has the given scale."""
    return framework_module("ao._quantized.registry").called(
        "batch_norm", x, *arguments
    )


# ------------------------------------------------------------------ recurrent cells

_WEIGHTS = (
    "Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, "
    "Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, "
    "Scalar scale_hh, Scalar zero_point_ih, Scalar zero_point_hh"
)


def _sums(x, hx, weights):
    """The input's and the state's contributions to the gates, with int8 weights."""
    w_ih, w_hh, b_ih, b_hh, _, _, _, _, s_ih, s_hh, z_ih, z_hh = weights
    product = framework_module("ao._quantized.products").by_integers
    return product(x, w_ih, s_ih, z_ih, b_ih), product(hx, w_hh, s_hh, z_hh, b_hh)


@composite(
    f"quantized_lstm_cell(Tensor input, Tensor[] hx, {_WEIGHTS}) -> (Tensor, Tensor)",
    method=False,
)
def quantized_lstm_cell(x, hx, *weights):
    """``lstm_cell`` with int8 weights; inputs are quantized by their range."""
    require(len(hx) == 2, "quantized_lstm_cell: hx is (h, c), not {} tensors", len(hx))
    sums, of_state = _sums(x, hx[0], weights)
    entered, forgotten, new, shown = (sums + of_state).chunk(4, 1)
    cell = forgotten.sigmoid() * hx[1] + entered.sigmoid() * new.tanh()
    return shown.sigmoid() * cell.tanh(), cell


@composite(
    f"quantized_gru_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor", method=False
)
def quantized_gru_cell(x, hx, *weights):
    """``gru_cell`` with int8 weights; inputs are quantized by their range."""
    (r, z, n), (r_h, z_h, n_h) = (each.chunk(3, 1) for each in _sums(x, hx, weights))
    reset, update = (r + r_h).sigmoid(), (z + z_h).sigmoid()
    new = (n + reset * n_h).tanh()
    return (hx - new) * update + new


@composite(
    f"quantized_rnn_relu_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor",
    method=False,
)
def quantized_rnn_relu_cell(x, hx, *weights):
    """``rnn_relu_cell`` with int8 weights; inputs are quantized by their range."""
    sums, of_state = _sums(x, hx, weights)
    return (sums + of_state).relu()


@composite(
    f"quantized_rnn_tanh_cell(Tensor input, Tensor hx, {_WEIGHTS}) -> Tensor",
    method=False,
)
def quantized_rnn_tanh_cell(x, hx, *weights):
    """``rnn_tanh_cell`` with int8 weights; inputs are quantized by their range."""
    sums, of_state = _sums(x, hx, weights)
    return (sums + of_state).tanh()
