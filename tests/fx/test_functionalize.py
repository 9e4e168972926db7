"""``functionalize`` in traces: the same results and inputs, without writes."""

import random

import pytest

import pellucid as torch
from pellucid import nn
from pellucid._C._runtime.gradients import overload_of
from pellucid.func import functionalize, grad, vmap
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.intrinsics import INTRINSICS
from tests.func.catalogue import native_calls


def writes(graph_module):
    """The writing ops, without the last ones, which write to inputs."""
    calls = [n for n in graph_module.graph.nodes if n.op == "call_function"]
    schemas = [getattr(n.target, "_schema", None) for n in calls]
    actual = [s.name for s in schemas if s is not None and s.is_mutable]
    while actual and actual[-1] == "aten::copy_":
        actual.pop()
    return actual


def test_a_write_to_a_view_is_a_write_to_what_it_views():
    def function(a):
        b = a + 1
        b.view(-1).add_(1)
        a[0].mul_(2)
        return b

    code = make_fx(functionalize(function))(torch.ones(2, 2)).code
    last = "copy_(a_1, select_scatter);  a_1 = select_scatter = copy_ = None"
    expected = f"""
def forward(self, a_1):
    add = torch.ops.aten.add.Tensor(a_1, 1)
    view = torch.ops.aten.view.default(add, [-1]);  add = None
    add_1 = torch.ops.aten.add.Tensor(view, 1);  view = None
    view_1 = torch.ops.aten.view.default(add_1, [2, 2]);  add_1 = None
    select = torch.ops.aten.select.int(a_1, 0, 0)
    mul = torch.ops.aten.mul.Tensor(select, 2);  select = None
    select_scatter = torch.ops.aten.select_scatter.default(a_1, mul, 0, 0);  mul = None
    copy_ = torch.ops.aten.{last.replace("copy_(", "copy_.default(", 1)}
    return view_1
"""
    assert code.strip() == expected.strip()


_VIEWS = (
    lambda t: t.view(-1),
    lambda t: t.reshape(t.shape[0], -1),
    lambda t: t.t() if t.dim() == 2 else t[:],
    lambda t: t.transpose(0, -1),
    lambda t: t[1:],
    lambda t: t[..., ::2],
    lambda t: t[0] if t.dim() > 1 else t[:],
    lambda t: t.unsqueeze(0),
    lambda t: t.squeeze(),
    lambda t: t.permute(*reversed(range(t.dim()))),
    lambda t: t.split(2)[-1],
    lambda t: t.unbind()[0] if t.dim() > 1 else t[:],
    lambda t: t.diagonal() if t.dim() == 2 else t[:],
    lambda t: t.detach(),
    lambda t: t.chunk(2, -1)[0],
)


def _reshape(t, o):
    t.unsqueeze_(0)


_WRITES = (
    lambda t, o: t.add_(1),
    lambda t, o: t.mul_(t.sum()),
    lambda t, o: t.zero_(),
    lambda t, o: t.copy_(o.sum() * t),
    lambda t, o: t.fill_(0.5),
    lambda t, o: t.clamp_(0.1, 0.7),
    lambda t, o: torch.mul(t.clone(), 3, out=t),
    _reshape,
    lambda t, o: t.add_(o.double().mean()),
    lambda t, o: t.masked_fill_(t > 0.5, 0.25),
)


def program(seed):
    """Views of two tensors, writes to some of them, and reads."""

    def function(a, b):
        choice = random.Random(seed)
        known = [a, b, a * 2]
        read = []
        for _ in range(12):
            number = choice.randrange(len(known))
            tensor, other = known[number], choice.choice(known)
            if choice.random() < 0.5:
                try:
                    known.append(choice.choice(_VIEWS)(tensor))
                except RuntimeError:  # a view that the strides do not permit
                    continue
            else:
                write = choice.choice(_WRITES)
                if write is not _reshape or number > 1:  # no input
                    write(tensor, other)
            read.append(choice.choice(known).sum())
        return [*read, *known[2:]]

    return function


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("block", range(8))
def test_random_programs_do_the_same_without_writes(block, remove):
    for seed in range(block * 10, block * 10 + 10):
        function = program(seed)
        torch.manual_seed(seed)
        arguments = torch.rand(4, 4), torch.rand(4, 2, 4)
        mine, own = [t.clone() for t in arguments], [t.clone() for t in arguments]
        traced = make_fx(functionalize(function, remove=remove), tracing_mode="fake")
        graph = traced(*arguments)
        assert not writes(graph), seed
        for x, y in zip(graph(*mine), function(*own), strict=True):
            assert torch.allclose(x, y), seed  # sums with other strides
        assert all(map(torch.allclose, mine, own)), seed


def test_views_are_copies_where_views_are_removed():
    def function(x):
        y = x.t()
        y.relu_()
        return x.split(1)[0]

    result = functionalize(function, remove="mutations_and_views")
    graph = make_fx(result)(torch.ones(2, 3))
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    assert names[:4] == [
        *("aten.t_copy.default", "aten.relu.default", "aten.t_copy.default"),
        "aten.split_copy.Tensor",
    ]


