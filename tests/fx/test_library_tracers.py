"""Tracers of libraries that patch modules by themselves, and copies of GraphModules."""

import copy

import pellucid as torch
from pellucid.fx import _symbolic_trace as tracing
from pellucid.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, _CodeOnlyModule


class _Own(torch.fx.Tracer):
    """Records the calls of its root by its own patch of the module's class."""

    def trace(self, root, concrete_args=None):
        self.root, forward = root, type(root).forward
        assert isinstance(forward, tracing.FunctionType)
        self.submodule_paths = {m: name for name, m in root.named_modules()}
        self.graph = torch.fx.Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        names = forward.__globals__
        forward, args = self.create_args_for_root(forward, True, concrete_args)

        @tracing.functools.wraps(tracing._orig_module_call)
        def call(module, *args, **kwargs):
            def plain(*args, **kwargs):
                return tracing._orig_module_call(module, *args, **kwargs)

            return self.call_module(module, plain, args, kwargs)

        with tracing._Patcher() as patcher:
            patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
            tracing._patch_wrapped_functions(patcher)
            tracing._autowrap_check(patcher, names, self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(forward(*args)),), {})
        self.submodule_paths = None
        return self.graph


class _Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


def test_a_tracer_may_patch_modules_itself():
    model, call = _Net(), torch.nn.Module.__call__
    graph = _Own().trace(model)
    assert torch.nn.Module.__call__ is call
    wanted = ["placeholder", "call_module", "call_method", "call_module", "output"]
    assert [node.op for node in graph.nodes] == wanted
    x = torch.randn(5, 3)
    assert torch.fx.GraphModule(model, graph)(x).equal(model(x))


def test_a_function_is_patched_once_unless_it_may_be_again():
    names = {"f": len}
    with tracing._Patcher() as patcher:
        patcher.patch(names, "f", lambda x: 1)
        assert getattr(names["f"], "__fx_already_patched", False)
        patcher.patch(names, "f", lambda x: 2, deduplicate=False)
        assert names["f"]([]) == 2
        assert not hasattr(names["f"], "__fx_already_patched")
    assert names == {"f": len}


def test_copies_have_the_attributes_that_meta_preserves():
    traced = torch.fx.symbolic_trace(_Net())
    traced.meta[_USER_PRESERVED_ATTRIBUTES_KEY] = {"source": "a file"}
    assert copy.deepcopy(traced).source == "a file"
    held = _CodeOnlyModule(dict(traced.__dict__))
    assert held.first is traced.first and isinstance(held, torch.nn.Module)
