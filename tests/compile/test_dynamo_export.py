"""``torch._dynamo.export``, a stance's backend, custom ops in compiled callables."""

import numpy as np
import pytest

import pellucid as torch
from pellucid._dynamo.exc import Unsupported


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x, by, *, unused=None):
        y = self.layer(x) * by["scale"] + self.shift
        return {"y": y, "x": x, "n": 3, "sums": (y.sum(),)}


def test_a_graph_takes_and_gives_what_the_module_does():
    module, x = Scaled(), torch.randn(4, 3)
    given = (x, {"scale": torch.tensor(2.0)})
    graph, guards = torch._dynamo.export(module)(*given, unused=torch.ones(1))
    assert guards is not None
    assert len(list(graph.parameters())) == 2
    other = (torch.randn(4, 3), {"scale": torch.tensor(-1.0)})
    found, expected = graph(*other, unused=torch.ones(1)), module(*other)
    assert list(found) == list(expected)
    assert found["n"] == 3
    assert found["x"] is other[0]
    torch.testing.assert_close(found["y"], expected["y"])
    torch.testing.assert_close(found["sums"], expected["sums"])


def test_a_graph_of_ops():
    graph, _ = torch._dynamo.export(lambda x: x.sin() + 1, aten_graph=True)(
        torch.ones(3)
    )
    assert "torch.ops.aten.sin.default" in graph.code
    assert graph(torch.zeros(3)).tolist() == [1, 1, 1]


def test_settings_are_not_given_to_the_callable():
    accepted = {"assume_static_by_default": True, "disable_constraint_solver": True}
    graph, _ = torch._dynamo.export(torch.sin, torch.ones(3), **accepted)
    assert graph(torch.zeros(3)).tolist() == [0, 0, 0]
    for refused in ({"same_signature": False}, {"dynamic_shapes": {"x": None}}):
        with pytest.raises(NotImplementedError, match=next(iter(refused))):
            torch._dynamo.export(torch.sin, torch.ones(3), **refused)


def test_a_graph_that_ends_is_refused():
    with pytest.raises(Unsupported, match=r"test_dynamo_export\.py"):
        torch._dynamo.export(lambda x: x if x.sum() > 0 else -x)(torch.ones(3))


def test_a_stance_replaces_backends():
    seen = []

    def backend(graph, examples):
        seen.append(graph)
        return graph

    def refused(graph, examples):
        raise AssertionError("the stance has another backend")

    by_default = torch.compile(lambda x: x * 2)
    by_other = torch.compile(lambda x: x + 1, backend=refused)
    x = torch.ones(2)
    by_default(x)
    with torch.compiler.set_stance(force_backend=backend):
        assert by_default(x).tolist() == [2, 2]
        assert by_other(x).tolist() == [2, 2]
    assert len(seen) == 2
    by_default(x)
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="default"):
        torch.compiler.set_stance("force_eager", force_backend="eager")


def test_a_custom_op_is_opaque_to_a_whole_graph():
    with torch.library._scoped_library("opaque", "FRAGMENT"):

        @torch.library.custom_op("opaque::sine", mutates_args=())
        def sine(x: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(np.sin(x.detach().numpy()))

        compiled = torch.compile(lambda x: sine(x * 2) + 1, fullgraph=True)
        x = torch.randn(5)
        for _ in range(3):
            torch.testing.assert_close(compiled(x), torch.sin(x * 2) + 1)


def test_a_custom_op_that_writes_runs_on_copies():
    with torch.library._scoped_library("opaque", "FRAGMENT"):

        @torch.library.custom_op("opaque::grow", mutates_args={"x"})
        def grow(x: torch.Tensor) -> None:
            x.add_(1)

        class Grown(torch.nn.Module):
            def forward(self, x):
                grow(x)
                return x * 2

        program = torch.export.export(Grown(), (torch.ones(2),)).run_decompositions()
        given = torch.zeros(2)
        assert program.module()(given).tolist() == [2, 2]
        assert given.tolist() == [1, 1]
        assert program.graph_signature.user_inputs_to_mutate
