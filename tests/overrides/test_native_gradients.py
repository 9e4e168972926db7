"""Gradients under the names of PyTorch's backward ops, computed by the derivatives."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F
from pellucid.overrides import enable_reentrant_dispatch
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils._pytree import tree_map_only

aten = torch.ops.aten


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **kwargs or {})


def leaf(*shape):
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


def smoothed(target=None, **options):
    inputs = LABELS if target is None else target
    return lambda x: F.cross_entropy(x, inputs, label_smoothing=0.2, **options)


LABELS = torch.tensor([1, 0, 2, 1])
RUNNING = torch.tensor([[0.1, -0.2, 0.3], [0.5, 1.0, 2.0]], dtype=torch.float64)
SCANS = "slice.Tensor cat cumprod slice.Tensor flip cat cumprod flip"
PRODUCT = f"{{}}ones {SCANS} mul.Tensor mul.Tensor{{}}"
CASES = [
    (F.conv2d, [(2, 3, 6, 6), (4, 3, 3, 3), (4,)], "convolution_backward"),
    (F.conv1d, [(2, 3, 7), (4, 3, 3)], "convolution_backward"),
    (
        lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 2),
        [(2, 4, 6, 6), (4, 2, 3, 3)],
        "convolution_backward",
    ),
    (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1),
        [(2, 3, 4, 4), (3, 4, 3, 3), (4,)],
        "convolution_backward",
    ),
    (
        lambda x, w, b: F.layer_norm(x, (5,), w, b),
        [(4, 5), (5,), (5,)],
        "native_layer_norm_backward",
    ),
    (
        lambda x: F.layer_norm(x, (3, 5)),
        [(4, 3, 5)],
        "native_layer_norm_backward",
    ),
    (
        lambda x: F.max_pool2d(x, 2, 1, 1),
        [(2, 3, 6, 6)],
        "max_pool2d_with_indices_backward",
    ),
    (
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        [(2, 3, 6, 6)],
        "avg_pool2d_backward",
    ),
    (
        lambda w: F.embedding(LABELS, w, padding_idx=0),
        [(5, 3)],
        "embedding_dense_backward",
    ),
    (lambda x: F.nll_loss(x, LABELS), [(4, 3)], "nll_loss_backward"),
    (
        lambda x: F.cross_entropy(x, LABELS, ignore_index=0),
        [(4, 3)],
        "nll_loss_backward _log_softmax_backward_data",
    ),
    (F.mse_loss, [(4,), (4,)], "mse_loss_backward mse_loss_backward"),
    (lambda x: F.mse_loss(x, torch.ones(4)), [(4,)], "mse_loss_backward"),
    (
        lambda x: F.smooth_l1_loss(x, torch.ones(4), beta=0.3, reduction="sum"),
        [(4,)],
        "smooth_l1_loss_backward",
    ),
    (
        lambda x: F.huber_loss(x, torch.ones(4), delta=0.4, reduction="none"),
        [(4,)],
        "huber_loss_backward",
    ),
    (lambda x: x[1:3], [(4, 2)], "slice_backward"),
    (lambda x: x[::2], [(4, 5)], "slice_backward"),
    (lambda x: x[1], [(4, 2)], "select_backward"),
    (lambda x: x.diagonal(1), [(3, 4)], "diagonal_backward"),
    (lambda x: F.leaky_relu(x, 0.2), [(4,)], "leaky_relu_backward"),
    (lambda x: F.elu(x, 0.7), [(4,)], "elu_backward"),
    (lambda x: F.hardtanh(x, -0.5, 0.4), [(4,)], "hardtanh_backward"),
    (lambda x: F.softplus(x, 2), [(4,)], "softplus_backward"),
    (F.hardswish, [(4,)], "hardswish_backward"),
    (F.hardsigmoid, [(4,)], "hardsigmoid_backward"),
    (F.mish, [(4,)], "mish_backward"),
    (lambda x: F.glu(x, 0), [(4, 2)], "glu_backward"),
    (lambda x: F.softshrink(x, 0.3), [(4,)], "softshrink_backward"),
    (lambda x: F.hardshrink(x, 0.3), [(4,)], "hardshrink_backward"),
    (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [(2, 4, 3), (4,), (4,)],
        "native_group_norm_backward",
    ),
    (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(1, 2, 3, 4)] * 3,
        "_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    (
        lambda x: F.adaptive_avg_pool2d(x, 2),
        [(1, 2, 5, 5)],
        "_adaptive_avg_pool2d_backward",
    ),
    (
        lambda x: F.adaptive_avg_pool1d(x, 2),
        [(1, 2, 5)],
        "unsqueeze _adaptive_avg_pool2d_backward squeeze.dim",
    ),
    (
        lambda x: F.adaptive_avg_pool3d(x, 2),
        [(1, 2, 5, 3, 4)],
        "_adaptive_avg_pool3d_backward",
    ),
    (
        lambda x: F.adaptive_max_pool1d(x, 2),
        [(1, 2, 5)],
        "unsqueeze adaptive_max_pool2d_backward squeeze.dim",
    ),
    (
        lambda x, w, b: F.batch_norm(x, RUNNING[0], RUNNING[1], w, b),
        [(4, 3, 2), (3,), (3,)],
        "native_batch_norm_backward",
    ),
    (F.selu, [(4,)], "elu_backward"),
    (
        lambda x: x.logsumexp(1),
        [(3, 4)],
        "unsqueeze sub.Tensor exp unsqueeze mul.Tensor",
    ),
    (lambda x: x.var(), [(3, 4)], "mean sub.Tensor mul.Scalar mul.Tensor"),
    (lambda x: x[LABELS[:2]], [(3, 2)], "new_zeros index_put"),
    (
        lambda x: F.max_pool1d(x, 2),
        [(1, 2, 4)],
        "unsqueeze max_pool2d_with_indices_backward squeeze.dim",
    ),
    (
        lambda x: F.binary_cross_entropy_with_logits(x, torch.ones(4)),
        [(4,)],
        "sigmoid sub.Tensor mul.Tensor div_.Scalar",
    ),
    (lambda x: x.roll(1, 0), [(3, 2)], "roll"),
    (lambda x: x.amax(1), [(3, 4)], None),
    (torch.max, [(3, 4)], None),
    (lambda x: x.repeat(2, 1), [(3, 2)], "view sum.dim_IntList"),
    (lambda x: torch.fft.fft(torch.fft.ifft(x)), [(3, 4)], None),
    (torch.fft.fft, [(3, 4)], "_fft_c2c view_as_real select.int"),
    (torch.fft.rfft, [(3, 5)], None),
    (torch.fft.rfft2, [(2, 3, 4)], None),
    (lambda x: torch.fft.irfft(torch.complex(x, x), 5), [(2, 3)], None),
    (lambda x: torch.fft.irfft(torch.complex(x, x), norm="ortho"), [(2, 3)], None),
    (lambda x: torch.fft.hfft2(torch.complex(x, -x)), [(2, 3)], None),
    (torch.prod, [(2, 3)], PRODUCT.format("view ", " view")),
    (lambda x: x.prod(1), [(2, 3)], PRODUCT.format("unsqueeze ", "")),
    (lambda x: (x - x.detach()[0, 0]).prod(-1, True), [(2, 3)], None),
    (lambda x: x.prod(0), [(1, 3)], None),
    (smoothed(), [(4, 3)], None),
    (smoothed(reduction="sum"), [(4, 3)], None),
    (smoothed(reduction="none", ignore_index=1), [(4, 3)], None),
    (smoothed(weight=torch.arange(1.0, 4).double()), [(4, 3)], None),
    (smoothed(ignore_index=2, weight=torch.ones(3).double()), [(4, 3)], None),
    (smoothed(target=torch.ones(4, 3).double() / 3), [(4, 3)], None),
    (smoothed(target=LABELS.view(1, 2, 2)), [(1, 3, 2, 2)], None),
    (smoothed(target=LABELS[0]), [(3,)], None),
    # The ops that a traced function consists of.
    (
        torch.div,
        [(4,), (4,)],
        "div.Tensor div.Tensor neg div.Tensor mul.Tensor",
    ),
    (lambda x: x.exp().sqrt(), [(4,)], None),
    (torch.tan, [(4,)], None),
    (torch.atan2, [(4,), (4,)], None),
    (lambda x, y: torch.where(LABELS > 0, x, y), [(4,), (4,)], None),
    (lambda x: x.clamp(-0.5, 0.5), [(4,)], None),
    (lambda x: x**3, [(4,)], None),
    (lambda x: 2**x, [(4,)], None),
    (torch.maximum, [(4,), (4,)], None),
    (lambda x: x.flip(0), [(4,)], "flip"),
    (lambda x: x.tril(-1), [(3, 3)], "tril"),
    (lambda x: F.pad(x, (1, 2)), [(3,)], "constant_pad_nd"),
    (lambda x: x.cumsum(0), [(3, 2)], "flip cumsum flip"),
    (lambda x: x.gather(0, LABELS[None, :2]), [(3, 2)], "new_zeros scatter_add"),
    (lambda x: x.index_select(0, LABELS), [(3, 2)], "new_zeros index_add"),
    (lambda x: x.sort()[0], [(3, 2)], "new_zeros scatter.src"),
    (lambda x: x.topk(2)[0], [(3, 4)], "new_zeros scatter.src"),
    (
        lambda x: x.max(1)[0],
        [(3, 4)],
        "unsqueeze unsqueeze new_zeros scatter.src",
    ),
    # Elements that were chosen or moved.
    (
        torch.median,
        [(5,)],
        "isnan isnan logical_and eq.Tensor logical_or_ sum div.Tensor mul.Tensor",
    ),
    (
        lambda x: x.median(1)[0],
        [(3, 5)],
        "unsqueeze unsqueeze new_zeros scatter.src",
    ),
    (lambda x: x.cummax(1)[0], [(3, 4)], "new_zeros scatter_add"),
    (lambda x: x.cummin(0)[0], [(3, 4)], "new_zeros scatter_add"),
    (lambda x: x.nansum(1), [(3, 4)], None),
    (torch.nansum, [(3, 4)], "isnan logical_not expand mul.Tensor"),
    (lambda x: x[x > 0], [(3, 4)], "new_zeros index_put"),
    (torch.diag, [(4, 4)], "diagonal_backward"),
    (lambda x: x.diag(1), [(4,)], "diagonal"),
    (lambda x: x.scatter(1, LABELS[:, None], 0.5), [(4, 3)], "scatter.value"),
    (
        lambda x, y: x.scatter(0, LABELS[None], y),
        [(3, 4), (1, 4)],
        "scatter.value gather",
    ),
    (
        lambda x, y: x.scatter_add(0, LABELS[None], y),
        [(3, 4), (1, 4)],
        "gather",
    ),
    (
        lambda x, y: x.index_add(0, LABELS, y, alpha=2),
        [(3, 2), (4, 2)],
        "index_select expand mul.Scalar",
    ),
    (
        lambda x, y: x.index_copy(0, LABELS[:3], y),
        [(3, 2), (3, 2)],
        "index_fill.int_Scalar index_select expand",
    ),
    (lambda x: x.index_fill(0, LABELS, 1.0), [(3, 2)], "index_fill.int_Scalar"),
    (
        lambda x: x.masked_select(LABELS > 0),
        [(3, 4)],
        "new_zeros expand masked_scatter",
    ),
    (lambda x: x.masked_select(LABELS > 0), [(1,)], None),
    (
        lambda x, y: x.masked_scatter(LABELS > 0, y),
        [(3, 4), (3, 4)],
        "masked_fill.Scalar expand masked_scatter_backward",
    ),
    (lambda x: x.take(LABELS), [(3, 2)], "new_zeros put"),
    (
        lambda x, y: x.put(LABELS[:3], y),
        [(3, 2), (3,)],
        "new_zeros put take view",
    ),
    (lambda x, y: x.put(LABELS, y, accumulate=True), [(3, 2), (4,)], None),
    (lambda x: F.pixel_shuffle(x, 2), [(1, 8, 2, 2)], "pixel_unshuffle"),
    (lambda x: F.pixel_unshuffle(x, 2), [(1, 2, 4, 4)], "pixel_shuffle"),
    (lambda x: F.channel_shuffle(x, 2), [(1, 6, 2, 2)], "channel_shuffle"),
    (lambda x: F.unfold(x, 2, stride=2), [(1, 2, 4, 4)], "col2im"),
    (lambda x: F.fold(x, (4, 4), 2, stride=2), [(1, 8, 4)], "im2col"),
    (torch.addr, [(3, 4), (3,), (4,)], "mv t mv"),
    (
        lambda x, a, b: torch.addmv(x, a, b, beta=2, alpha=0.5),
        [(1,), (3, 4), (4,)],
        None,
    ),
    (lambda x, a, b: torch.addbmm(x, a, b), [(3, 5), (2, 3, 4), (2, 4, 5)], None),
    (
        lambda x, y: x.index_put((LABELS,), y),
        [(3, 2), (2,)],
        None,
    ),
    (
        lambda x, y: x.index_put((None, LABELS), y, accumulate=True),
        [(2, 3), (2, 4)],
        "index.Tensor",
    ),
    (torch.dist, [(3, 4), (3, 4)], None),
]


@pytest.mark.parametrize(("function", "shapes", "names"), CASES)
def test_watched_gradients(function, shapes, names):
    torch.manual_seed(0)
    inputs = [leaf(*shape) for shape in shapes]
    plain = function(*inputs)
    cotangent = torch.randn_like(plain)
    wanted = torch.autograd.grad(plain, inputs, cotangent)
    with Seen() as seen:
        watched = function(*inputs)
        seen.names.clear()
        actual = torch.autograd.grad(watched, inputs, cotangent)
    assert not any(name.startswith("derivative") for name in seen.names)
    if names is not None:
        assert [n for n in seen.names if n != "detach"] == names.split()
    torch.testing.assert_close(actual, wanted)


def test_a_gradient_of_some_operands():
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 6, 6), leaf(4, 3, 3, 3).float()
    y = F.conv2d(x, weight, None, 2)
    (wanted,) = torch.autograd.grad(y.sum(), weight, retain_graph=True)
    with Seen() as seen:  # the forward op was not watched
        (actual,) = torch.autograd.grad(y.sum(), weight)
    assert "convolution_backward" in seen.names
    torch.testing.assert_close(actual, wanted)


def test_backward_ops_may_be_called():
    grad, x, weight = torch.ones(1, 2, 3, 3), torch.ones(1, 1, 5, 5), leaf(2, 1, 3, 3)
    weight = weight.detach().float()
    form = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    mask = [True, False, True]
    actual = aten.convolution_backward(grad, x, weight, [2], *form, mask)
    wanted = F.conv_transpose2d(grad, weight)
    torch.testing.assert_close(actual[0], wanted)
    assert actual[1] is None and actual[2].tolist() == [9.0, 9.0]
    places = torch.tensor([[[[3]]]])
    pooled = aten.max_pool2d_with_indices_backward(
        torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 2, 2), [2, 2], [2, 2], [0, 0],
        [1, 1], False, places,
    )  # fmt: skip
    assert pooled.tolist() == [[[[0.0, 0.0], [0.0, 1.0]]]]


def test_second_derivatives_through_watched_gradients():
    x, weight = leaf(1, 1, 4, 4), leaf(1, 1, 3, 3)

    def second():
        y = F.conv2d(x, weight).pow(2).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), weight)[0]

    with Seen():
        watched = second()
    torch.testing.assert_close(watched, second())


@pytest.mark.parametrize(
    "function", [torch.mul, torch.div, lambda x, y: x.exp() * y.sin()]
)
def test_complex_gradients_are_seen_by_their_ops(function):
    x, y = (torch.randn(3, dtype=torch.complex128).requires_grad_() for _ in range(2))
    cotangent = torch.randn(3, dtype=torch.complex128)
    wanted = torch.autograd.grad(function(x, y), (x, y), cotangent)
    with Seen() as seen:
        actual = torch.autograd.grad(function(x, y), (x, y), cotangent)
    assert not any(name.startswith("derivative") for name in seen.names)
    torch.testing.assert_close(actual, wanted)


class Wrapper(torch.Tensor):
    """Holds a tensor and has no memory of its own."""

    @staticmethod
    def __new__(cls, inner):
        result = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
        )
        result.inner = inner.detach()
        return result

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = tree_map_only(Wrapper, lambda w: w.inner, (args, kwargs or {}))
        result = func(*inner[0], **inner[1])
        return tree_map_only(torch.Tensor, Wrapper, result)


WRAPPED = [
    (lambda x: F.cross_entropy(x, LABELS), [(4, 3)]),
    (lambda x: F.nll_loss(x, LABELS, ignore_index=1, reduction="sum"), [(4, 3)]),
    (lambda x, w, b: F.layer_norm(x, (3,), w, b), [(4, 3), (3,), (3,)]),
    (lambda x: F.group_norm(x, 2), [(2, 4, 3)]),
    (lambda x: F.max_pool2d(x, 2), [(1, 2, 4, 4)]),
    (lambda x, w: F.conv1d(x, w), [(1, 2, 5), (3, 2, 2)]),
    (lambda x: x.sort()[0] * LABELS, [(3, 4)]),
]


@pytest.mark.parametrize(("function", "shapes"), WRAPPED)
def test_gradients_of_wrappers_need_no_memory(function, shapes):
    torch.manual_seed(0)
    inputs = [leaf(*shape) for shape in shapes]
    plain = function(*inputs)
    cotangent = torch.randn_like(plain)
    wanted = torch.autograd.grad(plain, inputs, cotangent)
    wrappers = [Wrapper(x) for x in inputs]
    wrapped = function(*wrappers)
    actual = torch.autograd.grad(wrapped, wrappers, Wrapper(cotangent))
    torch.testing.assert_close([g.inner for g in actual], list(wanted))


@pytest.mark.parametrize(
    "function",
    [lambda x: aten.mul.Scalar(x, 3.0), lambda x: F.multi_margin_loss(x, LABELS[:3])],
)
def test_watched_calls_of_further_overloads_and_composites_have_gradients(function):
    torch.manual_seed(0)
    x = leaf(3, 3)
    (wanted,) = torch.autograd.grad(function(x).sum(), x)
    with Seen():
        (actual,) = torch.autograd.grad(function(x).sum(), x)
    torch.testing.assert_close(actual, wanted)
    wrapper = Wrapper(x)
    (of_wrapper,) = torch.autograd.grad(function(wrapper).sum(), wrapper)
    torch.testing.assert_close(of_wrapper.inner, wanted)


def test_handlers_record_gradients_where_they_ask_for_it():
    inside = []

    class Recording(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            x = torch.ones(2, requires_grad=True)
            inside.append((x * 3).requires_grad)
            with enable_reentrant_dispatch():
                (x * 3).sum().backward()
            inside.append((x * 3).requires_grad)
            inside.append(x.grad.tolist())
            return func(*args, **kwargs or {})

    x = torch.ones(2, requires_grad=True)
    with Recording():
        y = x.exp()
    of_exp, of_its_saved_result = inside[:3], inside[3:]
    assert of_exp == of_its_saved_result == [False, False, [3, 3]]
    assert y.requires_grad


DROPPED = "empty_like bernoulli_.float div_.Scalar mul.Tensor"
ALPHA = (
    "empty_like bernoulli_.float add.Scalar mul_.Scalar add_.Scalar mul_.Scalar "
    "mul.Tensor add_.Tensor"
)


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize(
    ("function", "p", "training", "names"),
    [
        (F.dropout, 0.5, True, DROPPED),
        (torch.dropout, 0.5, True, DROPPED),
        (F.dropout, 1.0, True, "zeros mul.Tensor"),
        (F.dropout, 0.0, True, ""),
        (F.dropout, 0.5, False, ""),
        (F.alpha_dropout, 0.5, True, ALPHA),
        (F.alpha_dropout, 1.0, True, "zeros mul.Tensor"),
        (F.feature_alpha_dropout, 0.5, True, ALPHA.replace("empty_like", "new_empty")),
        (torch.native_dropout, 0.5, True, "native_dropout"),
    ],
)
def test_dropout_is_seen_as_its_parts(function, p, training, names, needs_grad):
    x = torch.randn(3, 4, requires_grad=needs_grad)
    torch.manual_seed(0)
    expected = function(x, p, training)
    torch.manual_seed(0)
    with Seen() as seen:
        actual = function(x, p, training)
    assert [n for n in seen.names if n != "detach"] == names.split()
    torch.testing.assert_close(actual, expected)
    if names == DROPPED and needs_grad:
        assert actual.grad_fn.name() == "MulBackward0"
