"""DTensors: values, gradients and training against one process."""

import copy
import itertools

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    _moves,
    distribute_module,
    distribute_tensor,
    zeros,
)
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks

PLACEMENTS = (Replicate(), Shard(0), Shard(1))


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def rank_computes(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    x, w = torch.randn(4, 6), torch.randn(6, 8)
    for placed_x, placed_w in itertools.product(PLACEMENTS, PLACEMENTS):
        a = distribute_tensor(x.clone().requires_grad_(), mesh, [placed_x])
        b = distribute_tensor(w.clone().requires_grad_(), mesh, [placed_w])
        whole_a, whole_b = x.clone().requires_grad_(), w.clone().requires_grad_()
        for left, right in ((a, b), (whole_a, whole_b)):
            loss = F.softmax(F.gelu(left @ right), -1).pow(2).mean() + left.amax()
            loss.backward()
        assert a.grad.placements == (placed_x,) and b.grad.placements == (placed_w,)
        close(a.grad.full_tensor(), whole_a.grad)
        close(b.grad.full_tensor(), whole_b.grad)
    rank_moves(mesh, rank, size)
    rank_refuses(mesh)
    rank_runs_examples(mesh)
    rank_sees_whole_sizes(mesh)
    rank_repeats(mesh)
    rank_combines_inside(mesh)
    rank_finds_extremes(mesh)
    rank_exchanges_rows(mesh)
    rank_asks_for_gradients(mesh)


def rank_moves(mesh, rank, size):
    x = torch.randn(5, 7)
    for before, after in itertools.product(PLACEMENTS, PLACEMENTS):
        a = distribute_tensor(x.clone().requires_grad_(), mesh, [before])
        moved = a.redistribute(placements=[after])
        assert torch.equal(moved.full_tensor(), x)
        moved.pow(2).sum().backward()
        close(a.grad.full_tensor(), 2 * x)
    mine = torch.full((4, 4), float(rank + 1), requires_grad=True)
    total = DTensor.from_local(mine, mesh, [Partial()])
    assert (total + 1).full_tensor()[0, 0] == size * (size + 1) / 2 + 1
    part = total.redistribute(placements=[Shard(0)])
    assert part.to_local().shape == (4 // size, 4)
    (part * 3).sum().backward()
    assert mine.grad.tolist() == [[3.0] * 4] * 4


def rank_refuses(mesh):
    x = distribute_tensor(torch.randn(4, 4), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match="mixed torch"):
        x + torch.randn(4, 4)
    with pytest.raises(RuntimeError) as plain:
        torch.randn(4, 4) @ torch.randn(6, 4)
    with pytest.raises(RuntimeError) as placed:  # the op's own error
        x @ distribute_tensor(torch.randn(6, 4), mesh, [Shard(1)])
    assert str(placed.value) == str(plain.value)
    with pytest.raises(ValueError, match="same length as"):
        x.redistribute(placements=[Shard(0), Shard(1)])
    with pytest.raises(RuntimeError, match="cannot be redistributed to P"):
        x.redistribute(placements=[Partial()])
    held = x.add_(1)
    assert held is x and x.placements == (Shard(0),)
    assert zeros(4, 6, device_mesh=mesh, placements=[Shard(1)]).shape == (4, 6)
    noisy = F.dropout(distribute_tensor(torch.ones(64, 64), mesh, [Shard(0)]))
    whole = noisy.full_tensor()
    assert not torch.equal(whole[:32] == 0, whole[32:] == 0)


def rank_runs_examples(mesh):
    """Scans and routines are shared by their examples, also in backward."""
    x = torch.randn(4, 3, 3)
    for call in (
        lambda x: x.cumsum(1),
        lambda x: x.logcumsumexp(2),
        lambda x: x.sort(2)[0],
        lambda x: x.topk(2, 1)[0],
        torch.linalg.det,
        torch.linalg.svdvals,
        lambda x: torch.fft.rfft(x, dim=2).abs(),
    ):
        a = distribute_tensor(x.clone().requires_grad_(), mesh, [Shard(0)])
        whole = x.clone().requires_grad_()
        made, expected = call(a), call(whole)
        assert made.placements == (Shard(0),), call
        close(made.full_tensor(), expected)
        made.pow(2).sum().backward()
        expected.pow(2).sum().backward()
        close(a.grad.full_tensor(), whole.grad)


def rank_sees_whole_sizes(mesh):
    """A dim of one element on a process has more in the whole, and a part of a sum may
    be no integer.
    """
    x = torch.arange(6.0).view(2, 3)
    for placement in (Shard(0), Shard(1)):
        a = distribute_tensor(x, mesh, [placement])
        for call in (torch.squeeze, lambda x: x.squeeze(0), lambda x: x + x[:1]):
            made = call(a).full_tensor()
            assert torch.equal(made, call(x)), (call, placement)
    for call in (torch.any, torch.all, lambda x: x.any(0), lambda x: x.all(1)):
        made = call(distribute_tensor(x, mesh, [Shard(0)])).full_tensor()
        assert torch.equal(made, call(x))
    half = DTensor.from_local(torch.full((2,), 0.5), mesh, [Partial()])
    assert half.long().full_tensor().tolist() == [1, 1]
    assert half.double().placements == (Partial(),)


def split_calls():
    """Functions, their operands, the placements of these, and numbers combined in
    forward.
    """
    rows, columns, whole = Shard(0), Shard(1), Replicate()
    x, labels = torch.randn(6, 9), torch.randint(0, 9, (6,))
    q = torch.randn(2, 2, 8, 6)
    affine = torch.randn(9), torch.randn(9)
    return [
        (lambda x: F.softmax(x, -1), [x], [columns], 12),
        (lambda x: torch.logsumexp(x, 1), [x], [columns], 12),
        (lambda x: F.layer_norm(x, (9,)), [x], [columns], 12),
        (
            lambda x, w, b: F.layer_norm(x, (9,), w, b),
            *([x, *affine], [columns, rows, rows], 12),
        ),
        (F.cross_entropy, [x, labels], [columns, whole], 12),
        (F.cross_entropy, [x, labels], [rows, rows], 1),
        (lambda i, w: F.embedding(i, w), [labels % 6, x], [whole, rows], 0),
        (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            *([q, q + 1, q - 1], [whole, Shard(2), Shard(2)], 64),
        ),
        (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            *([q, q + 1, q - 1], [Shard(2), whole, whole], 0),
        ),
        (torch.triu, [x], [columns], 0),
        (lambda x: F.softmax(x, -1), [x.bfloat16()], [columns], 12),
    ]


def rank_combines_inside(mesh):
    """If operands are split, numbers per row are combined, never the operands."""
    moved, reduce = [], _moves._reduced
    _moves._reduced = lambda line, x, op: moved.append(x.numel()) or reduce(line, x, op)
    for function, tensors, placements, count in split_calls():
        whole = [x.clone().requires_grad_(x.is_floating_point()) for x in tensors]
        parts = [
            distribute_tensor(x, mesh, [p]).requires_grad_(x.is_floating_point())
            for x, p in zip(tensors, placements, strict=True)
        ]
        del moved[:]
        result, expected = function(*parts), function(*whole)
        assert sum(moved) == count
        tolerance = 1e-4 if expected.dtype == torch.float32 else 0.02
        actual = result.redistribute(placements=[Replicate()])
        torch.testing.assert_close(
            actual.to_local(), expected, atol=1e-5, rtol=tolerance
        )
        grad = torch.randn(expected.shape).to(expected.dtype)
        expected.backward(grad)
        actual.backward(distribute_tensor(grad, mesh, [Replicate()]))
        for own, x in zip(parts, whole, strict=True):
            if x.grad is not None and x.dtype == torch.float32:
                close(own.grad.full_tensor(), x.grad)
    _moves._reduced = reduce
    table = distribute_tensor(torch.randn(6, 2), mesh, [Shard(0)])
    with pytest.raises(IndexError, match="out of bounds"):
        F.embedding(distribute_tensor(torch.tensor([1, 6]), mesh, [Replicate()]), table)


def rank_finds_extremes(mesh):
    """The place of an extreme over a split dim: one or two numbers a row, not the
    operand.
    """
    x = torch.tensor([[3.0, 1, 3, 0, 2], [1, 5, torch.nan, 5, 0], [0, 0, 0, 0, 0]])
    moved, reduce = [], _moves._reduced
    _moves._reduced = lambda line, x, op: moved.append(x.numel()) or reduce(line, x, op)
    a = distribute_tensor(x, mesh, [Shard(1)]).requires_grad_()
    for call in (lambda x: x.argmax(1), lambda x: x.argmin(1, keepdim=True)):
        del moved[:]
        made = call(a)
        assert sum(moved) == 3
        assert torch.equal(made.full_tensor(), call(x))
    del moved[:]
    values, places = a.max(1)
    assert sum(moved) == 6
    whole = x.clone().requires_grad_()
    expected = whole.max(1)
    assert torch.equal(places.full_tensor(), expected.indices)
    full = values.redistribute(placements=[Replicate()])
    torch.testing.assert_close(full.to_local(), expected.values, equal_nan=True)
    grad = torch.tensor([1.0, 2, 3])
    expected.values.backward(grad)
    full.backward(distribute_tensor(grad, mesh, [Replicate()]))
    assert torch.equal(a.grad.full_tensor(), whole.grad)
    _moves._reduced = reduce


def rank_exchanges_rows(mesh):
    """Images split by rows or columns get the rows that windows need from neighbours;
    gradients go back to them. No image is gathered.
    """
    torch.manual_seed(2)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 2, 3, stride=2, padding=1),
        torch.nn.AvgPool2d((1, 2), padding=(0, 1)),
    )
    x = torch.randn(2, 3, 15, 14)
    gathered, gather = [], _moves._gathered
    _moves._gathered = lambda *facts: gathered.append(facts[1]) or gather(*facts)
    for dim in (2, 3):
        parts = distribute_module(copy.deepcopy(layers), mesh)
        whole = x.clone().requires_grad_()
        a = distribute_tensor(x, mesh, [Shard(dim)]).requires_grad_()
        for module, given in ((layers, whole), (parts, a)):
            module.zero_grad()
            result = module(given)
            result.pow(2).sum().backward()
        assert result.placements == (Shard(dim),)
        assert not gathered
        close(a.grad.full_tensor(), whole.grad)
        close(result.full_tensor(), layers(x))
        for own, expected in zip(parts.parameters(), layers.parameters(), strict=True):
            close(own.grad.full_tensor(), expected.grad)
        del gathered[:]
    _moves._gathered = gather


