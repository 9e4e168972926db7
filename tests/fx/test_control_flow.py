"""Branches, loops and scans: run, and as graphs in make_fx and export."""

import io

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._higher_order_ops import associative_scan, map, scan, while_loop
from pellucid.export import Dim, export, load, save
from pellucid.fx.experimental.proxy_tensor import make_fx

MODES = ("real", "fake", "symbolic")
ops = torch.ops.higher_order


def calls(module, op):
    return [n for n in module.graph.nodes if n.target is op]


def closest(x, y):
    """A branch within a branch; ``y`` is read from outside."""
    return torch.cond(
        x.sum() > 0,
        lambda x: torch.cond(x.max() > 2, lambda x: x + y, lambda x: x - y, (x,)),
        lambda x: x * y,
        (x,),
    )


@pytest.mark.parametrize("mode", MODES)
def test_branches_become_graphs(mode):
    y = torch.tensor([0.5, 2.0])
    traced = make_fx(closest, tracing_mode=mode)(torch.ones(2), y)
    (node,) = calls(traced, ops.cond)
    assert [a.name for a in node.args[3]] == ["x_1", "y_1"]
    for x in (torch.ones(2), torch.ones(2) * 3, -torch.ones(2)):
        assert torch.equal(traced(x, y), closest(x, y))


@pytest.mark.parametrize("mode", MODES)
def test_loops_become_graphs(mode):
    def program(x):
        return while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x)
        )

    traced = make_fx(program, tracing_mode=mode)(torch.ones(3))
    assert len(calls(traced, ops.while_loop)) == 1
    i, x = traced(torch.arange(3.0))
    assert i.item() == 3 and x.tolist() == [0.0, 8.0, 16.0]


@pytest.mark.parametrize("mode", MODES)
def test_maps_and_scans_become_graphs(mode):
    xs, y = torch.randn(4, 3), torch.randn(3)

    def program(xs, y):
        doubled = map(lambda x, y: {"sum": x + y, "x": x}, xs, y)
        last, sums = scan(lambda c, x: (c + x, c * y), y, doubled["sum"])
        return last, sums, associative_scan(lambda a, b: a * b, doubled["x"], 0)

    traced = make_fx(program, tracing_mode=mode)(xs, y)
    for op in (ops.map_impl, ops.scan, ops.associative_scan):
        assert len(calls(traced, op)) == 1
    for actual, expected in zip(traced(xs, y), program(xs, y), strict=True):
        assert torch.equal(actual, expected)


def test_a_scan_from_the_end_along_another_dim():
    xs = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    last, sums = scan(
        lambda c, x: (c + x, c + x), torch.zeros(2), xs, dim=1, reverse=True
    )
    assert last.tolist() == [6.0, 15.0]
    assert sums.tolist() == [[6.0, 15.0], [5.0, 11.0], [3.0, 6.0]]


def test_gradients_of_loops():
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    _, y = while_loop(
        lambda i, x: i < 2, lambda i, x: (i + 1, x * x), (torch.tensor(0), x)
    )
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 108.0]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(
            x.sum() > 0,
            lambda x: self.layer(x).sin().reshape(x.shape[0] * 3),
            lambda x: (x.cos() + 1).reshape(-1),
            (x,),
        )


def test_a_branch_is_exported_for_all_sizes():
    gate = Gate()
    program = export(
        gate, (torch.randn(4, 3),), dynamic_shapes={"x": {0: Dim("batch")}}
    )
    module = program.module()
    for size in (2, 4, 9):
        for sign in (1, -1):
            x = torch.rand(size, 3) * sign
            assert torch.equal(module(x), gate(x))


def test_exported_branches_are_decomposed_and_stored():
    gate = Gate()
    program = export(
        gate, (torch.randn(4, 3),), dynamic_shapes={"x": {0: Dim("batch")}}
    )
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    x = torch.rand(7, 3)
    for changed in (program.run_decompositions(), load(file)):
        assert torch.equal(changed.module()(x), gate(x))
        assert torch.equal(changed.module()(-x), gate(-x))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: torch.cond(3.5, abs, abs, (x,)), "one truth value"),
        (lambda x: torch.cond(x > 0, abs, abs, (x,)), "shape \\(2,\\)"),
        (lambda x: torch.cond(x.sum() > 0, 3, abs, (x,)), "functions"),
        (lambda x: torch.cond(True, abs, abs, ("a",)), "tensors"),
        (lambda x: while_loop(lambda x: x, lambda x: (x,), (x,)), "one truth value"),
        (lambda x: while_loop(abs, abs, x), "tuple"),
        (lambda x: scan(1, x, x), "function"),
        (lambda x: scan(lambda c, x: (x, x), x, x), "carry"),
        (lambda x: map(abs, []), "tensors"),
    ],
)
def test_errors_say_what_is_wrong(call, said):
    with pytest.raises(RuntimeError, match=said):
        call(torch.ones(2))


def test_branches_that_differ_are_refused_in_a_graph():
    def program(x):
        return torch.cond(x.sum() > 0, lambda x: x, lambda x: x[0], (x,))

    with pytest.raises(RuntimeError, match="same nest, sizes and dtypes"):
        make_fx(program)(torch.ones(2))


def test_a_body_that_changes_its_values_is_refused():
    with pytest.raises(RuntimeError, match="sizes and dtypes"):
        while_loop(lambda x: x.sum() < 9, lambda x: (x.double(),), (torch.ones(2),))
