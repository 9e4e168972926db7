"""Results are written to the given destination, even if other tensors share it."""

import pytest

import pellucid


def test_out_is_written_in_place_and_its_version_moves():
    x, weight = pellucid.randn(4, 5), pellucid.randn(5, 3)
    out = pellucid.full((4, 3), float("nan"))
    version, place = out._version, out.data_ptr()
    assert pellucid.mm(x, weight, out=out) is out
    assert (out._version, out.data_ptr()) == (version + 1, place)
    assert pellucid.equal(out, pellucid.mm(x, weight))


@pytest.mark.parametrize("shape", [(0,), (2, 2)])
@pytest.mark.filterwarnings("ignore")
def test_out_of_another_shape_is_resized(shape):
    x, weight = pellucid.randn(4, 5), pellucid.randn(5, 3)
    out = pellucid.empty(shape)
    pellucid.mm(x, weight, out=out)
    assert pellucid.equal(out, pellucid.mm(x, weight))


def test_out_that_is_strided_or_of_a_wider_dtype():
    x, weight = pellucid.randn(4, 5), pellucid.randn(5, 3)
    want = pellucid.mm(x, weight)
    strided = pellucid.empty(3, 4).t()
    pellucid.mm(x, weight, out=strided)
    assert pellucid.equal(strided, want)
    with pytest.raises(RuntimeError, match="cannot be cast"):
        pellucid.mm(x, weight, out=pellucid.empty(4, 3, dtype=pellucid.int64))


def test_operands_that_share_the_destinations_memory_are_read_before_it_changes():
    square = pellucid.randn(4, 4)
    want = pellucid.mm(square, square)
    pellucid.mm(square, square, out=square)
    assert pellucid.equal(square, want)
    square = pellucid.randn(4, 4)
    want = pellucid.mm(square, square.t())
    pellucid.mm(square, square.t(), out=square)
    assert pellucid.equal(square, want)
    columns = pellucid.arange(9.0).reshape(3, 3)
    want = columns[:, :2].clone()
    columns[:, 1:].copy_(columns[:, :2])
    assert pellucid.equal(columns[:, 1:], want)
    columns[:] = columns[:, :1]
    assert pellucid.equal(columns, pellucid.tensor([[0.0] * 3, [3.0] * 3, [6.0] * 3]))


X = pellucid.arange(12.0)
ROWS = X.reshape(4, 3)
FIRST = pellucid.tensor([0])
PARTIAL = {
    "elementwise": lambda: X[1:].add_(X[:-1]),
    "elementwise out": lambda: pellucid.exp(X[1:], out=X[:-1]),
    "a copy of the transpose": lambda: ROWS[:3].copy_(ROWS[:3].t()),
    "join": lambda: pellucid.cat([ROWS[2:], ROWS[:2]], out=ROWS),
    "running sum": lambda: pellucid.cumsum(X[1:], 0, out=X[:-1]),
    "update at places": lambda: ROWS.index_add_(0, FIRST, ROWS[:1]),
    "write at places": lambda: ROWS.index_copy_(0, FIRST, ROWS[1:2]),
    "choice": lambda: pellucid.where(X[1:] > 2, X[1:], X[1:], out=X[:-1]),
    "order": lambda: pellucid.sort(X[1:], out=(X[:-1], FIRST.new_empty(0))),
    "of a list": lambda: pellucid._foreach_add_([X[1:]], [X[:-1]]),
    "a repeated element": lambda: X[:1].expand(4).mul_(2),
    "a repeated element, out": lambda: pellucid.add(X[:4], 1, out=X[:1].expand(4)),
    "a repeated row": lambda: ROWS[:1].expand(4, 3).cumsum_(0),
}


@pytest.mark.parametrize("case", PARTIAL)
def test_a_destination_that_overlaps_an_operand_in_part_is_refused(case):
    before = X.clone()
    with pytest.raises(RuntimeError, match="unsupported operation"):
        PARTIAL[case]()
    assert pellucid.equal(X, before)


def test_a_constant_may_be_written_to_repeated_elements():
    assert pellucid.ones(1).expand(4).fill_(2).tolist() == [2.0] * 4
    assert pellucid.ones(2, 1).expand(2, 3).zero_().sum().item() == 0


def test_a_tensor_that_a_list_names_twice_is_updated_twice():
    x = pellucid.zeros(100_000)
    pellucid._foreach_add_([x, x, x], 1)
    assert x.unique().tolist() == [3.0]


