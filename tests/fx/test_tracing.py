"""``symbolic_trace``: nodes, and the generated code."""

import operator

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid.fx.experimental.rewriter import RewritingTracer


@fx.wrap
def opaque(a, b):
    return a * len(b)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.blocks = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor, flip: bool = False):
        y = self.layer(x) * self.scale
        y = self.blocks(y).view(y.size(0), -1)[..., None, 0:1]
        return opaque(y, {"a": (x,)}), x.shape[0], -y


CODE = """
torch.fx._symbolic_trace.wrap("tests_fx_test_tracing_opaque")

def forward(self, x : torch.Tensor, flip : bool = False):
    layer = self.layer(x)
    scale = self.scale
    mul = layer * scale;  layer = scale = None
    blocks_0 = getattr(self.blocks, "0")(mul)
    blocks_1 = getattr(self.blocks, "1")(blocks_0);  blocks_0 = None
    size = mul.size(0);  mul = None
    view = blocks_1.view(size, -1);  blocks_1 = size = None
    getitem = view[(Ellipsis, None, slice(0, 1, None))];  view = None
    opaque = tests_fx_test_tracing_opaque(getitem, {'a': (x,)})
    getattr_1 = x.shape;  x = None
    getitem_1 = getattr_1[0];  getattr_1 = None
    neg = -getitem;  getitem = None
    return (opaque, getitem_1, neg)
    """


def test_the_code_of_a_traced_module_is_the_text_that_programs_compare():
    assert fx.symbolic_trace(Model()).code == CODE


def test_a_traced_module_computes_what_the_module_computes():
    model = Model()
    x = torch.arange(6.0).reshape(3, 2)
    expected, actual = model(x), fx.symbolic_trace(model)(x)
    assert torch.equal(expected[0], actual[0])
    assert actual[1] == 3
    assert torch.equal(expected[2], actual[2])


def test_gradients_pass_through_a_traced_module():
    model = Model()
    nn.init.ones_(model.layer.weight)
    traced = fx.symbolic_trace(model)
    traced(torch.ones(1, 2))[2].sum().backward()
    assert traced.scale is model.scale
    assert torch.count_nonzero(model.layer.weight.grad) > 0


def test_the_graph_prints_users_targets_and_defaults():
    def function(x, y=2):
        return torch.relu(x) + y

    assert str(fx.symbolic_trace(function).graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y](default=2)\n"
        "    %relu : [num_users=1] = call_function[target=torch.relu]"
        "(args = (%x,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add]"
        "(args = (%relu, %y), kwargs = {})\n"
        "    return add"
    )


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def test_a_branch_on_a_value_is_refused_with_its_line():
    with pytest.raises(fx.proxy.TraceError, match=r"if x\.sum\(\) > 0:"):
        fx.symbolic_trace(branches)


def test_a_loop_over_a_value_is_refused():
    with pytest.raises(fx.proxy.TraceError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: [y for y in x])


def test_unpacking_into_names_is_recorded():
    def function(x):
        a, b = x.chunk(2)
        return a - b

    x = torch.tensor([1.0, 5.0])
    assert fx.symbolic_trace(function)(x).tolist() == [-4.0]


def test_concrete_arguments_are_constants_that_the_code_checks():
    def function(x, add=True):
        return x + 1 if add else x

    traced = fx.symbolic_trace(function, concrete_args={"add": True})
    assert traced(torch.zeros(1), True).tolist() == [1.0]
    with pytest.raises(AssertionError, match="specialized to have value True"):
        traced(torch.zeros(1), False)


def test_containers_of_arguments_are_flattened():
    def function(pair, table):
        return {"sum": pair[0] + pair[1] * table["a"]}

    concrete = {"pair": (fx.PH, fx.PH), "table": {"a": fx.PH}}
    traced = fx.symbolic_trace(function, concrete_args=concrete)
    one = torch.ones(1)
    assert traced((one, one), {"a": one * 3})["sum"].tolist() == [4.0]
    assert [n.op for n in traced.graph.nodes][:3] == ["placeholder"] * 3


def test_a_tracer_may_look_into_every_module():
    class Deep(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    graph = Deep().trace(Model())
    targets = {node.target for node in graph.nodes if node.op == "call_function"}
    assert torch.nn.functional.linear in targets
    assert not graph.find_nodes(op="call_module", target="layer")


def test_tensors_of_the_program_become_attributes():
    constant = torch.ones(2)
    traced = fx.symbolic_trace(lambda x: x + constant)
    (node,) = traced.graph.find_nodes(op="get_attr")
    assert getattr(traced, node.target) is constant


def test_tracing_takes_its_patches_back():
    before = nn.Module.__call__, nn.Module.__getattribute__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(branches)
    assert (nn.Module.__call__, nn.Module.__getattribute__) == before
    assert opaque(2, "ab") == 4


def test_operators_of_every_kind_are_recorded():
    def function(x, y):
        return abs(~(x & 3) | (y << 1)) ** 2 % 5 // 2 != 1 - x

    traced = fx.symbolic_trace(function)
    x, y = torch.arange(4), torch.arange(4)
    assert torch.equal(traced(x, y), function(x, y))
    targets = [n.target for n in traced.graph.nodes if n.op == "call_function"]
    assert operator.invert in targets
    assert operator.floordiv in targets


def test_operands_of_einsum_are_recorded_one_by_one():
    def product(a, b):
        return torch.einsum("ij,jk->ik", [a, b])

    traced = fx.symbolic_trace(product)
    (node,) = traced.graph.find_nodes(op="call_function", target=torch.einsum)
    assert [str(arg) for arg in node.args] == ["ij,jk->ik", "a", "b"]
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    assert torch.equal(traced(a, b), product(a, b))


def test_a_rewriting_tracer_records_assertions_of_called_functions_too():
    program = {}  # pytest rewrites the asserts of this file
    exec(
        """
def shifted(x):
    assert x.sum() > 0
    return x + 1

def positive(x):
    assert x.dim() == 2
    return shifted(x)
""",
        program,
    )
    tracer = RewritingTracer()
    graph = tracer.trace(program["positive"])
    module = fx.GraphModule(tracer.root, graph)
    assert len(graph.find_nodes(op="call_function", target=torch._assert)) == 2
    assert module(torch.ones(2, 2)).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(AssertionError):
        module(-torch.ones(2, 2))
