"""What dispatch modes see of composites: the ops that PyTorch composes them of."""

import subprocess
import sys

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils._python_dispatch import TorchDispatchMode

F = nn.functional


class Seen(TorchDispatchMode):
    """The names of the ops that ran."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__.removesuffix(".default"))
        return func(*args, **(kwargs or {}))


def leaf(*sizes):
    return torch.randn(*sizes, requires_grad=True)


PRODUCTS = [
    (lambda a, b: a @ b, (3, 4), (4, 5), "mm"),
    (lambda a, b: a @ b, (4,), (4,), "dot"),
    (lambda a, b: a @ b, (3, 4), (4,), "mv"),
    (lambda a, b: a @ b, (4,), (4, 3), "unsqueeze mm squeeze.dim"),
    (lambda a, b: a @ b, (2, 3, 4), (4, 5), "view mm _unsafe_view"),
    (
        lambda a, b: a @ b,
        (2, 3, 4),
        (2, 4, 5),
        "expand view expand view bmm _unsafe_view",
    ),
    (lambda a, b: a @ b, (3, 4), (2, 4, 5), "expand view expand view bmm _unsafe_view"),
    (F.linear, (3, 4), (5, 4), "t mm"),
    (lambda x, w: F.linear(x, w, w[0]), (3, 4), (4, 4), "select.int t addmm"),
    (
        lambda x, w: F.linear(x, w, w[0]),
        (2, 3, 4),
        (4, 4),
        "select.int view t addmm view",
    ),
]


@pytest.mark.parametrize(("function", "first", "second", "names"), PRODUCTS)
def test_products(function, first, second, names):
    torch.manual_seed(0)
    a, b = leaf(*first), leaf(*second)
    plain = function(a, b)
    with Seen() as seen:
        watched = function(a, b)
    assert seen.names == names.split()
    torch.testing.assert_close(watched, plain)
    cotangent = torch.randn_like(plain)
    wanted = torch.autograd.grad(plain, (a, b), cotangent)
    with Seen() as seen:
        actual = torch.autograd.grad(watched, (a, b), cotangent)
    torch.testing.assert_close(actual, wanted)
    assert not [n for n in seen.names if "matmul" in n or "linear" in n]


def test_gradients_of_products_are_products():
    a, b = leaf(3, 4), leaf(4, 5)
    with Seen() as seen:
        (a @ b).sum().backward()
    assert seen.names == ["mm", "sum", "ones_like", "expand", "t", "mm", "t", "mm"]


LAYERS = [
    (lambda x: x.softmax(-1), (3, 4), "_softmax"),
    (lambda x: F.log_softmax(x, 0), (3, 4), "_log_softmax"),
    (lambda x: F.layer_norm(x, (4,)), (3, 4), "native_layer_norm"),
    (lambda x: F.group_norm(x, 2), (2, 4, 3), "native_group_norm"),
    (
        lambda x: F.cross_entropy(x, torch.tensor([1, 0, 2])),
        (3, 4),
        "_log_softmax nll_loss_forward",
    ),
    (
        lambda x: F.nll_loss(x, torch.zeros(2, 3, 3, dtype=torch.int64)),
        (2, 4, 3, 3),
        "nll_loss2d_forward",
    ),
    (lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)), (1, 3, 5, 5), "convolution"),
    (
        lambda x: F.conv_transpose1d(x, torch.ones(3, 2, 2), stride=2),
        (1, 3, 5),
        "convolution",
    ),
    (
        lambda x: F.conv1d(x, torch.ones(2, 3, 3)),
        (3, 5),
        "unsqueeze convolution squeeze.dim",
    ),
    (lambda x: F.max_pool2d(x, 2), (1, 3, 4, 4), "max_pool2d_with_indices"),
    (lambda x: F.adaptive_avg_pool2d(x, 2), (1, 3, 4, 4), "_adaptive_avg_pool2d"),
    (lambda x: F.l1_loss(x, torch.zeros(3)), (3,), "sub.Tensor abs mean"),
    (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        (1, 2, 3, 4),
        "_scaled_dot_product_flash_attention_for_cpu",
    ),
]


@pytest.mark.parametrize(("function", "sizes", "names"), LAYERS)
def test_layers(function, sizes, names):
    torch.manual_seed(0)
    x = leaf(*sizes)
    plain = function(x)
    with Seen() as seen:
        watched = function(x)
    result = ("ones", "zeros", "select.int", "detach")
    assert [n for n in seen.names if n not in result] == names.split()
    assert torch.equal(watched, plain)
    cotangent = torch.randn_like(plain)
    (wanted,) = torch.autograd.grad(plain, x, cotangent)
    (actual,) = torch.autograd.grad(watched, x, cotangent)
    torch.testing.assert_close(actual, wanted)


SAVED_RESULTS = [
    (lambda x: x.softmax(-1), "_softmax detach", "detach _softmax_backward_data"),
    (lambda x: x.exp(), "exp detach", "detach mul.Tensor"),
    (lambda x: x.tanh(), "tanh detach", "detach tanh_backward"),
]


@pytest.mark.parametrize(("function", "forward", "backward"), SAVED_RESULTS)
def test_saved_results_are_seen_to_leave_the_graph(function, forward, backward):
    x = leaf(3, 4)
    with Seen() as seen:
        y = function(x)
    assert seen.names == forward.split()
    total = y.sum()
    with Seen() as seen:
        torch.autograd.grad(total, x)
    assert seen.names == ["ones_like", "expand", *backward.split()]


def test_errors_are_those_of_the_call():
    with Seen(), pytest.raises(RuntimeError, match="matmul"):
        torch.ones(2, 3) @ torch.ones(2, 3)


def test_batches_of_watched_products():
    a, b = torch.randn(3, 2, 4), torch.randn(4, 5)
    with Seen():
        actual = torch.vmap(torch.matmul, (0, None))(a, b)
    torch.testing.assert_close(actual, a @ b)


def test_tangents_of_watched_products():
    a, b = torch.randn(2, 4), torch.randn(4, 5)
    with Seen():
        _, tangent = torch.func.jvp(lambda a: a @ b, (a,), (torch.ones_like(a),))
    torch.testing.assert_close(tangent, torch.ones_like(a) @ b)


def test_autocast_casts_before_composites_are_decomposed():
    x = torch.randn(2, 3)
    with torch.autocast("cpu"), Seen() as seen:
        y = F.linear(x, torch.ones(4, 3), torch.ones(4))
        z = F.smooth_l1_loss(y, y)
    assert y.dtype == torch.bfloat16 and z.dtype == torch.float32
    assert "addmm" in seen.names and "linear" not in seen.names


def test_a_wrapper_sees_what_a_mode_sees():
    names = []

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            result = torch.Tensor._make_wrapper_subclass(cls, inner.shape)
            result.inner = inner
            return result

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            plain = [a.inner if isinstance(a, Wrapper) else a for a in args]
            return func(*plain, **(kwargs or {}))

    F.linear(Wrapper(torch.ones(2, 3)), torch.ones(4, 3), torch.ones(4))
    assert names == ["addmm.default"]


def test_a_table_of_decompositions():
    from pellucid._decomp import get_decompositions, register_decomposition

    aten = torch.ops.aten
    assert list(get_decompositions([aten.linear])) == [aten.linear.default]
    table = {}

    @register_decomposition(aten.silu.default, table)
    def silu(x):
        return x * x.sigmoid()

    assert table == {aten.silu.default: silu}
    with pytest.raises(RuntimeError, match="already"):
        register_decomposition([aten.silu.default], table)(silu)


FORWARD = [
    (lambda x: torch.where(x > 0, x, 0.0), "gt.Scalar scalar_tensor where.self"),
    (lambda x: x.narrow(1, 1, 2), "slice.Tensor"),
    (lambda x: x[:, 1:3], "slice.Tensor"),
    (lambda x: x[:], "slice.Tensor"),
    (lambda x: x[...], "alias"),
    (lambda x: x[:, torch.tensor([1])], "index.Tensor"),
    (F.celu, "celu"),
    (F.logsigmoid, "log_sigmoid_forward"),
]


@pytest.mark.parametrize(("function", "names"), FORWARD)
def test_calls_have_pytorch_s_names(function, names):
    x = leaf(3, 4)
    plain = function(x)
    with Seen() as seen:
        watched = function(x)
    actual = [n for n in seen.names if n not in ("tensor", "lift_fresh", "detach")]
    assert actual == names.split()
    torch.testing.assert_close(watched, plain)
    wanted, gradient = (torch.autograd.grad(y.sum(), x)[0] for y in (plain, watched))
    torch.testing.assert_close(gradient, wanted)


GRADIENTS = [
    (torch.relu, "threshold_backward"),
    (torch.sigmoid, "sigmoid_backward"),
    (torch.tanh, "tanh_backward"),
    (F.silu, "silu_backward"),
    (F.gelu, "gelu_backward"),
    (lambda x: F.gelu(x, approximate="tanh"), "gelu_backward"),
    (lambda x: x.softmax(1), "_softmax_backward_data"),
    (lambda x: F.log_softmax(x, 0), "_log_softmax_backward_data"),
    (torch.exp, "mul.Tensor"),
    (torch.neg, "neg"),
    (lambda x: 1.0 - x.abs(), "neg sgn mul.Tensor"),
    (
        lambda x: torch.ones(4, 1, 1, dtype=x.dtype).sub(x, alpha=2),
        "neg mul.Scalar sum.dim_IntList view",
    ),
    (lambda x: (x + 4).log(), "div.Tensor"),
    (torch.sin, "cos mul.Tensor"),
    (torch.cos, "sin neg mul.Tensor"),
    (lambda x: x.sum(1), "unsqueeze expand"),
    (lambda x: x.sum((0, -1), keepdim=True), "expand"),
    (lambda x: x.mean(), "div.Scalar expand"),
    (lambda x: x.mean(0), "div.Scalar unsqueeze expand"),
    (lambda x: x.mean((0, 1)), "div.Scalar unsqueeze unsqueeze expand"),
    (lambda x: x * 3, "mul.Tensor"),
    (lambda x: x**3, "pow.Tensor_Scalar mul.Scalar mul.Tensor"),
    (lambda x: (x + 4).sqrt(), "mul.Scalar div.Tensor"),
    (lambda x: (x + 4).rsqrt(), "mul.Scalar pow.Tensor_Scalar mul.Tensor"),
    (torch.erf, "pow.Tensor_Scalar neg exp mul.Scalar mul.Tensor"),
    (
        lambda x: x.clamp(-1, 1),
        "ge.Scalar le.Scalar logical_and_ scalar_tensor where.self",
    ),
    (lambda x: x.clamp_min(0.5), "ge.Scalar scalar_tensor where.self"),
    (
        lambda x: x.max(),
        "isnan isnan logical_and eq.Tensor logical_or_ sum div.Tensor mul.Tensor",
    ),
    (
        lambda x: x.amax(1),
        "view view eq.Tensor sum.dim_IntList div.Tensor mul.Tensor",
    ),
    (
        lambda x: torch.maximum(x, torch.zeros_like(x)),
        "eq.Tensor lt.Tensor div.Scalar where.self masked_fill_.Scalar",
    ),
    (F.celu, "elu_backward"),
    (F.logsigmoid, "log_sigmoid_backward"),
    (lambda x: torch.where(x > 0, x, 1.0), "scalar_tensor where.self"),
    (lambda x: x[:, 1:3], "slice_backward"),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("function", "names"), GRADIENTS)
def test_gradients_have_pytorch_s_names(function, names, dtype):
    x = torch.linspace(-3, 3, 12).reshape(3, 4).to(dtype).requires_grad_()
    plain = function(x)
    cotangent = torch.linspace(0, 1, plain.numel()).reshape(plain.shape).to(dtype)
    (wanted,) = torch.autograd.grad(plain, x, cotangent)
    with Seen() as seen:
        watched = function(x)
        seen.names.clear()
        (actual,) = torch.autograd.grad(watched, x, cotangent)
    # A derivative of more than one op computes with halves in float32.
    unnamed = ("detach", "_to_copy") if dtype == torch.bfloat16 else ("detach",)
    assert [n for n in seen.names if n not in unnamed] == names.split()
    assert actual.dtype == dtype
    torch.testing.assert_close(actual, wanted)


def test_second_derivatives_of_watched_gradients():
    x = torch.linspace(-2, 2, 5, dtype=torch.float64).requires_grad_()

    def second():
        (first,) = torch.autograd.grad(x.tanh().sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    with Seen():
        watched = second()
    torch.testing.assert_close(watched, second())


OVERLOADS_MADE_LATE = """
import pellucid as torch
from pellucid.utils._python_dispatch import BaseTorchDispatchMode
assert "Tensor" in list(torch.ops.aten.mul)  # asked for before anything is watched
x = torch.ones(2, requires_grad=True)
with BaseTorchDispatchMode():
    torch.rsub(x, 1, alpha=2).sum().backward()
assert x.grad.tolist() == [-2, -2]
assert torch.ops.aten.div.Scalar(x, 2).tolist() == [0.5, 0.5]
"""


def test_overloads_of_gradients_are_found_later():
    assert subprocess.run([sys.executable, "-c", OVERLOADS_MADE_LATE]).returncode == 0


def test_ops_of_gradients_are_there_without_a_mode():
    aten, grad = torch.ops.aten, torch.ones(3)
    x = torch.tensor([-1.0, 0.0, 2.0])
    assert aten.threshold_backward(grad, x, 0).tolist() == [0, 0, 1]
    assert aten.sigmoid_backward(grad, torch.tensor([0.5, 0.0, 1.0])).tolist() == [
        0.25,
        0,
        0,
    ]