def rank_asks_for_gradients(mesh):
    """``autograd.grad`` and ``autograd.backward`` of DTensors."""
    x, w = torch.randn(4, 6), torch.randn(6, 3)
    a = distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
    b = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
    whole = x.clone().requires_grad_(), w.clone().requires_grad_()

    def value(a, b):
        return (a @ b).tanh().sum()

    actual = torch.autograd.grad(value(a, b), [a, b], create_graph=True)
    expected = torch.autograd.grad(value(*whole), whole, create_graph=True)
    for own, gradient, placed in zip(
        actual, expected, (Shard(0), Replicate()), strict=True
    ):
        assert own.placements == (placed,)
        close(own.full_tensor(), gradient)
    (second,) = torch.autograd.grad((actual[0] * actual[0]).sum(), b)
    (expected_second,) = torch.autograd.grad((expected[0] ** 2).sum(), whole[1])
    close(second.full_tensor(), expected_second)
    (unused,) = torch.autograd.grad(a.sum(), b, allow_unused=True)
    assert unused is None and a.grad is None
    result = a @ b
    torch.autograd.backward(result, torch.ones_like(result))
    close(a.grad.full_tensor(), torch.ones(4, 3) @ w.t())
    with pytest.raises(RuntimeError, match="scalar outputs"):
        torch.autograd.grad(a @ b, a)


