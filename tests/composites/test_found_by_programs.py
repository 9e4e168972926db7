"""What random programs beside PyTorch revealed: writes to expanded tensors, calls that
are refused, and what results share.
"""

import math

import pytest

import pellucid as torch
from pellucid._subclasses.fake_tensor import FakeTensorMode

F = torch.nn.functional
HALF = torch.ones(2, dtype=torch.float16)
ROW = torch.tensor([2.0, 1.0])
MATRIX = torch.tensor([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("where", [..., (), slice(None), slice(0, 2)])
def test_a_number_is_not_assigned_to_elements_that_share_memory(where):
    expanded = torch.zeros(2).expand(3, 2)
    with pytest.raises(RuntimeError, match="single memory location"):
        expanded[where] = -1


def test_a_number_is_assigned_to_a_row_of_an_expanded_tensor():
    expanded = torch.zeros(2).expand(3, 2)
    expanded[0] = -1
    assert expanded.tolist() == [[-1.0, -1.0]] * 3


def test_fill_writes_expanded_tensors():
    assert torch.zeros(2).expand(3, 2).fill_(4).tolist() == [[4.0, 4.0]] * 3


def test_real_numbers_that_share_memory_are_their_own_conjugates():
    expanded = torch.ones(2).expand(3, 2)
    assert torch.conj_physical_(expanded) is expanded


def test_complex_numbers_that_share_memory_are_not_conjugated_in_place():
    expanded = torch.ones(2, dtype=torch.complex64).expand(3, 2)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.conj_physical_(expanded)


@pytest.mark.parametrize(("number", "expected"), [(1j, True), (0j, False), (2.0, True)])
def test_bools_take_the_truth_of_complex_numbers(number, expected):
    mask = torch.tensor([not expected, not expected])
    mask[0] = number
    assert mask.tolist() == [expected, not expected]
    assert mask.fill_(number).tolist() == [expected, expected]


@pytest.mark.parametrize(
    "filled",
    [
        lambda x, number: torch.full((2,), number, dtype=x.dtype),
        torch.full_like,
        lambda x, number: x.new_full((2,), number),
        lambda x, number: x.scatter(0, torch.tensor([0, 1]), number),
        lambda x, number: torch.constant_pad_nd(x[:0], [1, 1], number),
    ],
)
def test_complex_numbers_are_converted_where_they_are_given(filled):
    mask, real = torch.zeros(2, dtype=torch.bool), torch.zeros(2)
    assert filled(mask, 1j).tolist() == [True, True]
    assert filled(mask, 0j).tolist() == [False, False]
    with pytest.raises(RuntimeError, match="complex"):
        filled(real, 1j)


def test_real_tensors_take_no_complex_number():
    with pytest.raises(RuntimeError, match="the value is complex"):
        torch.zeros(2, dtype=torch.bool).index_fill(0, torch.tensor([0]), 1j)
    with pytest.raises(RuntimeError, match="real number"):
        torch.zeros(2).fill_(1j)


@pytest.mark.parametrize(
    ("shape", "index", "values"),
    [
        ((0,), [0, 0], torch.ones(2)),
        ((0, 2), [0, 0], torch.ones(2)),
        ((2, 0), (slice(0, 0), [0, 0]), 1),
    ],
)
def test_a_place_in_an_empty_dim_is_out_of_bounds(shape, index, values):
    tensor = torch.ones(shape)
    with pytest.raises(IndexError, match="no elements"):
        tensor[index] = values


def test_more_indices_than_dims_are_found_before_dtypes_that_differ():
    with pytest.raises(IndexError):
        torch.ones(2).index_put_([torch.tensor(0)] * 2, torch.tensor(1))


def test_no_place_in_an_empty_dim_is_in_bounds():
    empty = torch.ones(0, 2)
    nowhere = torch.tensor([], dtype=torch.int64)
    empty[nowhere] = torch.ones(2)
    assert empty[nowhere].shape == (0, 2)


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_have_no_gradient(training):
    x, mean, variance = torch.ones(2, 3), torch.zeros(3), torch.ones(3)
    mean.requires_grad_()
    with pytest.raises(RuntimeError, match="running statistics"):
        F.batch_norm(x, mean, variance, training=training)
    with torch.no_grad():
        assert F.batch_norm(x, mean, variance, training=training).shape == (2, 3)


@pytest.mark.parametrize("norm", [F.batch_norm, F.instance_norm])
def test_norms_by_the_input_check_the_running_statistics(norm):
    x, mean, variance = torch.ones(2, 3, 4), torch.zeros(3), torch.ones(3)
    by_input = "training" if norm is F.batch_norm else "use_input_stats"
    for given in [(mean, None), (None, variance)]:
        with pytest.raises(ValueError, match="both"):
            norm(x, *given, **{by_input: True})
    with pytest.raises(RuntimeError, match="no gradient"):
        norm(x, mean.requires_grad_(), variance, **{by_input: True})


def test_hardswish_multiplies_infinity_by_zero():
    x = torch.tensor([-math.inf, -4.0, math.inf])
    assert [str(y) for y in F.hardswish(x).tolist()] == ["nan", "-0.0", "inf"]


@pytest.mark.parametrize("cell", [torch.nn.LSTMCell, torch.nn.GRUCell])
def test_the_state_of_a_cell_can_be_detached_in_place(cell):
    state = cell(3, 4)(torch.ones(2, 3))
    for part in state if isinstance(state, tuple) else (state,):
        assert part.requires_grad
        assert not part.detach_().requires_grad


def test_view_copy_takes_all_strides():
    assert torch.view_copy(MATRIX.t(), [6]).tolist() == [1, 4, 2, 5, 3, 6]
    assert torch.view_copy(MATRIX, [3, -1]).tolist() == [[1, 2], [3, 4], [5, 6]]
    copied = torch.view_copy(MATRIX, [6])
    assert copied.data_ptr() != MATRIX.data_ptr()
    assert not copied._is_view()


def test_ldexp_in_place_differentiates_by_both_operands():
    x, exponent = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * 1).ldexp_(exponent).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    torch.testing.assert_close(exponent.grad, torch.full((2,), 1.3862944))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.linalg.vander(HALF), "takes float32"),
        (
            lambda: torch.linalg.matrix_norm(torch.eye(2), 2, dtype=torch.complex64),
            "give a real dtype",
        ),
        (
            lambda: torch.linalg.norm(torch.eye(2), "nuc", dtype=torch.complex64),
            "give a real dtype",
        ),
        (
            lambda: torch.binary_cross_entropy_with_logits(
                torch.ones(2, 3), torch.ones(3), None, None, 1
            ),
            "expand it",
        ),
        (
            lambda: torch.diff(torch.ones(2, 0), dim=0, append=torch.ones(0)),
            "which are 2",
        ),
        (lambda: torch.diff(torch.ones(0), prepend=torch.ones(0, 2)), "which are 1"),
    ],
)
def test_the_call_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def outs(*dtypes):
    return tuple(torch.empty(0, dtype=dtype) for dtype in dtypes)