def test_buffers_are_written_once_and_tracing_writes_nothing():
    norm = nn.BatchNorm1d(3)
    x = torch.randn(5, 3)
    graph = make_fx(functionalize(lambda x: norm(x)), tracing_mode="fake")(x)
    assert not writes(graph)
    assert norm.num_batches_tracked.item() == 0
    expected = nn.BatchNorm1d(3)
    assert torch.equal(graph(x), expected(x))
    assert torch.equal(norm.running_var, expected.running_var)


def test_transforms_may_be_within_and_not_around():
    x = torch.rand(3, 4)

    def function(x):
        return x.clone().mul_(x).sum()

    for transformed in (vmap(function), grad(function)):
        graph = make_fx(functionalize(transformed))(x)
        assert not writes(graph)
        assert torch.allclose(graph(x), transformed(x))
    with pytest.raises(NotImplementedError, match="put it outside"):
        make_fx(vmap(functionalize(function)))(x)


def test_a_functional_graph_serves_other_sizes():
    def function(x):
        x[:, 1:].mul_(2)
        return x.view(-1)

    graph = make_fx(functionalize(function), tracing_mode="symbolic")(torch.ones(5, 7))
    x = torch.rand(3, 9)
    y = x.clone()
    assert torch.equal(graph(x), function(y))
    assert torch.equal(x, y)


def test_inputs_that_share_memory_are_refused_where_one_is_written():
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="share memory"):
        make_fx(functionalize(lambda a, b: a.add_(b)))(x, x[:])


def test_an_input_keeps_its_shape():
    with pytest.raises(NotImplementedError, match="changes the shape"):
        make_fx(functionalize(lambda a: a.t_()))(torch.ones(2, 3))


DECLARED_VIEWS = sorted(
    name
    for name, op in {**REGISTRY, **INTRINSICS}.items()
    if op.kind == "view" and op.schema.arguments[0].name == "self"
)
# Arguments of the views that samples of declared ops do not cover.
SAMPLES = {
    "pellucid::as_strided.geometry": None,  # what autograd calls, in place of a view
    "_conj": (torch.complex64,),
    "_neg_view": (torch.float32,),
    "view_as_real": (torch.complex64,),
    "view_as_complex": (torch.float32,),
    "unbind.int": (torch.float32, 1),
    "split.Tensor": (torch.float32, 2, 1),
    "split_with_sizes": (torch.float32, [1, 3], 1),
}


def calls_of(name):
    """(function, tensor) of a view op."""
    if name not in SAMPLES:
        return [
            (lambda x, call=call: call(x)[0], call.tensors()[0].float())
            for call in native_calls(name)
        ]
    if SAMPLES[name] is None:
        return []
    dtype, *rest = SAMPLES[name]
    op = overload_of(name)

    def run(x):
        made = op(x, *rest)
        return made if isinstance(made, torch.Tensor) else made[-1]

    return [(run, torch.rand(3, 4, 2).to(dtype))]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", DECLARED_VIEWS)
def test_every_declared_view_can_be_written_through(name, remove):
    calls = calls_of(name)
    assert calls or SAMPLES.get(name, ()) is None
    for view, x in calls:

        def function(a, view=view):
            whole = a.clone()
            shown = view(whole)
            shown.copy_(shown * 2 + 1)
            return whole, shown

        try:
            expected = function(x)
        except RuntimeError:  # of a view that shows an element twice
            continue
        graph = make_fx(functionalize(function, remove=remove))(x)
        assert not writes(graph)
        for found, wanted in zip(graph(x), expected, strict=True):
            assert torch.equal(found, wanted), name


# The views of the program, and PyTorch's ops for a write through it.
WRITTEN = {
    "t": (lambda x: x[0].t(), ["t", "select_scatter"]),
    "transpose": (lambda x: x.transpose(0, 2), ["transpose"]),
    "permute": (lambda x: x.permute(2, 0, 1), ["permute"]),
    "diagonal": (lambda x: x.diagonal(0, 1, 2), ["diagonal_scatter"]),
    "chunk": (lambda x: x.chunk(2)[1], ["slice_scatter"]),
    "split": (lambda x: x.split([1, 3, 2])[1], ["slice_scatter"]),
    "unbind": (lambda x: x.unbind(1)[2], ["select_scatter"]),
    "squeeze": (lambda x: x[:1].squeeze(), ["unsqueeze", "slice_scatter"]),
    "squeeze a dim": (lambda x: x[:1].squeeze(0), ["unsqueeze", "slice_scatter"]),
    "unsqueeze": (lambda x: x.unsqueeze(1), ["squeeze"]),
    "view": (lambda x: x.view(-1), ["view"]),
    "unflatten": (lambda x: x.unflatten(0, (2, 3)), ["view"]),
    "movedim": (lambda x: x.movedim(0, 1), ["permute"]),
    "narrow": (lambda x: x.narrow(1, 1, 2), ["slice_scatter"]),
    "as_strided": (lambda x: x.as_strided((2, 2), (3, 1), 1), ["as_strided_scatter"]),
    "detach": (lambda x: x.detach(), []),
    "dtype": (lambda x: x.view(torch.int32), ["view"]),
    "pairs": (lambda x: torch.view_as_complex(x.view(6, 4, 2, 2)), ["view_as_real"]),
    "real": (
        lambda x: torch.view_as_complex(x.view(6, 4, 2, 2)).real,
        ["select_scatter", "view_as_complex", "view_as_real"],
    ),
}


