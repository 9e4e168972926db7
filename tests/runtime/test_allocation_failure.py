"""Every block of memory that an action asks for is refused once.

Each time the action must raise PyTorch's type of error, leak nothing, leave its tensors
as they were and the process usable. The walk ends where the action asks for no more.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

import pellucid as torch
from pellucid import _C, nn

LAYER = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
IMAGE = torch.arange(2.0 * 3 * 6 * 6).reshape(2, 3, 6, 6) / 100
WEIGHT = torch.ones(4, 3, 3, 3)
X = torch.arange(24.0).reshape(2, 3, 4)
LARGE = torch.ones(300, 300)
LABELS = torch.tensor([0, 2])
RECURRENCE = nn.GRU(4, 32)
SEQUENCES = torch.ones(8, 128, 4)  # so many that blocks of examples are shared


def training_step() -> None:
    optimizer = torch.optim.Adam(LAYER.parameters(), lr=0.0)
    loss = nn.functional.cross_entropy(LAYER(torch.ones(2, 4)), LABELS)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def sgd_step() -> None:
    optimizer = torch.optim.SGD(LAYER.parameters(), lr=0.0, momentum=0.9)
    LAYER(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def convolution() -> None:
    image = IMAGE.clone().requires_grad_()
    weight = WEIGHT.clone().requires_grad_()
    nn.functional.conv2d(image, weight, padding=1).sum().backward()


def recurrence() -> None:
    RECURRENCE(SEQUENCES)[0].sum().backward()


def channels_last() -> None:
    image = IMAGE.to(memory_format=torch.channels_last).requires_grad_()
    y = nn.functional.conv2d(image, WEIGHT, padding=1)
    y = nn.functional.batch_norm(y, None, None, training=True)
    nn.functional.max_pool2d(y, 2).sum().backward()


def views() -> None:
    y = X.transpose(0, 1)[1:, :, None].expand(2, 2, 5, 4).reshape(-1, 4)
    torch.cat([y, y.flip(0)]).split(3)[1].unbind()


def indexing() -> None:
    x = X.clone()
    x[torch.tensor([0, 1]), 1:, None]
    x[x > 3] = 0.0
    x[:, [0, 2]] += 1
    x[1] = torch.ones(3, 4)


def in_place_autograd() -> None:
    x = X.clone().requires_grad_()
    y = x * 2
    y[0].mul_(3)
    y.relu_().sum().backward()


def second_derivatives() -> None:
    x = X.clone().requires_grad_()
    (first,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    first.sum().backward()


def large_operands() -> None:
    x = LARGE.clone().requires_grad_()
    ((x @ x).softmax(1) + x.sum(0)).mean().backward()


def transforms() -> None:
    torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(X)


def kept_values() -> None:
    x = X.clone().requires_grad_()
    y = nn.functional.layer_norm(x, (4,))
    y.max(1)[0].sum().backward()


def matrices() -> None:
    a = (X[:, :, :3] + 9 * torch.eye(3)).requires_grad_()
    (torch.linalg.solve(a, X) + torch.linalg.inv(a) @ X).sum().backward()
    torch.linalg.svd(X)
    torch.linalg.eigh(a.detach())
    torch.linalg.lu(a.detach())
    torch.linalg.qr(X)
    torch.linalg.eig(a.detach())


def sorting() -> None:
    X.sort(descending=True)
    X.topk(2)
    X.nonzero()
    X.unique()


def data() -> None:
    torch.tensor([[1.0, 2.0], [3.0, 4.0]]).tolist()
    torch.tensor(range(10)).numpy()
    torch.randn(5, 5).to(torch.float64).clone()
    torch.arange(10).resize_(2000)


ACTIONS = [
    training_step, sgd_step, convolution, recurrence, channels_last, views, indexing,
    in_place_autograd, second_derivatives, large_operands, transforms, kept_values,
    matrices, sorting, data,
]  # fmt: skip


def live_bytes() -> int:
    gc.collect()
    return _C._memory_statistics()["allocated_bytes"]


def reset() -> None:
    LAYER.zero_grad()
    RECURRENCE.zero_grad()


def fails_at(action: Callable[[], None], number: int) -> bool:
    """Whether the refusal of that block reached the caller."""
    _C._fail_allocation(number)
    try:
        action()
    except RuntimeError as error:
        assert "not enough memory" in str(error), error
        return True
    finally:
        _C._fail_allocation(0)
    return False


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_every_failed_allocation_is_an_error_without_side_effects(
    action: Callable[[], None],
) -> None:
    for _ in range(3):  # plans, kernels and prepared calls stay in memory
        action()
    reset()
    before = live_bytes()
    number = 1
    while fails_at(action, number):
        reset()
        number += 1
        assert number < 2000
    assert number > 1
    reset()
    assert live_bytes() <= before
    assert X.tolist() == torch.arange(24.0).reshape(2, 3, 4).tolist()
    action()