def rank_repeats_moves(mesh, count):
    """Repeated calls whose operands move first, and facts checked each time."""
    x, y, w = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6, 4)
    a, b = (distribute_tensor(t, mesh, [Shard(k)]) for k, t in enumerate((x, y)))
    whole = distribute_tensor(y, mesh, [Replicate()])
    c = distribute_tensor(w, mesh, [Shard(0)])
    for call, expected in (
        (lambda: a + whole, x + y),
        (lambda: a + b, x + y),
        (lambda: b + a, x + y),
        (lambda: torch.cat([a, b], 1), torch.cat([x, y], 1)),
        (lambda: a @ c, x @ w),
        (lambda: a.sum() * whole, x.sum() * y),
    ):
        times, result = count(call)
        assert times == 0
        close(result.full_tensor(), expected)
        assert result.shape == expected.shape
    written = a.clone()
    times, _ = count(lambda: written.add_(whole))
    assert times == 0
    close(written.full_tensor(), x + 2 * y)
    assert count(lambda: F.dropout(a))[0]  # its own numbers

    weight = distribute_tensor(w.clone().requires_grad_(), mesh, [Replicate()])
    leaf = b.clone().requires_grad_()
    for _ in range(3):
        times, product = count(lambda: (a + leaf) @ weight)
        product.sum().backward()
        assert times == 0
    close(weight.grad.full_tensor(), 3 * (x + y).sum(0)[:, None].expand(6, 4))
    close(leaf.grad.full_tensor(), 3 * w.sum(1).expand(4, 6))
    with torch.no_grad():
        assert not (a @ weight).requires_grad
    asked, product = count(lambda: a @ weight)
    assert not asked and product.requires_grad