def names_in(graph):
    calls = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    return [
        op._schema.name.removeprefix("aten::") for op in calls if hasattr(op, "_schema")
    ]


@pytest.mark.parametrize("case", WRITTEN)
def test_a_write_through_a_view_is_recorded_as_by_pytorch(case):
    view, expected = WRITTEN[case]

    def function(x):
        whole = x * 1
        view(whole).zero_()
        return whole

    graph = make_fx(functionalize(function))(torch.rand(6, 4, 4))
    x = torch.rand(6, 4, 4)
    assert torch.equal(graph(x), function(x))
    names = names_in(graph)
    after = names[names.index("zero") + 1 :] if "zero" in names else names
    kept = [n for n in after if n in expected]
    assert [n for n in expected if n not in kept] == []


def test_windows_with_gaps_leave_what_they_do_not_show():
    def function(x):
        whole = x * 1
        whole.unfold(0, 2, 3).mul_(2)
        return whole

    graph = make_fx(functionalize(function))(torch.rand(8, 2))
    x = torch.rand(8, 2)
    assert torch.equal(graph(x), function(x))
    assert "as_strided_scatter" in names_in(graph)


def test_windows_that_overlap_are_refused():
    def function(x):
        whole = x * 1
        whole.unfold(0, 3, 1).mul_(2)
        return whole

    with pytest.raises(RuntimeError, match=r"share memory"):
        make_fx(functionalize(function))(torch.rand(8))


def _window(x, offset=1):
    return x.as_strided((2, 2), (4, 1), x.storage_offset() + offset)


def _written(x):
    return _window(x).mul_(3)


def _written_after_another_write(x):
    x.add_(1)
    return _window(x).mul_(3)


def _written_around(x):
    before = _window(x)
    before.mul_(3)
    x.add_(1)
    before[0].mul_(2)
    return _window(x, 2), before


def _of_a_part(x):
    return x[1:].as_strided((2,), (3,)).mul_(5)


def _of_a_result(x):
    whole = x * 2
    _window(whole).mul_(3)
    whole.view(torch.int32).as_strided((3,), (2,), 1).add_(1)
    return whole


BASES = {
    "whole": lambda: torch.arange(12.0).view(3, 4),
    "offset": lambda: torch.arange(20.0)[3:15].view(3, 4),
    "transposed": lambda: torch.arange(12.0).view(3, 4).t(),
    "transposed with an offset": lambda: torch.arange(20.0)[3:15].view(3, 4).t(),
}
WINDOWS = (
    *(_written, _written_after_another_write, _written_around),
    *(_of_a_part, _of_a_result),
)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("program", WINDOWS)
@pytest.mark.parametrize("base", BASES)
def test_as_strided_names_places_in_the_memory(base, program, mode, remove):
    if program is _of_a_result and base.startswith("transposed"):

        def function(x):
            return program(x.contiguous())
    else:
        function = program
    expected_input, actual_input = BASES[base](), BASES[base]()
    expected = function(expected_input)
    transform = functionalize(function, remove=remove)
    graph = make_fx(transform, tracing_mode=mode)(BASES[base]())
    actual = graph(actual_input)
    assert not writes(graph)
    assert torch.equal(actual_input, expected_input)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_a_write_outside_of_the_elements_is_refused():
    transform = functionalize(lambda x: x.as_strided((2,), (1,)).zero_())
    with pytest.raises(RuntimeError, match="outside of a written"):
        make_fx(transform)(torch.arange(12.0)[::2])


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.t()])
def test_windows_of_tensors_in_another_order_have_their_places(view):
    def function(x):
        whole = view(x * 1)
        whole.unfold(0, 2, 3).mul_(2)
        return whole

    graph = make_fx(functionalize(function))(torch.rand(8, 8))
    x = torch.rand(8, 8)
    assert torch.equal(graph(x), function(x))


def test_a_view_op_of_a_program_is_written_by_its_place():
    with torch.library._scoped_library("functional_views", "FRAGMENT") as library:
        library.define("corner(Tensor(a) self) -> Tensor(a)")
        library.impl("corner", lambda x: x[1:, ::2], "CompositeExplicitAutograd")
        corner = torch.ops.functional_views.corner.default

        def function(x):
            whole = x * 1
            corner(whole).mul_(3)
            return whole

        graph = make_fx(functionalize(function))(torch.rand(4, 6))
        x = torch.rand(4, 6)
        assert torch.equal(graph(x), function(x))
        assert not writes(graph)
