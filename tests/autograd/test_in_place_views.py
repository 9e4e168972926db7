"""In-place views and storage methods: geometry, history, versions, errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pellucid as torch

Change = Callable[[torch.Tensor], torch.Tensor]

VIEWS: dict[str, tuple[Change, Change]] = {
    "squeeze_": (lambda x: x.squeeze_(), lambda x: x.squeeze()),
    "squeeze_ of a dim": (lambda x: x.squeeze_(0), lambda x: x.squeeze(0)),
    "squeeze_ of dims": (lambda x: x.squeeze_((0, 2)), lambda x: x.squeeze((0, 2))),
    "unsqueeze_": (lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze(1)),
    "transpose_": (lambda x: x.transpose_(1, 2), lambda x: x.transpose(1, 2)),
    "swapaxes_": (lambda x: x.swapaxes_(0, 1), lambda x: x.swapaxes(0, 1)),
    "swapdims_": (lambda x: x.swapdims_(0, 2), lambda x: x.swapdims(0, 2)),
    "as_strided_": (
        lambda x: x.as_strided_((2,), (1,), 1),
        lambda x: x.as_strided((2,), (1,), 1),
    ),
}


def values(*shape: int) -> torch.Tensor:
    count = torch.zeros(*shape).numel()
    return torch.arange(count, dtype=torch.float64).reshape(*shape) + 1


@pytest.mark.parametrize("name", VIEWS)
def test_the_tensor_becomes_the_view(name: str) -> None:
    change, view = VIEWS[name]
    x = values(1, 3, 1)
    expected = view(x.clone())
    assert change(x) is x
    assert x.shape == expected.shape and x.stride() == expected.stride()
    assert x.tolist() == expected.tolist() and x._version == 1


@pytest.mark.parametrize("name", VIEWS)
def test_gradients_pass_through(name: str) -> None:
    change, view = VIEWS[name]
    grads = []
    for function in (change, view):
        leaf = values(1, 3, 1).requires_grad_()
        y = function(leaf * 2)
        (y * values(*y.shape)).sum().backward()
        grads.append(leaf.grad.tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_changes_alone(name: str) -> None:
    change, view = VIEWS[name]
    leaf = values(2, 1, 3, 1).requires_grad_()
    base = leaf * 1
    part = change(base[0])
    assert part._base is base and base.shape == (2, 1, 3, 1) and base._version == 1
    (part * values(*part.shape)).sum().backward()
    expected = torch.zeros(2, 1, 3, 1, dtype=torch.float64)
    view(expected[0]).copy_(values(*part.shape))
    assert leaf.grad.tolist() == expected.tolist()


def test_the_view_is_written_afterwards() -> None:
    leaf = values(2, 3).requires_grad_()
    x = leaf * 1
    x.t_().mul_(values(3, 2))
    x.sum().backward()
    assert leaf.grad.tolist() == values(3, 2).t().tolist()


@pytest.mark.parametrize("name", [n for n in VIEWS if n != "as_strided_"])
def test_transforms_see_the_view(name: str) -> None:
    change, view = VIEWS[name]
    x = values(2, 1, 3, 1)
    batched = torch.func.vmap(lambda e: change(e.clone()))(x)
    assert batched.tolist() == torch.func.vmap(view)(x).tolist()
    primal, tangent = torch.func.jvp(lambda e: change(e * e), (x[0],), (x[1],))
    assert primal.tolist() == view(x[0] * x[0]).tolist()
    assert tangent.tolist() == view(2 * x[0] * x[1]).tolist()


def test_without_gradients_a_leaf_changes() -> None:
    leaf = values(2, 3).requires_grad_()
    with torch.no_grad():
        leaf.t_()
    (leaf * values(3, 2)).sum().backward()
    assert leaf.is_leaf and leaf.grad.tolist() == values(3, 2).tolist()


@pytest.mark.parametrize("name", VIEWS)
def test_what_was_saved_is_lost(name: str) -> None:
    x = values(1, 3, 1).requires_grad_() * 1
    y = x * x
    VIEWS[name][0](x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("name", [*VIEWS, "set_"])
def test_leaves_are_refused(name: str) -> None:
    change = VIEWS[name][0] if name in VIEWS else lambda x: x.set_(values(2))
    leaf = values(1, 3, 1).requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        change(leaf)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        change(leaf[:])
    with pytest.raises(RuntimeError, match="several views"):
        change((leaf.unsqueeze(0) * 1).unbind()[0])


@pytest.mark.parametrize("name", [*VIEWS, "set_", "resize_"])
def test_inference_tensors_are_refused(name: str) -> None:
    others: dict[str, Change] = {
        "set_": lambda x: x.set_(values(2)),
        "resize_": lambda x: x.resize_(2),
    }
    with torch.inference_mode():
        x = values(1, 3, 1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        (VIEWS[name][0] if name in VIEWS else others[name])(x)


def test_resize() -> None:
    x = values(2, 3)
    assert x.resize_(2, 2) is x and x.tolist() == [[1, 2], [3, 4]] and x._version == 1
    assert x.resize_(5, 2)[:3].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert values(6).resize_as_(values(2, 2)).tolist() == [[1, 2], [3, 4]]
    format = torch.channels_last
    assert values(2).resize_((1, 2, 3, 3), memory_format=format).stride()[1] == 1
    with pytest.raises(RuntimeError, match="cannot resize variables"):
        values(2).requires_grad_().resize_(3)
    with pytest.raises(RuntimeError, match="negative"):
        values(2).resize_(-1)
    with pytest.raises(TypeError, match="the_template"):
        values(2).resize_as_(3)


def test_set() -> None:
    source, x = values(2, 2), values(3)
    assert x.set_(source) is x and x.tolist() == source.tolist()
    assert x.data_ptr() == source.data_ptr() and x._version == 1
    x.set_(source.untyped_storage(), 1, (2,), (2,))
    assert x.tolist() == [2, 4]
    x.set_()
    assert x.shape == (0,)
    with pytest.raises(RuntimeError, match="dtype float64 cannot be set"):
        x.set_(torch.ones(2))
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        (values(2).requires_grad_() * 1).set_(values(2))


def test_elements_of_a_strided_view_may_share_places():
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    windows = x.as_strided((3, 2), (1, 1), 1)
    (grad,) = torch.autograd.grad(windows, x, torch.arange(6.0).reshape(3, 2))
    assert grad.tolist() == [[0, 0, 3], [7, 5, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "shared", [lambda x: x.expand(4, 5), lambda x: x[0].unfold(0, 3, 1)]
)
def test_a_strided_view_of_elements_that_share_places(shared):
    x = torch.randn(1, 5, dtype=torch.float64).requires_grad_()

    def windows(x):
        return shared(x).as_strided((3, 2), (1, 1), 0) * x.sum()

    assert torch.autograd.gradcheck(windows, x)
    assert torch.autograd.gradgradcheck(windows, x)


def test_copies_and_updates_by_strides_have_gradients():
    x = torch.randn(3, 3, dtype=torch.float64).requires_grad_()
    part = torch.randn(2, 2, dtype=torch.float64).requires_grad_()
    copied = lambda x: torch.as_strided_copy(x, (2, 2, 2), (1, 1, 3), 1)  # noqa: E731
    updated = lambda *arguments: torch.as_strided_scatter(*arguments, (2, 2), (1, 2), 2)  # noqa: E731
    assert torch.autograd.gradcheck(copied, x)
    assert torch.autograd.gradcheck(updated, (x, part))


def test_a_strided_view_without_elements_has_a_gradient_of_zeros():
    for base, offset in (((1, 0), 3), ((3,), 0)):
        x = torch.ones(base, requires_grad=True)
        x.as_strided([0], [0], offset).sum().backward()
        assert torch.equal(x.grad, torch.zeros(base))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_reshaped_copy_is_no_view(requires_grad):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_(requires_grad)
    for copy in (x.t().reshape(-1), x.t().flatten(), x.expand(2, 2, 3).reshape(4, 3)):
        assert not copy._is_view() and copy._base is None
    assert x.reshape(-1)._is_view() and x.flatten()._is_view()
    copy = x.t().reshape(-1)
    copy.mul_(2)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    if requires_grad:
        (grad,) = torch.autograd.grad((copy * torch.arange(6.0)).sum(), x)
        assert grad.tolist() == [[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]


@pytest.mark.parametrize(
    "split",
    [
        lambda x: x.tensor_split(2),
        lambda x: x.tensor_split([1]),
        lambda x: x.hsplit(2),
        lambda x: x.vsplit([1]),
    ],
)
def test_parts_of_tensor_split_may_be_written(split):
    """They are slices, while those of ``split`` come from one op, which forbids it."""
    leaf = values(4, 4).requires_grad_()
    part, *_ = split(leaf * 1)
    (part.mul_(3) + 0).sum().backward()
    assert leaf.grad.unique().tolist() == [0.0, 3.0]
    with pytest.raises(RuntimeError, match="several views"):
        (leaf * 1).split(2)[0].mul_(3)
