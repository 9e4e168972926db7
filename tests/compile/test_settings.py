"""``torch.compiler`` and ``torch._dynamo``: switches, marks and counters."""

import numpy
import pytest

import pellucid as torch
from pellucid._dynamo.exc import Unsupported

N = 1 << 16  # enough elements for two ops to be worth a region


def recorded_by(function, *args):
    before = torch._C._recording_counts()[0]
    function(*args)
    return torch._C._recording_counts()[0] - before


def test_stances_switch_recording_off():
    compiled = torch.compile(lambda x: x * 2 + 1)
    x = torch.ones(N)
    assert recorded_by(compiled, x) == 2
    with torch.compiler.set_stance("force_eager"):
        assert recorded_by(compiled, x) == 0
    assert recorded_by(compiled, x) == 2

    @torch.compiler.set_stance("force_eager")
    def eager(x):
        return compiled(x)

    assert recorded_by(eager, x) == 0
    assert recorded_by(compiled, x) == 2
    with pytest.raises(RuntimeError, match="stance"):
        torch.compiler.set_stance("fast")


def test_disabled_functions_run_at_once():
    @torch.compiler.disable
    def inner(x):
        return x * 3

    @torch.compile
    def outer(x):
        return inner(x) + 1

    x = torch.ones(N)
    assert recorded_by(outer, x) == 1
    assert torch.equal(outer(x), x * 3 + 1)
    with pytest.raises(Unsupported, match="inner"):
        torch.compile(lambda x: inner(x), fullgraph=True)(x)
    assert torch._dynamo.disable(inner)(x)[0] == 3


def test_config_is_patched_for_a_scope():
    compiled = torch.compile(lambda x: x * 2 + 1)
    with torch._dynamo.config.patch(disable=True):
        assert recorded_by(compiled, torch.ones(N)) == 0
    assert recorded_by(compiled, torch.ones(N)) == 2
    with pytest.raises(AttributeError, match="does not exist"):
        torch._dynamo.config.patch(nope=1).__enter__()


def test_marks_check_their_dimensions():
    x = torch.ones(2, 3)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_static(x, [0, -1])
    with pytest.raises(IndexError, match="2 dimensions"):
        torch._dynamo.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="tensor"):
        torch._dynamo.mark_static_address(3)


def test_counters_count_callables():
    torch._dynamo.reset()
    torch.compile(lambda x: x + 1)(torch.ones(3))
    assert torch._dynamo.utils.counters["frames"] == {"total": 1, "ok": 1}
    torch._dynamo.reset()
    assert not torch._dynamo.utils.counters


def test_graph_breaks_run_what_was_recorded():
    @torch.compile
    def breaks(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    x = torch.ones(N)
    assert torch.equal(breaks(x), x * 2 + 1)
    with pytest.raises(Unsupported, match="break"):
        torch.compile(breaks, fullgraph=True)(x)


def test_numpy_functions_take_tensors():
    @torch.compiler.wrap_numpy
    def norm(a):
        return numpy.sqrt((a**2).sum(axis=1))

    x = torch.ones(3, 4)
    assert torch.equal(norm(x), torch.full((3,), 2.0))
    assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()


def test_backends_are_named():
    def mine(graph, example_inputs):
        return graph.forward

    torch._dynamo.register_backend(mine, name="mine")
    try:
        assert "mine" in torch._dynamo.list_backends()
        assert torch._dynamo.lookup_backend("mine") is mine
        compiled = torch.compile(lambda x: x * 2, backend="mine")
        assert compiled(torch.ones(2))[0] == 2
    finally:
        del torch._dynamo.backends.registry._BACKENDS["mine"]
    assert "eager" in torch._dynamo.list_backends(None)
    eager = torch.compile(lambda x: x * 2 + 1, backend="eager")
    assert recorded_by(eager, torch.ones(N)) == 0


def test_dynamo_explains_breaks():
    def breaks(x):
        y = x * 2 + 1
        return y / y.sum().item() - 1

    actual = torch._dynamo.explain(breaks)(torch.ones(N + 1))
    assert (actual.graph_count, actual.graph_break_count, actual.op_count) == (2, 1, 5)
    assert "item needs" in actual.break_reasons[0].reason
