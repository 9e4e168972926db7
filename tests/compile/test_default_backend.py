"""``torch.compiler.set_default_backend``: what ``torch.compile`` runs by default."""

import pytest

import pellucid as torch
from pellucid import compiler


@pytest.fixture(autouse=True)
def inductor():
    yield
    compiler.set_default_backend(None)


def test_the_default_backend_gets_the_graph():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    compiler.set_default_backend(backend)
    assert compiler.get_default_backend() is backend
    actual = torch.compile(lambda x: x.sin() + 1)(torch.zeros(2))
    assert actual.tolist() == [1, 1] and len(graphs) == 1
    torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(2))
    compiler.set_default_backend(None)
    torch.compile(lambda x: x + 1)(torch.zeros(2))
    assert compiler.get_default_backend() == "inductor" and len(graphs) == 1


def test_a_backend_is_a_name_or_a_callable():
    with pytest.raises(TypeError, match="not a int"):
        compiler.set_default_backend(3)
