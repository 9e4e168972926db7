"""Settings modules, backends that record, packages of programs, levels of logging."""

import logging

import pytest

import pellucid as torch
import pellucid._functorch.config as functorch_config
import pellucid._inductor.config as inductor_config
import pellucid.compiler.config as compiler_config
from pellucid._dynamo import config
from pellucid._dynamo.testing import (
    AotEagerAndRecordGraphs,
    CompileCounter,
    CompileCounterWithBackend,
    EagerAndRecordGraphs,
    rand_strided,
    same,
)
from pellucid._functorch.exports.compile import memory_efficient_fusion


@pytest.mark.parametrize(
    "module", [config, functorch_config, inductor_config, compiler_config]
)
def test_settings_are_set_in_scopes_and_unknown_ones_refused(module):
    before = module.get_config_copy()
    assert before and all(not callable(value) for value in before.values())
    with pytest.raises(AttributeError, match="does not exist"):
        module.no_such_setting = 1
    with pytest.raises(AttributeError, match="does not exist"):
        module.patch(no_such_setting=1).__enter__()
    stored = module.save_config()
    name = next(iter(before))
    with module.patch({name: "changed"}):
        assert module.get_config_copy()[name] == "changed"
    assert module.get_config_copy() == before
    setattr(module, name, "changed")
    module.load_config(stored)
    assert module.get_config_copy() == before


def test_groups_and_aliases_of_settings():
    with inductor_config.patch("triton.cudagraphs", True):
        assert inductor_config.triton.cudagraphs
    assert not inductor_config.triton.cudagraphs
    with pytest.raises(AttributeError, match="no_such"):
        inductor_config.triton.no_such = 1

    @config.patch(cache_size_limit=3)
    def inside():
        return config.recompile_limit, config.cache_size_limit

    assert inside() == (3, 3)
    inductor_config.post_grad_fusion_options["a"] = {}
    copied = inductor_config.get_config_copy()["post_grad_fusion_options"]
    assert (
        copied.pop("a") == {}
        and inductor_config.post_grad_fusion_options.pop("a") == {}
    )
    assert config.cache_size_limit == config.recompile_limit == 8
    assert torch._inductor.list_mode_options("reduce-overhead")
    assert set(torch._inductor.list_options()) >= {"max_autotune", "triton.cudagraphs"}


def test_backends_count_and_keep_graphs():
    def f(x):
        return x.sin() + 1

    x = torch.randn(3, requires_grad=True)
    for counter in (CompileCounter(), CompileCounterWithBackend("aot_eager")):
        compiled = torch.compile(f, backend=counter)
        assert torch.equal(compiled(x), f(x)) and torch.equal(compiled(x), f(x))
        assert (counter.frame_count, counter.op_count) == (1, 2)
        counter.clear()
        assert counter.op_count == 0
    kept, both = EagerAndRecordGraphs(), AotEagerAndRecordGraphs()
    torch.compile(f, backend=kept)(x)
    assert len(kept.graphs) == 1 and "sin" in kept.graphs[0].code
    torch.compile(f, backend=both)(x).sum().backward()
    assert "aten.cos" in both.bw_graphs[0].code and len(both.fw_graphs) == 1


def test_results_are_compared_within_bounds():
    a = torch.randn(8)
    assert same([a, {"k": 1}], [a + 1e-6, {"k": 1}])
    assert not same([a], [a + 1]) and not same([a], (a,)) and not same(a, a.double())
    assert not same(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    assert same(*[torch.tensor([float("nan")])] * 2, equal_nan=True)
    exact = a.double()
    assert not same(a + 0.1, a - 0.1, fp64_ref=None)
    assert same(a + 0.1, a - 0.1, fp64_ref=exact)  # as far from the exact result
    assert not same(a + 0.1, a - 0.5, fp64_ref=exact)
    assert same(a, a * 5, cos_similarity=True)
    made = rand_strided((3, 2), (1, 3))
    assert made.shape == (3, 2) and made.stride() == (1, 3)


def test_a_package_runs_without_the_models_code(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    x = torch.randn(4, 3)
    program = torch.export.export(model, (x,))
    path = str(tmp_path / "model.pt2")
    assert torch._inductor.aoti_compile_and_package(program, package_path=path) == path
    loaded = torch._inductor.aoti_load_package(path)
    assert torch.equal(loaded(x), model(x)) and not loaded(x).requires_grad
    names = loaded.get_constant_fqns()
    assert names == ["0.weight", "0.bias"]
    managed = torch.full((2, 3), -1.0)
    loaded.load_constants(
        {"0.weight": managed}, check_full_update=False, user_managed=True
    )
    managed.zero_()
    loaded.load_constants({"0.bias": torch.full((2,), 9.0)}, check_full_update=False)
    assert loaded(x).min() > 1
    with pytest.raises(ValueError, match="missing"):
        loaded.load_constants({"0.bias": torch.ones(2)}, check_full_update=True)
    with pytest.raises(AssertionError, match=r"\.pt2"):
        torch._inductor.aoti_compile_and_package(program, package_path="model.so")
    with pytest.raises(RuntimeError, match="Unexpected optimization option"):
        torch._inductor.aoti_compile_and_package(program, inductor_configs={"no": 1})
    with pytest.raises(ValueError, match="ExportedProgram"):
        torch._inductor.aoti_compile_and_package(model, package_path=path)


def test_levels_of_logging_are_set_and_unknown_components_refused():
    torch._logging.set_logs(dynamo=logging.DEBUG, graph_breaks=True)
    assert logging.getLogger("pellucid._dynamo").level == logging.DEBUG
    torch._logging.set_logs(modules={"torch.fx.graph": logging.INFO})
    assert logging.getLogger("pellucid._dynamo").level == logging.NOTSET
    assert logging.getLogger("pellucid.fx.graph").level == logging.INFO
    torch._logging.set_logs()
    assert logging.getLogger("pellucid.fx.graph").level == logging.NOTSET
    with pytest.raises(ValueError, match="Unrecognized"):
        torch._logging.set_logs(dynamoo=1)


def test_programs_see_that_they_are_exported():
    seen = []

    class Asking(torch.nn.Module):
        def forward(self, x):
            seen.append((torch.compiler.is_exporting(), torch.compiler.is_compiling()))
            return x + 1

    torch.export.export(Asking(), (torch.ones(2),))
    assert set(seen) == {(True, True)}
    Asking()(torch.ones(2))
    assert seen[-1] == (False, False)


def test_fusion_for_memory_keeps_gradients():
    fused = memory_efficient_fusion(lambda x: x.sin().cos().sum())
    x = torch.randn(5, requires_grad=True)
    fused(x).backward()
    expected = -x.sin().sin() * x.cos()
    torch.testing.assert_close(x.grad, expected.detach())


def test_options_are_checked_by_name_and_type():
    known = {"compile_threads": 1, "cuda.arch": "80", "post_grad_fusion_options": {}}
    for options in ({"max_autotune": True}, known, {"replay": "never"}):
        assert torch.compile(lambda x: x + 1, options=options)(torch.ones(1)) == 2
    with pytest.raises(RuntimeError, match="Unexpected optimization option"):
        torch.compile(lambda x: x, options={"nonsense.x": True})
    with pytest.raises(RuntimeError, match="got int should be bool"):
        torch.compile(lambda x: x, options={"max_autotune": 1})