def test_several_results_each_go_to_their_own_destination():
    x = pellucid.randn(4, 5)
    values, indices = pellucid.empty(4), pellucid.empty(4, dtype=pellucid.int64)
    pellucid.max(x, 1, out=(values, indices))
    assert pellucid.equal(values, x.gather(1, indices[:, None])[:, 0])


def test_an_update_of_itself_at_an_index_by_itself_is_refused():
    x = pellucid.arange(9.0).reshape(3, 3)
    with pytest.raises(RuntimeError, match="at an index"):
        x.index_add_(0, pellucid.tensor([0, 2, 0]), x)
    assert pellucid.equal(x, pellucid.arange(9.0).reshape(3, 3))


@pytest.fixture
def double_by_default():
    pellucid.set_default_dtype(pellucid.float64)
    yield
    pellucid.set_default_dtype(pellucid.float32)


def test_the_default_dtype_reaches_every_factory(double_by_default):
    result = [
        pellucid.zeros(3),
        pellucid.ones(2, 2),
        pellucid.full((2,), 1.5),
        pellucid.eye(3),
        pellucid.linspace(0, 1, 5),
        pellucid.arange(0.0, 1.0, 0.25),
        pellucid.rand(2),
        pellucid.tensor([1.5]),
    ]
    assert {t.dtype for t in result} == {pellucid.float64}
    assert pellucid.sqrt(pellucid.tensor([4])).dtype == pellucid.float64
    assert (pellucid.tensor([4]) / 3).dtype == pellucid.float64


def test_a_call_is_traced_for_each_default_dtype():
    try:
        dtypes = []
        for dtype in (pellucid.float32, pellucid.float64, pellucid.float32):
            pellucid.set_default_dtype(dtype)
            dtypes.append(pellucid.zeros(3).dtype)
    finally:
        pellucid.set_default_dtype(pellucid.float32)
    assert dtypes == [pellucid.float32, pellucid.float64, pellucid.float32]


def test_a_write_that_fails_half_way_counts_as_a_write():
    x = pellucid.zeros(3, 2, requires_grad=True)
    y = x.exp()
    with pytest.raises((IndexError, RuntimeError)):
        y.index_add_(0, pellucid.tensor([0, 9]), pellucid.full((2, 2), 5.0))
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: pellucid.pixel_shuffle(x, 2),
        lambda x: pellucid.pixel_unshuffle(x, 1),
        lambda x: pellucid.channel_shuffle(x, 2),
        lambda x: pellucid.channel_shuffle(x, 4),
        lambda x: x.repeat(1, 1, 1, 1),
        lambda x: x.roll(0),
    ],
)
@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (2, 4, 1, 1)])
def test_results_of_ops_other_than_views_have_memory_of_their_own(function, shape):
    x = pellucid.randn(shape)
    kept = x.clone()
    result = function(x)
    assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    result.zero_()
    assert pellucid.equal(x, kept)


@pytest.mark.parametrize("absent", ["self", "grads", "state_sums", "state_steps"])
def test_a_list_that_an_update_needs_is_not_empty(absent):
    names = ("self", "grads", "state_sums", "state_steps")
    lists = {name: [pellucid.ones(3, 2)[:1].expand(3, 2).clone()] for name in names}
    lists["state_steps"] = [pellucid.ones(())]
    lists[absent] = []
    with pytest.raises(RuntimeError, match="lists must have one length"):
        pellucid.ops.aten._fused_adagrad_(
            *lists.values(), lr=1, lr_decay=0, weight_decay=0, eps=1, maximize=False
        )


@pytest.mark.parametrize("amsgrad", [False, True])
def test_optional_lists_of_adam_may_be_empty(amsgrad):
    def lists(greatest):
        ones = [[pellucid.ones(3)] for _ in range(4)]
        return (*ones, greatest, [pellucid.ones(())])

    options = dict(lr=1, beta1=0.5, beta2=0.5, weight_decay=0, eps=1, maximize=False)
    adam = pellucid.ops.aten._fused_adam_
    whole = lists([pellucid.ones(3)])
    adam(*whole, **options, amsgrad=amsgrad)
    if amsgrad:
        with pytest.raises(RuntimeError, match="amsgrad needs max_exp_avg_sqs"):
            adam(*lists([]), **options, amsgrad=True)
        return
    without = lists([])
    adam(*without, **options, amsgrad=False)
    assert without[0][0].equal(whole[0][0]) and whole[4][0].tolist() == [1, 1, 1]
