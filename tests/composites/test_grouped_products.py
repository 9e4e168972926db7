"""Products of groups, and assertions as ops."""

import pytest

import pellucid as torch
from pellucid.autograd import gradcheck

F = torch.nn.functional
ENDS = torch.tensor([3, 3, 8], dtype=torch.int32)


def waves(*shape):
    return torch.arange(float(torch.Size(shape).numel())).sin().reshape(shape)


def test_rows_are_multiplied_by_the_matrix_of_their_group():
    x, weights = waves(9, 4), waves(3, 4, 5)
    actual = F.grouped_mm(x, weights, offs=ENDS)
    want = [x[:3] @ weights[0], x[3:8] @ weights[2], torch.zeros(1, 5)]
    assert actual.equal(torch.cat(want))


def test_columns_and_depths_are_grouped():
    a, b = waves(3, 4, 5), waves(5, 8)
    by_columns = F.grouped_mm(a, b, offs=ENDS)
    assert by_columns.equal(torch.cat([a[0] @ b[:, :3], a[2] @ b[:, 3:]], 1))
    x, y = waves(4, 8), waves(8, 5)
    by_depth = F.grouped_mm(x, y, offs=ENDS)
    assert by_depth.equal(
        torch.stack([x[:, :3] @ y[:3], torch.zeros(4, 5), x[:, 3:] @ y[3:]])
    )
    assert F.grouped_mm(a, waves(3, 5, 2)).equal(torch.bmm(a, waves(3, 5, 2)))


def test_gradients_and_shapes_without_values():
    def summed(a, b):
        return F.grouped_mm(a, b, offs=ENDS)

    operands = (waves(9, 4).double(), waves(3, 4, 5).double())
    operands = tuple(x.requires_grad_() for x in operands)
    assert gradcheck(summed, operands)
    shape = F.grouped_mm(
        waves(9, 4).to("meta"), waves(3, 4, 5).to("meta"), offs=ENDS.to("meta")
    ).shape
    assert shape == (9, 5)


@pytest.mark.parametrize(
    ("operands", "options"),
    [
        ((waves(9, 4), waves(3, 4, 5)), {}),
        ((waves(9, 4), waves(3, 6, 5)), {"offs": ENDS}),
        ((waves(9, 4), waves(2, 4, 5)), {"offs": ENDS}),
        ((waves(9, 4), waves(3, 4, 5)), {"offs": ENDS.long()}),
        ((waves(9, 4).long(), waves(3, 4, 5).long()), {"offs": ENDS}),
        ((waves(9, 4), waves(3, 4, 5)), {"offs": ENDS, "bias": waves(5)}),
    ],
)
def test_operands_that_do_not_fit(operands, options):
    with pytest.raises(RuntimeError):
        F.grouped_mm(*operands, **options)


def test_assertions_hold_or_raise():
    aten = torch.ops.aten
    x = torch.ones(2, 3)
    aten._assert_async(torch.tensor(1))
    aten._assert_scalar(1, "no")
    aten._assert_tensor_metadata(x, [2, 3], [3, 1], torch.float32, device="cpu")
    with pytest.raises(RuntimeError, match="hey"):
        aten._assert_async.msg(torch.tensor(False), "hey")
    with pytest.raises(RuntimeError, match="no"):
        aten._assert_scalar(0, "no")
    for wrong in (([3],), (None, [1, 2]), (None, None, torch.int64)):
        with pytest.raises(RuntimeError, match="mismatch"):
            aten._assert_tensor_metadata(x, *wrong)
    assert torch._is_all_true(x > 0)
    assert not torch._is_any_true(x > 1)
    with pytest.raises(RuntimeError):
        torch._is_all_true(x)