FLOAT, DOUBLE, LONG = torch.float32, torch.float64, torch.int64
SQUARE = torch.eye(2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.sort(ROW, out=outs(DOUBLE, LONG)),
        lambda: torch.sort(ROW, out=outs(FLOAT, FLOAT)),
        lambda: torch.max(ROW, 0, out=outs(DOUBLE, LONG)),
        lambda: torch.max(ROW, 0, out=outs(FLOAT, torch.int32)),
        lambda: torch.mode(ROW, out=outs(DOUBLE, LONG)),
        lambda: torch.cummax(ROW, 0, out=outs(DOUBLE, LONG)),
        lambda: torch.frexp(ROW, out=outs(FLOAT, LONG)),
        lambda: torch.frexp(ROW, out=outs(DOUBLE, torch.int32)),
        lambda: torch.linalg.slogdet(SQUARE, out=outs(DOUBLE, FLOAT)),
        lambda: torch.linalg.qr(SQUARE, out=outs(FLOAT, DOUBLE)),
        lambda: torch.histogram(ROW, 2, out=outs(DOUBLE, DOUBLE)),
        lambda: torch.argmax(ROW, out=torch.empty((), dtype=FLOAT)),
        lambda: torch.gather(ROW, 0, torch.tensor([0]), out=torch.empty(1).double()),
        lambda: torch.abs(ROW, out=torch.empty(2, dtype=DOUBLE)),
        lambda: torch.mm(SQUARE, SQUARE, out=torch.empty(2, 2, dtype=DOUBLE)),
        lambda: torch.view_copy(MATRIX, [6], out=torch.empty(6)),
        lambda: torch.linalg.inv(SQUARE, out=torch.empty(2, 2, dtype=DOUBLE)),
    ],
)
def test_out_has_the_dtype_of_the_result(call):
    with pytest.raises(RuntimeError, match=r"is not converted.*\n.*convert the result"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.exp(ROW, out=torch.empty(2, dtype=DOUBLE)),
        lambda: torch.outer(ROW, ROW, out=torch.empty(2, 2, dtype=DOUBLE)),
        lambda: torch.geqrf(SQUARE, out=outs(DOUBLE, DOUBLE))[0],
        lambda: torch.cat([ROW, ROW], out=torch.empty(4, dtype=DOUBLE)),
    ],
)
def test_some_ops_convert_to_the_dtype_of_out(call):
    assert call().dtype is DOUBLE


