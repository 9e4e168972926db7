"""Exported programs that read numbers from tensors: item, tolist, masks, nonzero."""

import io

import pytest

import pellucid as torch
from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensorMode,
)
from pellucid.export import Dim, draft_export, export, load, save
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
)


class Program(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x, y=None):
        return self.f(x) if y is None else self.f(x, y)


def calls(program):
    nodes = program.graph.nodes
    return [str(n.target) for n in nodes if n.op == "call_function"]


def ranges(program):
    return {str(k): str(v) for k, v in program.range_constraints.items()}


def checked(u, x):
    torch._check_is_size(u)
    torch._check(u <= x.shape[0])
    return x[:u] * 2


def bounded_zeros(n):
    size = n.item()
    torch._check(size >= 2)
    torch._check(size <= 100)
    return torch.zeros(size)


# The function, the example's arguments, and arguments with other values.
CASES = {
    "int": (lambda x: x.sum().item() + x, [(torch.tensor([1, 2]),)]),
    "float": (lambda x: x * (x.mean().item() * 2 + 1), [(torch.ones(6),)]),
    "nonzero": (lambda x: x.nonzero() * 2, [(torch.tensor([1, 0, 2]),)]),
    "mask": (lambda x: x[x > 0].relu(), [(torch.randn(6),)]),
    "mask of rows": (lambda x: x[x.sum(1) > 0], [(torch.randn(6, 2),)]),
    "select": (lambda x: torch.masked_select(x, x > 0), [(torch.randn(6),)]),
    "unique": (lambda x: torch.unique(x) + 1, [(torch.tensor([1, 2, 2]),)]),
    "repeats": (
        torch.repeat_interleave,
        [(torch.randn(3), torch.tensor([1, 2, 0]))],
    ),
    "split": (
        lambda x, y: torch.split(x, y.tolist()),
        [(torch.arange(6.0), torch.tensor([2, 4]))],
    ),
    "narrow": (
        lambda x, y: checked(y.item(), x),
        [(torch.arange(6.0), torch.tensor(3))],
    ),
    "range": (lambda n: torch.arange(n.max().item()), [(torch.tensor([4, 2]),)]),
    "equal floats": (
        lambda x, y: x * x.mean().item() + y * y.mean().item(),
        [(torch.ones(2), torch.ones(2))],
    ),
    "great float": (lambda x: x * x.mean().item(), [(torch.full((2,), 1e20),)]),
    "absolute": (lambda x: x * abs(x.mean().item()), [(torch.ones(2),)]),
    "greatest": (
        lambda x: x * torch.sym_max(x.mean().item(), 0.5),
        [(torch.ones(2),)],
    ),
    "quotient": (
        lambda x, n: x * (n.item() / x.mean().item()) + n.item() / 2,
        [(torch.ones(2), torch.tensor(4))],
    ),
    "remainder": (
        lambda x, n: x * (n.item() % 3) + torch.sym_float(n.item()),
        [(torch.ones(2), torch.tensor(4))],
    ),
}
OTHERS = {
    "int": (torch.tensor([5, -7]),),
    "float": (torch.arange(6.0),),
    "nonzero": (torch.tensor([0, 0, 0]),),
    "mask": (-torch.ones(6),),
    "mask of rows": (torch.tensor([[1.0, 1.0]] * 6),),
    "select": (torch.tensor([1.0, -1, -1, -1, -1, -1]),),
    "unique": (torch.tensor([3, 3, 3]),),
    "repeats": (torch.randn(3), torch.tensor([4, 4, 1])),
    "split": (torch.arange(6.0), torch.tensor([5, 1])),
    "narrow": (torch.arange(6.0), torch.tensor(6)),
    "range": (torch.tensor([9, 0]),),
    "equal floats": (torch.ones(2), torch.full((2,), 3.0)),
    "great float": (torch.ones(2),),
    "absolute": (-torch.ones(2),),
    "greatest": (-torch.ones(2),),
    "quotient": (torch.full((2,), 4.0), torch.tensor(7)),
    "remainder": (torch.ones(2), torch.tensor(-7)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_exported_program_reads_anew(name):
    function, (example,) = CASES[name]
    program = export(Program(function), example)
    for run in (program, program.run_decompositions()):
        for given in (example, OTHERS[name]):
            torch.testing.assert_close(run.module()(*given), function(*given))


def test_a_requirement_is_asserted_in_the_graph():
    program = export(Program(bounded_zeros), (torch.tensor(5),))
    assert ranges(program) == {"u0": "VR[2, 100]"}
    assert calls(program)[:3] == [
        "aten.item.default",
        "<built-in function ge>",
        "aten._assert_scalar.default",
    ]
    with pytest.raises(RuntimeError, match=r"Runtime assertion failed.*u0 <= 100"):
        program.module()(torch.tensor(101))


def test_a_requirement_may_relate_to_an_open_size():
    program = export(
        Program(lambda x, y: checked(y.item(), x)),
        (torch.randn(6), torch.tensor(3)),
        dynamic_shapes={"x": {0: Dim("n")}, "y": None},
    )
    run = program.module()
    assert run(torch.ones(9), torch.tensor(8)).shape == (8,)
    with pytest.raises(RuntimeError, match="u0 <= n"):
        run(torch.ones(4), torch.tensor(8))


def test_the_range_of_a_mask_over_an_open_size_has_no_maximum():
    program = export(
        Program(lambda x: x[x > 0]),
        (torch.randn(6),),
        dynamic_shapes={"x": {0: Dim("n", max=64)}},
    )
    assert program.module()(torch.ones(50)).shape == (50,)


def test_ranges_decide_a_condition():
    def function(x, y):
        number = y.item()
        torch._check(number >= 2)
        return x + number if number > 1 else x

    program = export(Program(function), (torch.ones(2), torch.tensor(4)))
    assert program.module()(torch.ones(2), torch.tensor(3)).tolist() == [4, 4]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1 if x.sum() > 0 else x,
        lambda x: x + 1 if x.sum().item() > 0 else x,
        lambda x: x + 1 if x.any().item() else x,
        lambda x: x[: int(x.long().sum().item())],
        lambda x: x * 2 if x.nonzero().shape[0] == 2 else x,
        lambda x: x + 1 if x.long().sum().item() else x,
        lambda x: x + 1 if not x.sum().item() else x,
        lambda x: x + 1 if any(x.tolist()) else x,
        lambda x: x + 1 if x.sum() else x,
        lambda x: x + int(x.sum()),
        lambda x: x + round(x.sum().item()),
        lambda x: x + 1 if abs(x.long().sum().item()) > 100 else x,
        lambda x: x + 1 if x.long().sum().item() & 1 else x,
        lambda x: x + 1 if torch.sym_float(x.long().sum().item()) > 100 else x,
        lambda x: x + torch.sym_max(x.long().sum().item(), 9),
        lambda x: [x := x + 1 for _ in range(x.long().sum().item())][-1],
    ],
)
def test_an_open_decision_is_refused_with_its_line(function):
    with pytest.raises(GuardOnDataDependentSymNode, match=r"test_read_values\.py"):
        export(Program(function), (torch.ones(3),))


