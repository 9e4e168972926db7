"""Dual tensors: levels, views, in-place ops, modules, gradients of tangents."""

import pytest

import pellucid as torch
from pellucid.autograd import forward_ad


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(3, 4, dtype=torch.float64)


@pytest.fixture
def tangent():
    torch.manual_seed(1)
    return torch.randn(3, 4, dtype=torch.float64)


def same(result, expected):
    return result.shape == expected.shape and torch.allclose(result, expected)


def test_the_tangent_of_an_op(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        primal, moved = forward_ad.unpack_dual(torch.sin(dual))
        assert forward_ad.unpack_dual(x).tangent is None
    assert same(primal, x.sin()) and same(moved, x.cos() * tangent)


def test_dual_tensors_end_with_their_level(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
    assert forward_ad.unpack_dual(dual).tangent is None
    assert same(dual + 1, x + 1)


def test_values_of_dual_tensors_can_be_read(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        assert dual.sum().item() == x.sum().item()
        assert dual.tolist() == x.tolist()


def test_views_share_the_tangent(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), tangent.clone())
        dual[0].mul_(3)
        dual.t()[1].zero_()
        moved = forward_ad.unpack_dual(dual).tangent
    expected = tangent.clone()
    expected[0] *= 3
    expected[:, 1] = 0
    assert same(moved, expected)


def test_in_place_ops_give_tensors_tangents(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        result = torch.zeros(3, 4, dtype=torch.float64)
        result += dual
        part = torch.zeros(3, 4, dtype=torch.float64)
        part[1] = dual[0]
        whole = forward_ad.unpack_dual(part)
        assert same(forward_ad.unpack_dual(result).tangent, tangent)
    assert same(whole.primal[1], x[0]) and same(whole.tangent[1], tangent[0])
    assert same(whole.tangent[0], torch.zeros(4, dtype=torch.float64))


def test_detach_drops_the_tangent(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        assert forward_ad.unpack_dual(dual.detach()).tangent is None


def test_a_module_with_dual_parameters(x, tangent):
    layer = torch.nn.Linear(4, 2).double()
    moves = {name: torch.ones_like(p) for name, p in layer.named_parameters()}
    with forward_ad.dual_level():
        for name, p in list(layer.named_parameters()):
            delattr(layer, name)
            setattr(layer, name, forward_ad.make_dual(p, moves[name]))
        moved = forward_ad.unpack_dual(layer(x)).tangent
    assert same(moved, x.sum(1, keepdim=True).expand(3, 2) + 1)


def test_tangents_are_differentiable(x, tangent):
    x.requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        output = forward_ad.unpack_dual((dual**3).sum())
    (second,) = torch.autograd.grad(output.tangent, x, retain_graph=True)
    assert same(second, 6 * x.detach() * tangent)
    output.primal.backward()
    assert same(x.grad, 3 * x.detach() ** 2)


def test_misuse(x, tangent):
    with pytest.raises(RuntimeError, match="inside"):
        forward_ad.make_dual(x, tangent)
    with pytest.raises(RuntimeError, match="level"):
        forward_ad.exit_dual_level()
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="nested"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="shape"):
            forward_ad.make_dual(x, tangent[0])
        with pytest.raises(ValueError, match="floating-point"):
            forward_ad.make_dual(torch.arange(3), torch.arange(3))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * tangent  # distinguishes the rule from the ops' own rules

    generate_vmap_rule = True


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == 3 and in_dims == (0,)
        return Cube.apply(x), 0


def test_custom_functions_have_rules_of_their_own(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        assert same(forward_ad.unpack_dual(Square.apply(dual)).tangent, 3 * x * tangent)
    for function, slope in ((Square, 2 * x), (Cube, 3 * x * x)):
        assert same(torch.vmap(function.apply)(x), function.apply(x))
        actual = torch.vmap(torch.func.grad(lambda a, f=function: f.apply(a).sum()))(x)
        assert same(actual, slope)


def test_custom_functions_without_rules_are_refused(x):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

    with pytest.raises(RuntimeError, match="vmap"):
        torch.vmap(Plain.apply)(x)


def test_gradients_of_dual_tensors_are_dual(x, tangent):
    x.requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        (actual,) = torch.autograd.grad((dual**3).sum(), dual)
        gradient, moved = forward_ad.unpack_dual(actual)
    assert same(gradient, 3 * x.detach() ** 2)
    assert same(moved, 6 * x.detach() * tangent)


def test_numbers_do_not_lose_their_tangents(x, tangent):
    value = torch.tensor(2.0, dtype=torch.float64)
    mask = x > 0
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(value, torch.tensor(5.0, dtype=torch.float64))
        moved = forward_ad.unpack_dual(x.masked_fill(mask, dual)).tangent
    assert same(moved, 5.0 * mask.double())


def test_strided_views_have_tangents(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent.t().contiguous().t())
        moved = forward_ad.unpack_dual(dual.as_strided((2, 3), (4, 1), 1)).tangent
    assert same(moved, tangent[:2, 1:])


def test_custom_functions_may_take_their_context_in_forward(x, tangent):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

        @staticmethod
        def jvp(ctx, moving):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * moving

    for value in (x.detach(), x.detach().requires_grad_()):
        with forward_ad.dual_level():
            y = Cube.apply(forward_ad.make_dual(value, tangent))
            actual = forward_ad.unpack_dual(y).tangent
            assert torch.allclose(actual, 3 * x**2 * tangent)
            assert y.requires_grad == value.requires_grad


@pytest.mark.parametrize("given", [lambda t: (t, t), lambda t: 3, lambda t: t[:1]])
def test_tangents_of_custom_functions_are_checked(x, tangent, given):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, moving):
            return given(moving)

    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="jvp returned"):
        Double.apply(forward_ad.make_dual(x, tangent))