def test_indices_without_elements_are_not_checked():
    index = torch.zeros(1, dtype=torch.int64, device="meta")
    empty = torch.ones(0, 2, device="meta")
    assert empty[index].shape == (1, 2)
    with FakeTensorMode():
        assert torch.ones(0, 2)[torch.zeros(1, dtype=torch.int64)].shape == (1, 2)
    with pytest.raises(IndexError):
        torch.ones(0, 0)[torch.tensor([0])]


def test_positions_are_written_to_int64():
    values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.sort(torch.tensor([2.0, 1.0]), out=(values, places))
    assert (values.tolist(), places.tolist()) == ([1.0, 2.0], [1, 0])


def test_stft_without_padding_says_whether_it_returns_complex_numbers():
    with pytest.raises((RuntimeError, TypeError)):
        torch.ones(20).stft(8, None, None, None, False, None, True, None)
    window = torch.ones(8)
    found = torch.ones(20).stft(8, window=window, center=False, return_complex=True)
    assert found.shape == (5, 7)


@pytest.mark.parametrize("op", [torch.any, torch.all])
@pytest.mark.parametrize("given", [(), (0,), ((0, 1),)])
def test_truth_is_written_to_bools_and_bytes_alone(op, given):
    for dtype in torch.uint8, torch.bool, FLOAT:
        x = torch.tensor([[1, 0], [1, 1]]).to(dtype)
        expected = op(x, *given).bool().tolist()
        for out in torch.empty(0, dtype=torch.bool), torch.empty(0, dtype=torch.uint8):
            assert op(x, *given, out=out).bool().tolist() == expected
        with pytest.raises(RuntimeError, match="is not converted"):
            op(x, *given, out=torch.empty(0, dtype=FLOAT))


MASK = torch.tensor([[True, False], [False, False], [False, False]])


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (lambda x: x.masked_fill_(MASK, 5), [5.0, 2.0]),
        (lambda x: x.masked_fill_(MASK, torch.tensor(5.0)), [5.0, 2.0]),
        (lambda x: x.index_fill_(1, torch.tensor([1]), 5), [1.0, 5.0]),
        (lambda x: x.index_fill_(0, torch.tensor([0]), torch.tensor(5.0)), [5.0, 5.0]),
        (lambda x: F.threshold_(x, 1.5, 0), [0.0, 2.0]),
    ],
)
def test_elements_that_share_memory_are_filled_where_one_of_them_is(fill, expected):
    row = torch.tensor([1.0, 2.0])
    assert fill(row.expand(3, 2)).tolist() == [expected] * 3
    assert row.tolist() == expected
    assert row._version == 1


def test_the_last_dim_may_share_memory_where_it_is_filled():
    number = torch.zeros(1)
    number.expand(40).masked_fill_(torch.arange(40) == 3, 7)
    assert number.tolist() == [7.0]
    windows = torch.arange(6.0).unfold(0, 3, 1)
    assert windows.index_fill_(1, torch.tensor([0]), 9)[:, 0].tolist() == [9.0] * 4


@pytest.mark.parametrize("name", ["abs_", "absolute_"])
def test_complex_numbers_have_no_absolute_value_in_place(name):
    with pytest.raises(RuntimeError, match="not converted to complex64"):
        getattr(torch.tensor([3 + 4j]), name)()
    assert getattr(torch.tensor([-3]), name)().tolist() == [3]