def test_a_constant_made_of_numbers_that_are_read_is_refused():
    with pytest.raises(GuardOnDataDependentSymNode, match="_tensor_constant0"):
        export(Program(lambda x: x * torch.tensor(x.tolist())), (torch.ones(2),))


def test_a_program_in_a_folder_of_the_same_name_is_one():
    source = "def decide(x):\n    return x + 1 if x.sum().item() > 0 else x"
    namespace = {}
    exec(compile(source, "/home/someone/pellucid/model.py", "exec"), namespace)
    with pytest.raises(GuardOnDataDependentSymNode, match=r"pellucid/model\.py"):
        export(Program(namespace["decide"]), (torch.ones(3),))


def test_conditions_are_joined():
    def function(n):
        number = n.item()
        torch._check((number >= 2) & (number <= 9))
        torch._check((number < 0) | (number < 8))
        return torch.ones(number)

    program = export(Program(function), (torch.tensor(4),))
    assert ranges(program) == {"u0": "VR[2, 7]"}


def test_an_invented_number_moves_into_its_range():
    env = ShapeEnv()
    number = env.create_unbacked_symint()
    torch._check(number >= 5)
    torch._check(number <= 9)
    assert env.var_to_range == {"u0": (5, 9)}
    with pytest.raises(RuntimeError):
        torch._check(number > 9)


