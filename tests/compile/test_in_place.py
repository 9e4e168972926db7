"""In-place writes to existing memory: recorded if only one tensor refers to it."""

import copy
import pickle
import threading

import numpy as np
import pytest

import pellucid as torch
from pellucid import _C
from pellucid._compile import background

SHAPE = (256, 256)


def lion(p, m, grad):
    update = (m * 0.9 + grad * 0.1).sign()
    p.mul_(0.999).add_(update, alpha=-1e-2)
    m.mul_(0.99).add_(grad, alpha=0.01)


def adam(p, m, v, grad):
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.999).addcmul_(grad, grad, value=0.001)
    p.addcdiv_(m, (v.sqrt() / 0.9).add_(1e-8), value=-1e-2)


def centered(p, square, mean, grad):
    square.lerp_(grad * grad, 0.1)
    mean.lerp_(grad, 0.1)
    p.sub_(grad * (square - mean * mean).clamp_(min=0).sqrt_().add_(1e-8), alpha=0.1)


@pytest.mark.parametrize(("step", "tensors"), [(lion, 3), (adam, 4), (centered, 4)])
def test_an_optimizer_written_by_hand_is_one_pass(step, tensors):
    eager = [torch.rand(SHAPE) for _ in range(tensors)]
    own = [t.clone() for t in eager]
    compiled = torch.compile(step)
    for _ in range(4):
        step(*eager)
        before = _C._recording_counts()
        compiled(*own)
        launches = _C._recording_counts()[2] - before[2]
        background.wait(60)
        for expected, actual in zip(eager, own, strict=True):
            assert (
                torch.equal(expected, actual) and expected._version == actual._version
            )
    assert launches == 1


def recorded(function, *args):
    before = _C._recording_counts()[0]
    torch.compile(function)(*args)
    return _C._recording_counts()[0] - before


def test_what_others_see_is_written_at_once():
    """Views, aliases and arrays of the memory, and tensors with a part of it."""

    def write(x):
        x.mul_(3)

    base = torch.ones(SHAPE)
    assert recorded(write, base) == 1
    row, alias = base[0], base.detach()
    assert recorded(write, base) == 0
    assert row[0].item() == 9 and alias[1, 1].item() == 9
    del row, alias
    assert recorded(write, base) == 1
    array = base.numpy()
    assert recorded(write, base) == 0
    assert (array == 81).all()
    part = torch.ones(512, 256)[:256]
    assert recorded(write, part) == 0
    assert recorded(write, torch.from_numpy(np.ones(SHAPE, np.float32))) == 0


def test_readers_before_a_write_see_what_was_there():
    def step(x, y):
        turned = x.t() * 2  # another geometry of the memory
        first = x[:1] + y
        x.mul_(0.5)
        between = x - y
        x.add_(y)
        return turned, first, between, x.exp(), x

    x, y = torch.rand(SHAPE), torch.rand(SHAPE)
    own = x.clone()
    compiled = torch.compile(step)
    for _ in range(4):
        expected, actual = step(x, y), compiled(own, y)
        background.wait(60)
        assert actual[-1] is own
        for a, b in zip(expected, actual, strict=True):
            assert torch.equal(a, b)


def test_a_pass_that_fails_is_continued():
    """The first group has written its memory; it does not run again."""

    def step(x, one):
        x.mul_(2)
        y = x.exp()
        return x.add_(1), y, one.expand(10**7, 10**7) + 1

    x = torch.rand(SHAPE)
    expected = (x * 2).exp(), x * 2 + 1
    compiled = torch.compile(step)
    for _ in range(3):
        y = None
        own = x.clone()
        with pytest.raises(RuntimeError, match="memory"):
            _, y, _ = compiled(own, torch.ones(1, 1))
        assert y is None and torch.equal(own, expected[1])
        background.wait(60)


def test_threads_write_to_one_tensor():
    x = torch.zeros(SHAPE)
    turn = threading.Lock()

    @torch.compile
    def step():
        with turn:
            x.add_(1).mul_(1)
            y = x * 2
        return y

    doubles = []

    def work():
        for _ in range(40):
            doubles.append(step())

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (x == 120).all()
    assert sorted(y.min().item() for y in doubles) == [*range(2, 242, 2)]
    assert all(y.min() == y.max() for y in doubles)


def test_gradients_accumulate_in_the_region():
    def step(x, scale):
        ((x * scale).tanh() * scale).sum().backward()
        ((x * scale).sin() * scale).sum().backward()
        with torch.no_grad():
            x.grad.mul_(0.5)

    tensors = [torch.rand(SHAPE, requires_grad=True) for _ in range(2)]
    with torch.no_grad():
        tensors[1].copy_(tensors[0])
    scale = torch.rand(SHAPE)
    compiled = torch.compile(step)
    for _ in range(4):
        step(tensors[0], scale)
        compiled(tensors[1], scale)
        background.wait(60)
        assert torch.equal(tensors[0].grad, tensors[1].grad)
        assert tensors[0].grad._version == tensors[1].grad._version