def test_slopes_of_digamma_at_its_poles_are_infinite():
    x = torch.tensor([-1.0, -3.0], dtype=DOUBLE, requires_grad=True)
    (first,) = torch.autograd.grad(x.digamma().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [math.inf] * 2
    assert second.tolist() == [-math.inf] * 2


@pytest.mark.parametrize("transform", [torch.func.jacrev, torch.func.vjp])
def test_reverse_mode_refuses_functions_with_integer_results(transform):
    with pytest.raises(RuntimeError, match=r"torch\.int64: convert it.*has_aux=True"):
        found = transform(torch.argmax, *([ROW] if transform is torch.func.vjp else []))
        found(ROW)


def test_histograms_count_half_precision_numbers():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16)
    hist, edges = torch.histogram(x, torch.tensor([0.0, 1.0, 4.0]).bfloat16())
    assert (hist.tolist(), hist.dtype, edges.dtype) == ([0.0, 3.0], *[x.dtype] * 2)


@pytest.mark.parametrize("given", [(-0.5,), (5.5, 5.2), (0.2, 0.9, -1)])
def test_ranges_of_integers_compare_their_bounds_before_truncation(given):
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        torch.arange(*given, dtype=LONG)


def test_gradient_ops_convert_to_the_dtype_of_out_if_they_are_elementwise():
    aten, grad = torch.ops.aten, torch.ones(2)
    out = torch.empty(2, dtype=DOUBLE)
    assert aten.sigmoid_backward.grad_input(grad, ROW, grad_input=out) is out
    assert aten.mse_loss_backward.grad_input(grad, ROW, ROW, 0, grad_input=out) is out
    with pytest.raises(RuntimeError, match="is not converted"):
        aten.select_backward.out(grad, [2, 2], 0, 0, out=out)


def test_out_may_be_given_where_no_result_has_a_gradient():
    x = torch.tensor([-math.inf, 1.0], requires_grad=True)
    assert torch.isneginf(x, out=torch.empty(2, dtype=torch.bool)).tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="with out="):
        torch.linalg.inv(x.diag(), out=torch.empty(2, 2))


def test_out_is_refused_as_it_was_given_if_its_elements_share_memory():
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.acos(torch.ones(3, 2), out=torch.zeros(1).expand(2))


def test_bilinear_takes_inputs_of_one_shape_up_to_the_last_dim():
    with pytest.raises(RuntimeError, match="up to the last dim"):
        torch.bilinear(torch.ones(3), torch.ones(2, 3), torch.ones(4, 3, 3), None)


def test_special_zeta_promotes_before_it_refuses():
    half = torch.tensor(2.0, dtype=torch.float16)
    assert torch.special.zeta(half, torch.ones(2)).dtype is FLOAT
    with pytest.raises(NotImplementedError):
        torch.special.zeta(half, HALF)


@pytest.mark.parametrize("op", [torch.add, torch.maximum, torch.bitwise_or])
def test_an_operand_is_not_resized_to_receive_the_result(op):
    x = torch.ones(1, 2, dtype=LONG)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        op(x, torch.ones(3, 2, dtype=LONG), out=x)
    assert x.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [(torch.Tensor.tril_, [[1, 0], [1, 1]]), (torch.Tensor.triu_, [[1, 1], [0, 1]])],
)
def test_triangles_are_cut_in_matrices_that_share_memory(cut, expected):
    matrix = torch.ones(2, 2)
    assert cut(matrix.expand(3, 2, 2)).tolist() == [expected] * 3
    assert matrix.tolist() == expected


def test_one_step_of_integers_is_the_power_of_the_given_start():
    assert torch.logspace(2.5, 4, 1, dtype=torch.int16).tolist() == [316]
    assert torch.logspace(2.5, 4, 2, dtype=torch.int16).tolist() == [100, 10000]


def test_put_takes_as_many_elements_as_indices():
    with pytest.raises(IndexError, match="2 indices for 3 elements"):
        torch.zeros(4).put_(torch.tensor([0, 1]), torch.ones(3))


def test_classes_are_those_of_the_input_if_the_target_has_further_dims():
    target = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    loss = F.multilabel_soft_margin_loss(torch.zeros(2), target, reduction="none")
    torch.testing.assert_close(loss, torch.full((2,), 1.5 * math.log(2)))