def rank_repeats(mesh):
    """Repeated calls run without the class's ``__torch_dispatch__``."""
    asked = []
    ask = DTensor.__torch_dispatch__
    DTensor.__torch_dispatch__ = classmethod(
        lambda cls, func, *rest: asked.append(str(func)) or ask(func, *rest)
    )

    def count(call):
        call()
        del asked[:]
        result = call()
        return len(asked), result

    x = torch.randn(4, 6)
    a = distribute_tensor(x, mesh, [Shard(0)])
    whole = distribute_tensor(x, mesh, [Replicate()])
    y = torch.randn(3)  # the processes have parts of different sizes
    uneven = distribute_tensor(y, mesh, [Shard(0)])
    for call, expected in (
        (lambda: a + a, x + x),
        (lambda: a * 3.0, x * 3.0),
        (lambda: (a - 1).relu().t() / 2, (x - 1).relu().t() / 2),
        (lambda: torch.cat([a, a], 1), torch.cat([x, x], 1)),
        (lambda: a.amax(1), x.amax(1)),
        (lambda: whole.sum(0), x.sum(0)),
        (lambda: F.layer_norm(a, (6,)), F.layer_norm(x, (6,))),
        (lambda: a.view(4, 2, 3), x.view(4, 2, 3)),
        (lambda: a.view(2, 12), x.view(2, 12)),
        (lambda: uneven.expand(2, 3), y.expand(2, 3)),
        (lambda: uneven.view(3, 1), y.view(3, 1)),
    ):
        times, result = count(call)
        assert times == 0
        close(result.full_tensor(), expected)
        assert result.shape == expected.shape and result.stride() == expected.stride()
    # Other facts: placements, dtypes, gradients, numbers, modes.
    for call in (
        lambda: whole + whole,
        lambda: a.double() + a.double(),
        lambda: a.clone().requires_grad_() + a,
        lambda: a * 4.0,
    ):
        del asked[:]
        call()
        assert asked
    rank_repeats_moves(mesh, count)
    assert count(lambda: a.sum())[0] == 0 and a.sum().placements == (Partial(),)
    b = a.clone().requires_grad_()
    for _ in range(3):
        (b * b).sum().backward()
    close(b.grad.full_tensor(), 6 * x)
    c = a.clone()
    times, result = count(lambda: c.add_(1))
    assert times == 0 and result is c
    close(c.full_tensor(), x + 2)
    assert c._version == 2
    DTensor.__torch_dispatch__ = ask


@pytest.mark.parametrize("given", [True, [1, False], "ab", 1.5])
def test_a_repeat_takes_integers(given):
    with pytest.raises(TypeError):
        torch._C._repeat_on_parts(size=given)


def test_a_repeat_takes_integers_of_64_bits():
    with pytest.raises(OverflowError):
        torch._C._repeat_on_parts(size=2**63)


class Block(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.last = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.wq, self.wk = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.wv, self.wo = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        y = self.norm(x)
        q, k, v = (
            w(y).view(batch, length, -1, dim // self.heads).transpose(1, 2)
            for w in (self.wq, self.wk, self.wv)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(self.last(x))))


class Language(nn.Module):
    def __init__(self, words=32, dim=16):
        super().__init__()
        self.table, self.block = nn.Embedding(words, dim), Block(dim)
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, words)

    def forward(self, tokens):
        return self.out(self.norm(self.block(self.table(tokens))))


