"""Ops over lists of tensors: what each gives is what the op gives for every element."""

import pytest

import pellucid
from pellucid import tensor

XS = (tensor([0.5]), tensor([0.25, 0.75]))
YS = [tensor([2.0]), tensor([4.0, 8.0])]


def numbers(tensors):
    return [t.tolist() for t in tensors]


@pytest.mark.parametrize("name", ["neg", "sqrt", "sigmoid", "log1p", "erf", "trunc"])
def test_an_op_of_one_argument_applies_to_each(name):
    single = getattr(pellucid, name)
    results = getattr(pellucid, f"_foreach_{name}")(XS)
    assert type(results) is tuple
    assert numbers(results) == numbers(single(x) for x in XS)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum"])
@pytest.mark.parametrize("other", [2.0, YS, [1.0, 3.0]], ids=["one", "list", "numbers"])
def test_the_second_argument_may_be_one_or_a_list(name, other):
    single = getattr(pellucid, name)
    others = other if isinstance(other, list) else [other, other]
    expected = numbers(single(x, y) for x, y in zip(XS, others, strict=True))
    assert numbers(getattr(pellucid, f"_foreach_{name}")(XS, other)) == expected
    xs = [x.clone() for x in XS]
    assert getattr(pellucid, f"_foreach_{name}_")(xs, other) is xs
    assert numbers(xs) == expected


def test_factors_have_a_place_in_products_of_lists():
    expected = [[0.5 + 0.5 * 2.0], [0.25 + 2 * 0.25 * 4.0, 0.75 + 2 * 0.75 * 8.0]]
    for factors in ([1.0, 2.0], tensor([1.0, 2.0])):
        assert numbers(pellucid._foreach_addcmul(XS, XS, YS, factors)) == expected
    assert (
        numbers(pellucid._foreach_addcmul(XS, XS, YS, scalars=[1.0, 2.0])) == expected
    )
    xs = [x.clone() for x in XS]
    pellucid._foreach_addcdiv_(xs, YS, YS, value=-1.0)
    assert numbers(xs) == [[-0.5], [-0.75, -0.25]]


def test_names_of_lists_and_options_of_the_op():
    results = pellucid._foreach_add(XS, other=YS, alpha=2)
    assert numbers(results) == [[4.5], [8.25, 16.75]]
    results = pellucid._foreach_lerp(XS, YS, weight=1.0)
    assert numbers(results) == numbers(YS)


def test_norms_copies_and_zeros():
    assert numbers(pellucid._foreach_norm(YS, 1)) == [2.0, 12.0]
    assert (
        pellucid._foreach_norm(YS, dtype=pellucid.float64)[0].dtype is pellucid.float64
    )
    assert numbers(pellucid._foreach_powsum(YS, 2)) == [4.0, 80.0]
    assert numbers(pellucid._foreach_max(YS)) == [2.0, 8.0]
    xs = [x.clone() for x in XS]
    assert numbers(pellucid._foreach_copy_(xs, YS)) == numbers(YS)
    assert numbers(pellucid._foreach_zero_(xs)) == [[0.0], [0.0, 0.0]]


def test_gradients_flow_through_lists():
    x = tensor([1.0, 2.0], requires_grad=True)
    (y,) = pellucid._foreach_mul([x], 3.0)
    pellucid._foreach_exp_([y])
    y.sum().backward()
    assert pellucid.allclose(x.grad, 3 * (3 * x.detach()).exp())


def test_lists_that_do_not_fit_are_refused():
    for lists in (([], 1), (XS, [1.0]), (XS, YS[:1])):
        with pytest.raises(RuntimeError, match="_foreach_add"):
            pellucid._foreach_add(*lists)
    with pytest.raises(TypeError, match="takes lists of tensors"):
        pellucid._foreach_add(3, 3)