def test_an_op_whose_size_a_value_tells_is_refused_outside_of_a_trace():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    counts = mode.from_tensor(torch.tensor([1, 2, 2]))
    with mode, pytest.raises(DataDependentOutputException, match="test_read_values"):
        torch.bincount(counts)


def test_a_draft_decides_by_the_example():
    program = draft_export(
        Program(lambda x: x + 1 if x.sum() > 0 else x), (torch.ones(3),)
    )
    assert not program._report.successful()


def test_a_stored_program_asserts():
    buffer = io.BytesIO()
    save(export(Program(bounded_zeros), (torch.tensor(5),)), buffer)
    buffer.seek(0)
    program = load(buffer)
    assert ranges(program) == {"u0": "VR[2, 100]"}
    assert program.module()(torch.tensor(7)).shape == (7,)
    with pytest.raises(RuntimeError, match="u0 >= 2"):
        program.module()(torch.tensor(1))


@pytest.mark.parametrize("name", ["absolute", "greatest", "quotient", "remainder"])
def test_a_stored_program_computes_with_what_it_reads(name):
    function, (example,) = CASES[name]
    buffer = io.BytesIO()
    save(export(Program(function), example), buffer)
    buffer.seek(0)
    found = load(buffer).module()(*OTHERS[name])
    torch.testing.assert_close(found, function(*OTHERS[name]))


@pytest.mark.parametrize(
    "constrain",
    [
        lambda u: torch.sym_constrain_range(u, min=2, max=10),
        lambda u: torch.sym_constrain_range_for_size(u, min=2, max=10),
        lambda u: torch._constrain_as_size(u, 2, 10),
    ],
)
def test_a_range_is_given(constrain):
    def function(n):
        number = n.item()
        constrain(number)
        return torch.ones(number)

    program = export(Program(function), (torch.tensor(4),))
    assert ranges(program) == {"u0": "VR[2, 10]"}


def test_a_custom_op_has_a_size_that_only_the_data_tells():
    with torch.library._scoped_library("read_values", "FRAGMENT"):

        @torch.library.custom_op("read_values::positions", mutates_args=())
        def positions(x: torch.Tensor) -> torch.Tensor:
            return x.nonzero()

        @positions.register_fake
        def _(x):
            size = torch.library.get_ctx().new_dynamic_size()
            return x.new_empty((size, x.dim()), dtype=torch.int64)

        program = export(Program(lambda x: positions(x) * 2), (torch.ones(3),))
        assert program.module()(torch.tensor([0.0, 1, 0])).tolist() == [[2]]


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_make_fx_records_what_is_read(mode):
    graph = make_fx(lambda x: x + x.sum().item(), tracing_mode=mode)(torch.ones(3))
    assert "aten._local_scalar_dense.default" in calls(graph)
    assert graph(torch.full((3,), 2.0)).tolist() == [8, 8, 8]


def test_a_number_in_a_branch():
    def function(x):
        return torch.cond(
            x.sum() > 0, lambda x: x + x.max().item(), lambda x: x - 1.0, (x,)
        )

    program = export(Program(function), (torch.ones(3),))
    for given in (torch.arange(3.0), -torch.ones(3)):
        torch.testing.assert_close(program.module()(given), function(given))
