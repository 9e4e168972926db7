"""Numbers before the tensors: an order that PyTorch keeps for old programs."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    ("older", "now"),
    [
        ("x.add(2, y)", "x.add(y, alpha=2)"),
        ("x.clone().add_(-0.5, y)", "x.add(y, alpha=-0.5)"),
        ("torch.sub(x, 3, y)", "x.sub(y, alpha=3)"),
        ("x.clone().addcmul_(2, y, y)", "x.addcmul(y, y, value=2)"),
        ("torch.addcdiv(x, 0.5, x, y)", "x.addcdiv(x, y, value=0.5)"),
        ("torch.addmm(2, x, 3, x, y)", "x.addmm(x, y, beta=2, alpha=3)"),
        ("x.addmm(2, x, y)", "x.addmm(x, y, beta=2)"),
    ],
)
def test_numbers_may_come_first(older, now):
    names = {"torch": torch, "x": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
    names["y"] = names["x"] + 1
    with pytest.warns(UserWarning, match="by name"):
        result = eval(older, names)
    assert torch.equal(result, eval(now, names))


@pytest.mark.parametrize(
    "call", ["x.mul(2, x)", "x.addcmul(1, 2, x, x)", "x.add(x, 2)"]
)
def test_other_orders_are_refused(call):
    with pytest.raises(TypeError):
        eval(call, {"x": torch.ones(2)})
