"""The ops that torchvision's Python calls, against loops over boxes and pixels."""

import math

import numpy as np
import pytest

import pellucid as torch
from pellucid.autograd import gradcheck

torch.ops.load_library("site-packages/torchvision/_C.so")
ops = torch.ops.torchvision

ROIS = [[0, 0, 0, 9, 9], [0, 0, 5, 4, 9], [0, 5, 5, 9, 9], [1, 1.3, 0.2, 7.7, 8.9]]


def images(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.rand(*shape, dtype=torch.float64)


def rois():
    return torch.tensor(ROIS, dtype=torch.float64)


def bilinear(image, y, x):
    """One sample of (C, height, width)."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = (min(max(v, 0), n - 1) for v, n in ((y, height), (x, width)))
    i, j = int(y), int(x)
    i_next, j_next = min(i + 1, height - 1), min(j + 1, width - 1)
    dy, dx = y - i, x - j
    upper = (1 - dx) * image[:, i, j] + dx * image[:, i, j_next]
    lower = (1 - dx) * image[:, i_next, j] + dx * image[:, i_next, j_next]
    return (1 - dy) * upper + dy * lower


def expected_align(x, bins, ratio, offset, least):
    """(regions, C, bins, bins) of bilinear means."""
    actual = np.zeros((len(ROIS), x.shape[1], bins, bins))
    for k, (image, x1, y1, x2, y2) in enumerate(ROIS):
        height, width = max(y2 - y1, least), max(x2 - x1, least)
        rows = ratio if ratio > 0 else math.ceil(height / bins)
        columns = ratio if ratio > 0 else math.ceil(width / bins)
        for i in range(bins):
            for j in range(bins):
                samples = [
                    bilinear(
                        x[int(image)],
                        y1 - offset + (i + (s + 0.5) / rows) * height / bins,
                        x1 - offset + (j + (t + 0.5) / columns) * width / bins,
                    )
                    for s in range(rows)
                    for t in range(columns)
                ]
                actual[k, :, i, j] = np.mean(samples, 0)
    return actual


def own_channels(actual, bins):
    """Of results for all channels those that position-sensitive pooling takes."""
    groups = actual.reshape(len(actual), -1, bins, bins, bins, bins)
    return np.einsum("kcijij->kcij", groups)


@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align_is_the_mean_of_samples(ratio, aligned):
    x = images(2, 3, 10, 11)
    actual = ops.roi_align(x, rois(), 1.0, 4, 4, ratio, aligned)
    offset, least = (0.5, -math.inf) if aligned else (0, 1)
    expected = expected_align(x.numpy(), 4, ratio, offset, least)
    torch.testing.assert_close(actual, torch.from_numpy(expected))


def test_ps_roi_align_takes_each_bin_from_its_own_channel():
    x = images(2, 8, 10, 11)
    actual, channels = ops.ps_roi_align(x, rois(), 1.0, 2, 2, 2)
    expected = expected_align(x.numpy(), 2, 2, 0.5, -math.inf)
    torch.testing.assert_close(actual, torch.from_numpy(own_channels(expected, 2)))
    assert channels[0].flatten().tolist() == list(range(8))


def bins_of(low, high, size, bins, inclusive):
    """The (first, end) of every bin between two borders of a region."""
    first = math.floor(low + 0.5)
    extent = max(math.floor(high + 0.5) - first + inclusive, 1) / bins
    last = size if inclusive else size - 1
    return [
        (
            min(max(first + math.floor(i * extent), 0), last),
            min(max(first + math.ceil((i + 1) * extent), 0), last),
        )
        for i in range(bins)
    ]


def expected_pool(x, bins, inclusive, combine):
    actual = np.zeros((len(ROIS), x.shape[1], bins, bins))
    for k, (image, x1, y1, x2, y2) in enumerate(ROIS):
        rows = bins_of(y1, y2, x.shape[2], bins, inclusive)
        columns = bins_of(x1, x2, x.shape[3], bins, inclusive)
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                part = x[int(image), :, top:bottom, left:right]
                if part.size:
                    actual[k, :, i, j] = combine(part.reshape(len(part), -1), 1)
    return actual


def test_roi_pool_gives_the_greatest_elements_and_their_places():
    x = images(2, 3, 10, 11)
    actual, places = ops.roi_pool(x, rois(), 1.0, 5, 5)
    expected = expected_pool(x.numpy(), 5, 1, np.max)
    torch.testing.assert_close(actual, torch.from_numpy(expected))
    own = x[rois()[:, 0].long()].flatten(2)
    picked = own.gather(2, places.long().flatten(2))
    torch.testing.assert_close(picked, actual.flatten(2))


def test_ps_roi_pool_gives_means_in_channels_of_their_own():
    x = images(2, 8, 10, 11)
    actual, _ = ops.ps_roi_pool(x, rois(), 1.0, 2, 2)
    expected = own_channels(expected_pool(x.numpy(), 2, 0, np.mean), 2)
    torch.testing.assert_close(actual, torch.from_numpy(expected))


BOXED = {
    "roi_align": (2, 2, 1, True),
    "ps_roi_align": (2, 2, 2),
    "roi_pool": (2, 2),
    "ps_roi_pool": (2, 2),
}


@pytest.mark.parametrize("name", BOXED)
def test_gradients_of_images_and_those_that_torchvision_requests(name):
    x, boxes, args = images(2, 4, 5, 6), rois() * 0.5, BOXED[name]
    boxes[:, 0] = rois()[:, 0]
    op = getattr(ops, name)

    def values(x):
        actual = op(x, boxes, 1.0, *args)
        return actual[0] if isinstance(actual, tuple) else actual

    x.requires_grad_()
    assert gradcheck(values, x)
    grad = torch.randn_like(values(x))
    (expected,) = torch.autograd.grad(values(x), x, grad)
    sizes, backward = x.shape, getattr(ops, f"_{name}_backward")
    if name == "roi_align":
        actual = backward(grad, boxes, 1.0, 2, 2, *sizes, *args[2:])
    else:
        other = op(x, boxes, 1.0, *args)[1]
        actual = backward(grad, boxes, other, 1.0, *args, *sizes)
    torch.testing.assert_close(actual, expected)


def test_regions_without_boxes_and_of_other_dtypes():
    x = images(1, 4, 5, 5).requires_grad_()
    none = torch.zeros(0, 5, dtype=torch.float64)
    actual = ops.roi_align(x, none, 1.0, 2, 2, -1, True)
    assert actual.shape == (0, 4, 2, 2)
    actual.sum().backward()
    assert not x.grad.any()
    with pytest.raises(RuntimeError, match="convert one"):
        ops.roi_align(x, torch.zeros(1, 5), 1.0, 2, 2, 2, True)
    with pytest.raises(RuntimeError, match="columns"):
        ops.roi_pool(x, torch.zeros(1, 4, dtype=torch.float64), 1.0, 2, 2)


# ---------------------------------------------------------------- boxes


def overlap(a, b):
    width = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return width * height / (sum(areas) - width * height)


def expected_kept(boxes, scores, threshold):
    left, kept = sorted(range(len(boxes)), key=lambda k: -scores[k]), []
    while left:
        best, *rest = left
        kept.append(best)
        left = [k for k in rest if overlap(boxes[best], boxes[k]) <= threshold]
    return kept


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms_keeps_the_best_of_boxes_that_overlap(threshold):
    boxes = images(60, 4)
    boxes[:, 2:] += boxes[:, :2]
    scores = images(60, seed=1)
    actual = ops.nms(boxes, scores, threshold)
    assert actual.tolist() == expected_kept(boxes.tolist(), scores.tolist(), threshold)


def test_nms_of_equal_scores_of_no_boxes_and_of_wrong_shapes():
    equal = torch.tensor([[0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, 1.0]])
    assert ops.nms(equal, torch.ones(3), 0.5).tolist() == [0, 1]
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).shape == (0,)
    with pytest.raises(RuntimeError, match="boxes are"):
        ops.nms(torch.zeros(3, 5), torch.zeros(3), 0.5)
    with pytest.raises(RuntimeError, match="scores"):
        ops.nms(torch.zeros(3, 4), torch.zeros(2), 0.5)


# ---------------------------------------------------------------- deformed convolution


def deformed(x, weight, offset, mask, bias, padding=0, groups=1):
    use_mask = mask is not None
    mask = x.new_zeros(x.shape[0], 1) if mask is None else mask
    numbers = (1, 1, padding, padding, 1, 1, groups, 1, use_mask)
    return ops.deform_conv2d(x, weight, offset, mask, bias, *numbers)


def test_without_offsets_it_is_a_convolution():
    x, weight, bias = images(2, 4, 6, 7), images(6, 2, 3, 3, seed=1), images(6, seed=2)
    offset = torch.zeros(2, 18, 6, 7, dtype=torch.float64)
    actual = deformed(x, weight, offset, None, bias, padding=1, groups=2)
    expected = torch.nn.functional.conv2d(x, weight, bias, padding=1, groups=2)
    torch.testing.assert_close(actual, expected)


def test_whole_offsets_read_moved_elements_and_masks_scale_them():
    x, weight = images(1, 2, 5, 5), torch.ones(1, 2, 1, 1, dtype=torch.float64)
    offset = torch.zeros(1, 2, 5, 5, dtype=torch.float64)
    offset[0, 0], offset[0, 1] = 1, -1
    mask = images(1, 1, 5, 5, seed=1)
    actual = deformed(x, weight, offset, mask, torch.zeros(1, dtype=torch.float64))
    moved = torch.nn.functional.pad(x, (1, -1, -1, 1)).sum(1, keepdim=True)
    torch.testing.assert_close(actual, moved * mask)


def test_all_gradients_and_those_that_torchvision_requests():
    arguments = [
        images(1, 4, 4, 5),
        images(4, 2, 2, 2, seed=1),
        images(1, 16, 3, 4, seed=2) * 3 - 1.5,
        images(1, 8, 3, 4, seed=3),
        images(4, seed=4),
    ]
    numbers = (1, 1, 0, 0, 1, 1, 2, 2, True)
    tensors = [tensor.requires_grad_() for tensor in arguments]
    assert gradcheck(lambda *t: ops.deform_conv2d(*t, *numbers), tensors)
    result = ops.deform_conv2d(*tensors, *numbers)
    grad = torch.randn_like(result)
    expected = torch.autograd.grad(result, tensors, grad)
    actual = ops._deform_conv2d_backward(grad, *arguments, *numbers)
    torch.testing.assert_close(actual, expected)


def test_what_does_not_fit_is_refused():
    x, weight = images(1, 4, 5, 5), images(2, 4, 3, 3)
    bias = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="elements in dim 2"):
        deformed(x, weight, images(1, 18, 4, 3), None, bias)
    with pytest.raises(RuntimeError, match="channels"):
        deformed(x, weight[:, :3], images(1, 18, 3, 3), None, bias)
    with pytest.raises(RuntimeError, match="pair per group"):
        deformed(x, weight, images(1, 16, 3, 3), None, bias)


def test_a_library_that_is_not_there_is_named():
    with pytest.raises(OSError, match=r"Could not load this library: .*other/_C\.so"):
        torch.ops.load_library("site-packages/other/_C.so")
