"""Strides of views that programs read, as PyTorch's."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda x: x.unsqueeze(0), (6, 3, 1)),
        (lambda x: x.unsqueeze(1), (3, 3, 1)),
        (lambda x: x.unsqueeze(2), (3, 1, 1)),
        (lambda x: x.t().unsqueeze(0), (3, 1, 3)),
        (lambda x: x.t().unsqueeze(1), (1, 6, 3)),
        (lambda x: x[:, None], (3, 3, 1)),
        (lambda x: x.expand(4, 2, 3), (0, 3, 1)),
        (lambda x: x.expand(1, 2, 3), (6, 3, 1)),
    ],
)
def test_strides_of_new_dims(view, strides):
    assert view(torch.zeros(2, 3)).stride() == strides


def test_a_view_of_more_elements_than_can_be_counted_is_refused():
    with pytest.raises(RuntimeError, match="elements"):
        torch.ones(1).expand(2**62, 4)
    assert torch.ones(0, 1).expand(0, 2**62).numel() == 0


def test_no_view_has_a_negative_size():
    for sizes in ((-1,), (5, -1), (-1, 0)):
        with pytest.raises(RuntimeError, match="negative"):
            torch.ones(4).as_strided(sizes, (1,) * len(sizes))


LIKE = [torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like]


@pytest.mark.parametrize("make", LIKE, ids=lambda make: make.__name__)
def test_tensors_like_another_have_its_order(make):
    image = torch.zeros(2, 3, 4, 5)
    last = (60, 1, 15, 3)
    permuted = torch.zeros(4, 3, 2, 5).permute(2, 0, 3, 1)
    for _ in range(3):  # also in a repeated call
        assert make(permuted).stride() == permuted.stride()
        assert make(image[..., ::2]).stride() == (36, 12, 3, 1)
        assert make(image.to(memory_format=torch.channels_last)).stride() == last
        assert make(image, memory_format=torch.channels_last).stride() == last
        row_major = make(permuted, memory_format=torch.contiguous_format)
        assert row_major.is_contiguous()
        assert make(permuted, device="meta").stride() == permuted.stride()


def test_filled_tensors_like_another_have_its_order():
    x = torch.full_like(torch.zeros(3, 4).t(), 2.5)
    assert x.stride() == (1, 4)
    assert x.tolist() == [[2.5] * 3] * 4


def test_a_copy_has_the_requested_strides():
    x = torch.arange(12.0).reshape(3, 4)
    for _ in range(3):
        assert x.t().clone().stride() == (1, 4)
        copy = x.t().clone(memory_format=torch.contiguous_format)
        assert copy.stride() == (3, 1)
        assert copy.tolist() == x.t().tolist()
        assert x.t().clone(memory_format=torch.preserve_format).stride() == (1, 4)
    image = torch.arange(120.0).reshape(2, 3, 4, 5)
    copy = image.clone(memory_format=torch.channels_last)
    assert copy.stride() == (60, 1, 15, 3)
    assert copy.tolist() == image.tolist()


LIKE_THE_OPERAND = {
    "flip": lambda x: (x.flip(0, 2),),
    "sort": lambda x: x.sort(0),
    "argsort": lambda x: (x.argsort(1),),
    "isclose": lambda x: (torch.isclose(x, x),),
    "prelu": lambda x: (torch.prelu(x, torch.ones(1)),),
    "index_put": lambda x: (x.index_put((torch.tensor([1]),), torch.zeros(1)),),
    "select_scatter": lambda x: (x.select_scatter(x[0], 0, 1),),
    "huber_loss": lambda x: (
        torch.nn.functional.huber_loss(x, x + 1, reduction="none"),
    ),
}


@pytest.mark.parametrize("name", LIKE_THE_OPERAND)
def test_results_are_dense_as_their_operand_is(name):
    x = torch.arange(24.0).reshape(4, 2, 3).permute(1, 2, 0)
    for _ in range(3):  # also in a repeated call
        results = LIKE_THE_OPERAND[name](x)
        expected = LIKE_THE_OPERAND[name](x.contiguous())
        for result, row_major in zip(results, expected, strict=True):
            assert result.stride() == x.stride() == (3, 1, 6)
            assert row_major.is_contiguous()
            assert torch.equal(result, row_major)


OF_IMAGES = {
    "conv2d": lambda x: torch.nn.functional.conv2d(x, torch.ones(4, 3, 2, 2)),
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda x: torch.nn.functional.avg_pool2d(x, 2),
    "adaptive": lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 2),
    "interpolate": lambda x: torch.nn.functional.interpolate(x, scale_factor=2),
    "batch_norm": lambda x: torch.nn.BatchNorm2d(3)(x),
    "transposed": lambda x: torch.nn.functional.conv_transpose2d(
        x, torch.ones(3, 2, 2, 2), stride=2
    ),
}


@pytest.mark.parametrize("name", OF_IMAGES)
def test_images_with_the_channels_last_stay_so(name):
    image = torch.arange(96.0).reshape(2, 3, 4, 4).sin()
    last = image.to(memory_format=torch.channels_last).requires_grad_()
    actual, expected = OF_IMAGES[name](last), OF_IMAGES[name](image)
    assert actual.is_contiguous(memory_format=torch.channels_last)
    assert expected.is_contiguous()
    torch.testing.assert_close(actual.contiguous(), expected)
    actual.sum().backward()
    assert last.grad.stride() == last.stride()


def test_a_weight_with_the_channels_last_asks_for_them():
    weight = torch.ones(4, 3, 2, 2).to(memory_format=torch.channels_last)
    actual = torch.nn.functional.conv2d(torch.ones(1, 3, 4, 4), weight)
    assert actual.is_contiguous(memory_format=torch.channels_last)


def test_to_a_format_reads_the_strides_of_single_elements():
    last = torch.channels_last
    single = torch.ones(1, 1, 2, 2)
    assert single.is_contiguous(memory_format=last)
    assert single.contiguous(memory_format=last).stride() == (4, 4, 2, 1)
    moved = single.to(memory_format=last)
    assert moved.stride() == (4, 1, 2, 1)
    assert moved.to(memory_format=last) is moved
    assert torch.ones(2, 3, 1, 1).to(memory_format=last).stride() == (3, 1, 3, 3)
    turned = torch.ones(2, 3).t()
    assert turned.to(memory_format=torch.contiguous_format) is turned


FORMATS = [torch.contiguous_format, torch.channels_last]


@pytest.mark.parametrize(
    ("x", "order"),
    [
        (torch.empty(2, 3).t(), (1, 0)),
        (torch.empty(3).expand(2, 3), (0, 1)),
        (torch.empty(2, 3, 4, 5).permute(0, 3, 1, 2), (0, 2, 3, 1)),
        (torch.empty(2, 1, 4, 5).to(memory_format=torch.channels_last), (0, 2, 3, 1)),
        (torch.empty(1, 1, 1, 1), (0, 1, 2, 3)),
        (torch.empty(()), ()),
    ],
)
def test_order_of_dims(x, order):
    assert x.dim_order() == order


def test_order_of_dims_that_strides_leave_open():
    assert torch.empty(0, 2).dim_order(ambiguity_check=True) == (0, 1)
    single = torch.empty(1, 2, 3, 4)
    for inputs in (True, [], [torch.channels_last]):
        with pytest.raises(RuntimeError, match="exact one of the given"):
            single.dim_order(ambiguity_check=inputs)
    assert single.dim_order(ambiguity_check=FORMATS) == (0, 1, 2, 3)
    for x in (torch.empty(3).expand(2, 3), torch.empty(1, 1, 1, 1)):
        with pytest.raises(RuntimeError, match="unique dim order"):
            x.dim_order(ambiguity_check=[torch.contiguous_format])
    for inputs in ("yes", 1, [1], (torch.channels_last,)):
        with pytest.raises(TypeError, match="bool or a list"):
            single.dim_order(ambiguity_check=inputs)


def test_old_constructors_make_tensors_of_the_cpu():
    with torch.device("meta"):
        result = [torch.FloatTensor([1.0]), torch.LongTensor(2), torch.Tensor([2.0])]
        assert {x.device.type for x in result} == {"cpu"}


def test_asarray_keeps_the_history_of_its_argument():
    x = torch.ones(2, requires_grad=True) * 2
    assert torch.asarray(x).grad_fn is not None
    assert not torch.asarray(x, requires_grad=False).requires_grad
    assert torch.asarray([1.0], requires_grad=True).is_leaf
