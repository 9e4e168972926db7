"""Masked tensors: ops on data and masks, gradients, refusals."""

import numpy as np
import pytest

import pellucid as torch
from pellucid import masked

DATA = torch.arange(12.0).reshape(3, 4) / 4 - 1
MASK = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]).bool()
NAN = float("nan")


def masked_tensor(requires_grad=False):
    return masked.masked_tensor(DATA, MASK, requires_grad)


def whole(tensor):
    """As NumPy's masked arrays are."""
    mask = ~tensor.get_mask().numpy()
    return np.ma.masked_array(tensor.get_data().detach().numpy(), mask)


REFERENCE = np.ma.masked_array(DATA.numpy(), ~MASK.numpy())
OPS = {
    "exp": (lambda x: x.exp(), np.ma.exp),
    "function": (lambda x: torch.sin(x), np.ma.sin),
    "layer": (lambda x: torch.nn.functional.relu(x), lambda x: np.ma.maximum(x, 0)),
    "neg": (lambda x: -x, lambda x: -x),
    "reflected": (lambda x: 2 - x, lambda x: 2 - x),
    "both": (lambda x: x * x + x, lambda x: x * x + x),
    "compare": (lambda x: x > 0, lambda x: x > 0),
    "transpose": (lambda x: x.t(), lambda x: x.T),
    "view": (lambda x: x.view(2, 6), lambda x: x.reshape(2, 6)),
    "select": (lambda x: x[2], lambda x: x[2]),
    "columns": (lambda x: x[:, 1:3], lambda x: x[:, 1:3]),
    "rows": (lambda x: x[torch.tensor([2, 0])], lambda x: x[[2, 0]]),
    "split": (lambda x: x.split(2)[1], lambda x: x[2:]),
    "cat": (lambda x: torch.cat([x, x]), lambda x: np.ma.concatenate([x, x])),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0)),
    "all": (lambda x: x.sum(), lambda x: np.ma.masked_array(x.sum())),
    "amax": (lambda x: x.amax(1, keepdim=True), lambda x: x.max(1, keepdims=True)),
    "prod": (lambda x: x.prod(1), lambda x: x.prod(1)),
    "var": (lambda x: x.var(1), lambda x: x.var(1, ddof=1)),
    "holds": (lambda x: (x > -2).all(1), lambda x: (x > -2).all(1)),
    "double": (lambda x: x.double(), lambda x: x.astype("float64")),
}


@pytest.mark.parametrize("name", OPS)
def test_an_op_agrees_with_numpys_on_masked_arrays(name):
    ours, theirs = OPS[name]
    actual, wanted = whole(ours(masked_tensor())), theirs(REFERENCE)
    assert actual.shape == wanted.shape
    assert np.array_equal(np.ma.getmaskarray(actual), np.ma.getmaskarray(wanted))
    np.testing.assert_allclose(actual.filled(0), wanted.filled(0), rtol=1e-6)


def test_softmax_is_over_what_is_there():
    actual = masked_tensor().softmax(1).to_tensor(0)
    for row in (0, 2):
        there = MASK[row]
        assert torch.allclose(actual[row][there], DATA[row][there].softmax(0))
        assert not actual[row][~there].any()


def test_a_gradient_has_the_mask_of_its_tensor():
    x = masked_tensor(True)
    (x * x).sum().backward()
    assert masked.is_masked_tensor(x.grad)
    assert torch.equal(x.grad.get_mask(), MASK)
    assert torch.equal(x.grad.to_tensor(NAN)[MASK], 2 * DATA[MASK])


def test_gradients_accumulate_and_pass_views():
    x = masked_tensor(True)
    for _ in range(2):
        x.t()[0].sum().backward()
    wanted = torch.zeros(3, 4)
    wanted[:, 0] = 2
    assert torch.equal(x.grad.to_tensor(0), wanted.where(MASK, torch.tensor(0.0)))