def _in_thread(function):
    worker = threading.Thread(target=function)
    worker.start()
    worker.join()


def _masked(x):
    x[x > 1] = 0
    return x.add_(1)


def _deleted(x):
    y = x * 2
    x.add_(1)
    del x
    return y


ACTIONS = {
    "copy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "data": lambda x: x.data.mul_(2),
    "set data": lambda x: setattr(x, "data", torch.full(SHAPE, 3.0)),
    "array": lambda x: x.numpy().__setitem__(0, 7),
    "bytes": lambda x: torch.tensor(x.untyped_storage().nbytes()),
    "resize": lambda x: x.resize_(4, 4),
    "set": lambda x: x.set_(torch.ones(SHAPE)).mul_(2),
    "address": lambda x: x.mul_(float(x.data_ptr() > 0)).add_(1),
    "row": lambda x: x[0].fill_(9),
    "alias": lambda x: x.detach().add_(x.add_(1)),
    "flat": lambda x: [x.view(-1), x.mul_(3)][0] * 2,
    "row before": lambda x: [x[:1].expand(SHAPE) * 2, x.mul_(0.5)][0],
    "across": lambda x: [x.t() + 1, x.sub_(1), x.t() * 2],
    "overwritten": lambda x: [x * 2, x.copy_(x.flip(0)).mul_(2)][0],
    "filled": lambda x: x.fill_(3).mul_(x * 2).zero_().add_(1),
    "itself": lambda x: x.add_(x).mul_(x),
    "drawn": lambda x: x.mul_(2).normal_().add_(1),
    "masked": _masked,
    "deleted": _deleted,
    "read by a thread": lambda x: _in_thread(lambda: x.sum().item()),
    "written by a thread": lambda x: _in_thread(lambda: x.add_(1)),
    "to a destination": lambda x: torch.add(x, 1, out=x).mul_(2),
    "to double": lambda x: x.double().add_(x),
    "to half": lambda x: x.half().add_(x).mul_(2),
    "stride": lambda x: x.t().contiguous().t().mul_(2).add_(x),
    "lists": lambda x: torch._foreach_mul_([x, x.clone()], 2),
    "history": lambda x: [x * k for k in range(3) if x.mul_(1.1) is x],
}


def leaves(result):
    if isinstance(result, torch.Tensor):
        return [result.detach().clone()]
    return [t for r in result for t in leaves(r)] if isinstance(result, list) else []


@pytest.mark.parametrize("name", ACTIONS)
def test_what_follows_a_write_finds_it(name):
    @torch.no_grad()
    def step(x):
        x.mul_(1.5).add_(0.25)
        return leaves(ACTIONS[name](x))

    compiled = torch.compile(step)
    for _ in range(3):
        actual = []
        for function in (step, compiled):
            torch.manual_seed(1)
            x = torch.randn(SHAPE)
            result = function(x)
            actual.append(([*result, x.detach().clone()], x._version))
        background.wait(60)
        (expected, version), (own, own_version) = actual
        assert version == own_version
        for a, b in zip(expected, own, strict=True):
            assert torch.equal(a, b) and a.dtype == b.dtype


def small_writes(x, kept, read):
    """Writes recorded values to ten elements, whose memory is a part of the storage."""
    mean = (x * 2 + 1).mean(0)
    kept.lerp_(mean[:10] if read == "view" else mean, 0.5)
    if read == "during":
        return kept.numpy().copy().sum() + kept.sum()
    kept.add_(mean).mul_(2)
    if read == "unread":
        kept = mean * 3
    elif read == "copied":
        return copy.deepcopy(kept), kept.clone() + 1
    elif read == "raised":
        try:
            return kept @ torch.ones(3)
        except RuntimeError:
            return kept - 1
    return kept * 2, mean


@pytest.mark.parametrize(
    "read", ["after", "during", "view", "unread", "copied", "raised", "aliased"]
)
def test_writes_to_small_memory(read):
    x = torch.randn(16384, 10)
    eager = [torch.ones(10), None]
    own = [torch.ones(10), None]
    if read == "aliased":
        eager[1], own[1] = eager[0][2:4], own[0][2:4]
    compiled = torch.compile(small_writes)
    for _ in range(6):
        expected = small_writes(x, eager[0], read)
        found = compiled(x, own[0], read)
        background.wait(60)
        for a, b in zip(expected, found, strict=True) if read != "during" else ():
            assert torch.equal(a, b)
        assert torch.equal(eager[0], own[0]) and eager[0]._version == own[0]._version
        assert (
            read == "during" or own[0].numpy().tobytes() == eager[0].numpy().tobytes()
        )
        if read in ("after", "copied"):
            own[0], eager[0] = own[0].clone(), eager[0].clone()
    assert read != "aliased" or torch.equal(own[1], own[0][2:4])
