"""Convolutions on the emulated GPU: borders without a copy of the image, gradients of
strided ones, and no step on the CPU. ``test_convolutions.py`` runs these tests in a
process of their own, whose accelerator the device is."""

import pytest

import pellucid as torch
from pellucid.devices.emulated import Emulated

F = torch.nn.functional
torch.devices.register(Emulated(order=5))


def whole(*sizes):
    """Small whole numbers, whose sums are exact in any order."""
    return torch.randint(-3, 4, sizes).float()


def compare(call, *given):
    """Raises where the bits of a call or of its gradients differ from the CPU's, or a
    step runs there."""
    torch.manual_seed(0)
    found = []
    for device in ("cpu", "emu"):
        with torch.devices.trace() as log:
            moved = [t.to(device).requires_grad_() for t in given]
            y = call(*moved)
            g = torch.arange(y.numel()).view(y.shape).remainder(5).float().to(device)
            gradients = torch.autograd.grad(y, moved, g)
        found.append([t.cpu() for t in (y, *gradients)])
    for actual, expected in zip(*found, strict=True):
        assert torch.equal(actual, expected)
    assert not [event for event in log if event.outcome.startswith("host")]


@pytest.mark.parametrize(
    "windows",
    [
        {"padding": 1},
        {"padding": (2, 0), "dilation": 2},
        {"padding": 1, "groups": 2},
        {"padding": 1, "stride": 2},
        {"padding": (1, 2), "stride": (3, 2), "dilation": (1, 2)},
        {"padding": 2, "stride": 3, "groups": 2},
    ],
    ids=str,
)
def test_gradients_of_windows_have_the_bits_of_the_cpu(windows):
    groups = windows.get("groups", 1)
    x, w = whole(2, 4, 7, 8), whole(6, 4 // groups, 3, 3)
    compare(lambda x, w: F.conv2d(x, w, **windows), x, w)


def test_a_border_needs_no_copy_of_the_image():
    x, w = whole(2, 3, 9, 8).to("emu"), whole(5, 3, 3, 3).to("emu")
    with torch.devices.trace() as log:
        y = F.conv2d(x, w, padding=2)
    assert [(event.form, event.outcome) for event in log] == [("gemm", "launched")]
    assert torch.equal(y.cpu(), F.conv2d(x.cpu(), w.cpu(), padding=2))


def test_other_layouts_and_dims_have_borders_too():
    last = whole(2, 4, 6, 5).contiguous(memory_format=torch.channels_last)
    compare(lambda x, w: F.conv2d(x, w, padding=1), last, whole(3, 4, 3, 2))
    compare(lambda x, w: F.conv1d(x, w, None, 2, 3), whole(2, 3, 11), whole(4, 3, 4))
    compare(
        lambda x, w: F.conv3d(x, w, None, 1, 1),
        whole(1, 2, 3, 4, 5),
        whole(3, 2, 2, 3, 3),
    )
    compare(
        lambda x, w: F.conv_transpose2d(x, w, None, 3, 1),
        whole(1, 3, 4, 5),
        whole(3, 2, 4, 2),
    )


def test_a_training_step_of_strided_convolutions_has_no_step_on_the_cpu():
    torch.manual_seed(0)
    layers = [
        torch.nn.Conv2d(2, 8, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 9, 1, stride=2),
        torch.nn.Conv2d(9, 4, 3, stride=3, padding=2),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 3),
    ]
    model = torch.nn.Sequential(*layers).to("emu")
    x = torch.randn(2, 2, 13, 13).to("emu").requires_grad_()
    before = torch.devices.counts("emu")["fallbacks"]
    loss = F.cross_entropy(model(x), torch.tensor([0, 2]).to("emu"))
    loss.backward()
    assert torch.devices.counts("emu")["fallbacks"] == before
    assert torch.isfinite(x.grad.cpu()).all() and x.grad.cpu().abs().max() > 0


def test_a_device_takes_all_launches_of_a_sum_or_none(monkeypatch):
    """Else what it added would be added again on the CPU."""
    x, w = whole(1, 2, 7, 7).to("emu").requires_grad_(), whole(3, 2, 3, 3).to("emu")
    y = F.conv2d(x, w, stride=3, padding=1)
    taken, launch = [], Emulated.launch

    def once(device, given):
        is_known = given.form == "map" and given.kernel in taken
        taken.append(given.kernel)
        return NotImplemented if is_known else launch(device, given)

    monkeypatch.setattr(Emulated, "launch", once)
    with pytest.raises(RuntimeError, match="declined a launch of a kernel of which"):
        y.sum().backward()