def test_gradients_pass_to_the_data_that_a_masked_tensor_is_made_of():
    data = DATA.clone().requires_grad_()
    masked.as_masked_tensor(data, MASK).square().mean().backward()
    wanted = 2 * DATA / MASK.sum() * MASK
    assert torch.allclose(data.grad, wanted)


def test_where_takes_data_and_mask_of_either_side():
    actual = torch.where(DATA > 0, masked_tensor(), torch.zeros(3, 4))
    assert torch.equal(actual.get_mask(), MASK | (DATA <= 0))
    assert torch.equal(actual.get_data(), DATA.clamp(min=0))


def test_writes_in_place_keep_the_mask():
    x = masked_tensor()
    assert x.add_(1).exp_() is x
    assert torch.equal(x.get_data(), (DATA + 1).exp())
    with pytest.raises(RuntimeError, match="not changed in place"):
        masked_tensor(True).add_(1)
    with torch.no_grad():
        assert masked_tensor(True).add_(1).get_data()[0, 0] == 0


def test_operands_of_writes_may_be_named():
    x = masked_tensor()
    assert x.mul_(other=masked_tensor()) is x
    assert torch.equal(x.get_data(), DATA * DATA)
    with pytest.raises(ValueError, match="masks must match"):
        x.mul_(other=masked.masked_tensor(DATA, ~MASK))


def test_what_is_absent_is_not_shown():
    assert (
        repr(masked_tensor()[0])
        == "MaskedTensor(\n  [ -1.0000,       --,  -0.5000,  -0.2500]\n)"
    )
    assert repr(masked_tensor()[0, 1]) == "MaskedTensor(--, False)"
    assert masked_tensor()[0, 0].item() == -1
    with pytest.raises(ValueError, match="absent"):
        masked_tensor()[0, 1].item()


def test_what_does_not_fit_is_refused():
    other = masked.masked_tensor(DATA, ~MASK)
    refused = [
        (ValueError, "masks must match", lambda: masked_tensor() + other),
        (TypeError, "dtype bool", lambda: masked.masked_tensor(DATA, DATA)),
        (ValueError, "dim", lambda: masked.masked_tensor(DATA, MASK[0])),
        (ValueError, "size", lambda: masked.masked_tensor(DATA, MASK[:2])),
        (TypeError, "must be a Tensor", lambda: masked.masked_tensor([1.0], MASK)),
        (
            TypeError,
            "not defined for masked",
            lambda: masked_tensor() @ masked_tensor().t(),
        ),
        (TypeError, "not defined for masked", lambda: masked_tensor().max()),
        (TypeError, "layout", lambda: masked.masked_tensor(DATA.to_sparse(), MASK)),
    ]
    for error, message, call in refused:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
def test_logsumexp_of_what_a_mask_names(dtype):
    x = torch.tensor([1, 2, 3]).to(dtype)
    mask = torch.tensor([True, False, True])
    actual = masked.logsumexp(x, 0, mask=mask)
    want = torch.tensor(np.log(np.exp(1) + np.exp(3))).to(dtype)
    assert actual.dtype is dtype
    torch.testing.assert_close(actual, want)


def test_logsumexp_of_masked_bools_is_refused():
    mask = torch.tensor([True, False])
    with pytest.raises(NotImplementedError, match="bools have no least number"):
        masked.logsumexp(mask, 0, mask=mask)


def test_an_op_that_only_moves_elements_moves_the_mask():
    places = torch.tensor([[3, 2, 1, 0]] * 3)
    found = torch.take_along_dim(masked_tensor(), places, 1)
    assert torch.equal(found.get_mask(), MASK.flip(1))
    assert torch.equal(found.get_data(), DATA.flip(1))
    assert torch.equal(torch.empty_like(masked_tensor()).get_mask(), MASK)
    x = masked_tensor(True)
    x.diag().sum().backward()
    assert torch.equal(x.grad.to_tensor(0), torch.eye(3, 4) * MASK)