def language():
    torch.manual_seed(1)
    return Language()


def losses(model, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    actual = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        tokens = torch.randint(0, 32, (4, 9), generator=generator)
        logits = model(tokens[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        actual.append(loss.item())
    return actual


COLUMNS = ("wq", "wk", "wv", "up")


def rank_trains(rank, size):
    expected = pytest.approx(losses(language()), rel=1e-5)
    mesh = init_device_mesh("cpu", (size,))
    plan = {f"block.{name}": ColwiseParallel() for name in COLUMNS}
    plan |= {f"block.{name}": RowwiseParallel() for name in ("wo", "down")}
    plan |= {
        "table": RowwiseParallel(input_layouts=Replicate()),
        "out": ColwiseParallel(output_layouts=Replicate()),
    }
    model = parallelize_module(language(), mesh, plan)
    assert model.block.up.weight.to_local().shape == (64 // size, 16)
    assert losses(model) == expected
    assert losses(by_sequence(mesh)) == expected

    def as_input(module, inputs, mesh):
        return tuple(DTensor.from_local(x, mesh, [Replicate()]) for x in inputs)

    whole = distribute_module(
        language(), mesh, None, as_input, lambda module, output, mesh: output.to_local()
    )
    assert losses(whole) == expected


def by_sequence(mesh):
    part = Shard(1)
    enter = {"input_layouts": (part,), "desired_input_layouts": (Replicate(),)}
    plan = {f"block.{name}": ColwiseParallel(input_layouts=part) for name in COLUMNS}
    plan |= {
        f"block.{name}": RowwiseParallel(output_layouts=part, use_local_output=False)
        for name in ("wo", "down")
    }
    plan |= {
        "table": RowwiseParallel(
            input_layouts=Replicate(), output_layouts=part, use_local_output=False
        ),
        "block.norm": SequenceParallel(),
        "block.last": SequenceParallel(),
        "norm": SequenceParallel(),
        "out": ColwiseParallel(input_layouts=part, output_layouts=Replicate()),
    }
    model = language()
    parallelize_module(model.block.up, mesh, PrepareModuleInput(**enter))
    return parallelize_module(model, mesh, plan)


def test_values_gradients_and_training_are_those_of_one_process(tmp_path):
    assert len(run_ranks([rank_computes, rank_trains], 2, tmp_path)) == 2


def rank_shares_a_square(rank, size):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    x, w = torch.randn(8, 6), torch.randn(6, 8)
    for placed in itertools.product(PLACEMENTS, PLACEMENTS):
        a = distribute_tensor(x.clone().requires_grad_(), mesh, placed)
        b = distribute_tensor(w.clone().requires_grad_(), mesh, [Replicate(), Shard(1)])
        assert torch.equal(a.full_tensor(), x)
        (a @ b).relu().pow(2).sum().backward()
        whole = x.clone().requires_grad_()
        (whole @ w).relu().pow(2).sum().backward()
        close(a.grad.full_tensor(), whole.grad)
        for target in itertools.product(PLACEMENTS, PLACEMENTS):
            assert torch.equal(a.redistribute(placements=target).full_tensor(), x)


def rank_reverses(rank, size):
    x = torch.arange(12.0)
    mesh = DeviceMesh("cpu", [[1, 0], [3, 2]], mesh_dim_names=("dp", "tp"))
    for part in (mesh["tp"], mesh["dp"], mesh._flatten()):
        group = part.get_group()
        assert dist.get_process_group_ranks(group) == part.mesh.tolist()
        assert group.rank() == part.get_local_rank()
        placed = distribute_tensor(x, part, [Shard(0)])
        assert torch.equal(placed.full_tensor(), x)
    placed = distribute_tensor(x.view(2, 6), mesh, [Shard(0), Shard(1)])
    assert torch.equal(placed.full_tensor(), x.view(2, 6))


def test_two_mesh_dims_share_a_tensor_with_ranks_in_any_order(tmp_path):
    functions = [rank_reverses, rank_shares_a_square]
    assert len(run_ranks(functions, 4, tmp_path)) == 4
