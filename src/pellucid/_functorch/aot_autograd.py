"""Ahead-of-time autograd: a compiler receives forward and backward as two graphs.

The function and its gradients are traced on fake tensors into one joint graph, a
partitioner cuts it, and the compiled halves run as one autograd node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._functorch.partitioners import default_partition
from pellucid._subclasses.fake_tensor import FakeTensorMode
from pellucid.func import functional_call
from pellucid.fx.experimental.proxy_tensor import trace_once
from pellucid.fx.graph_module import GraphModule
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

__all__ = [
    "aot_export_joint_simple",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "make_boxed_compiler",
    "make_boxed_func",
]

Compiler = Callable[..., Any]


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """``f`` as a function of one list of arguments."""

    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Compiler) -> Compiler:
    """A compiler whose results take one list of arguments."""

    @functools.wraps(compiler)
    def compile_boxed(module: GraphModule, inputs: Sequence[Any]) -> Any:
        return make_boxed_func(compiler(module, inputs))

    return compile_boxed


def _run(compiled: Any, args: list[Any]) -> list[Any]:
    result = (
        compiled(args) if getattr(compiled, "_boxed_call", False) else compiled(*args)
    )
    return list(result) if isinstance(result, tuple | list) else [result]


class _Traced:
    """A function of flat arguments, with the two compiled graphs and what they give."""

    def __init__(
        self,
        flat_fn: Callable[..., list[Any]],
        args: list[Any],
        fw_compiler: Compiler,
        bw_compiler: Compiler,
        partition_fn: Callable[..., Any],
        decompositions: Any,
        inference_compiler: Compiler | None,
    ) -> None:
        self.needs_grad = pellucid.is_grad_enabled() and any(
            isinstance(a, Tensor) and a.requires_grad for a in args
        )
        table = {"decomposition_table": decompositions}
        if not self.needs_grad:
            graph = trace_once(
                _named(flat_fn, len(args)), tuple(args), FakeTensorMode(), **table
            )
            compiler = inference_compiler or fw_compiler
            self.forward = compiler(graph, args)
            return
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fake = [mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
            outputs = flat_fn(*fake)
        self.is_differentiable = [
            isinstance(o, Tensor) and o.requires_grad for o in outputs
        ]
        joint = self._joint(flat_fn, args, outputs, table)
        first, second = partition_fn(joint, args, num_fwd_outputs=len(outputs))
        self.num_outputs = len(outputs)
        self.forward = fw_compiler(first, args)
        examples = [
            n.meta.get("val") for n in second.graph.find_nodes(op="placeholder")
        ]
        self.backward = bw_compiler(second, examples)
        self.function = _autograd_function(self)

    def _joint(
        self, flat_fn: Any, args: list[Any], outputs: list[Any], table: Any
    ) -> GraphModule:
        own = [
            o
            for o, is_own in zip(outputs, self.is_differentiable, strict=True)
            if is_own
        ]
        count = len(args)

        def joint(*values: Any) -> Any:
            primals, tangents = values[:count], values[count:]
            results = flat_fn(*primals)
            leaves = [p for p in primals if isinstance(p, Tensor) and p.requires_grad]
            roots = [
                r
                for r, is_own in zip(results, self.is_differentiable, strict=True)
                if is_own
            ]
            found = iter(
                pellucid.autograd.grad(roots, leaves, tangents, allow_unused=True)
            )
            gradients = [
                next(found) if isinstance(p, Tensor) and p.requires_grad else None
                for p in primals
            ]
            return (*results, *gradients)

        names = [f"primals_{i + 1}" for i in range(count)]
        names += [f"tangents_{i + 1}" for i in range(len(own))]
        tangents = [pellucid.empty_like(_meta(o)) for o in own]
        given = (*args, *(_cpu_like(t) for t in tangents))
        graph = trace_once(joint, given, FakeTensorMode(), **table)
        for node, name in zip(
            graph.graph.find_nodes(op="placeholder"), names, strict=True
        ):
            node.target = node.name = name
        graph.recompile()
        return graph

    def __call__(self, args: list[Any]) -> list[Any]:
        if not self.needs_grad:
            return _run(self.forward, args)
        return list(self.function.apply(*args))


def _meta(tensor: Any) -> Tensor:
    inner: Tensor = tensor._meta
    return inner


def _cpu_like(meta: Tensor) -> Tensor:
    with FakeTensorMode():
        return pellucid.empty(tuple(meta.shape), dtype=meta.dtype)


def _named(flat_fn: Any, count: int) -> Callable[..., Any]:
    def primals(*args: Any) -> Any:
        return tuple(flat_fn(*args))

    return primals


def _autograd_function(traced: _Traced) -> Any:
    class CompiledFunction(pellucid.autograd.Function):
        """Runs the compiled halves."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            results = _run(traced.forward, list(args))
            outputs, saved = (
                results[: traced.num_outputs],
                results[traced.num_outputs :],
            )
            tensors = [s for s in saved if isinstance(s, Tensor)]
            ctx.save_for_backward(*tensors)
            ctx.others = [None if isinstance(s, Tensor) else s for s in saved]
            ctx.is_tensor = [isinstance(s, Tensor) for s in saved]
            ctx.mark_non_differentiable(
                *(
                    o
                    for o, is_own in zip(outputs, traced.is_differentiable, strict=True)
                    if isinstance(o, Tensor) and not is_own
                )
            )
            return tuple(outputs)

        @staticmethod
        def backward(ctx: Any, *tangents: Any) -> Any:
            tensors = iter(ctx.saved_tensors)
            saved = [
                next(tensors) if is_tensor else other
                for is_tensor, other in zip(ctx.is_tensor, ctx.others, strict=True)
            ]
            own = [
                t.contiguous()
                for t, is_own in zip(tangents, traced.is_differentiable, strict=True)
                if is_own
            ]
            return tuple(_run(traced.backward, [*saved, *own]))

    return CompiledFunction


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Any] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
    **settings: Any,
) -> Callable[..., Any]:
    """``fn`` run by what the compilers make of its forward and backward graphs.

    ``fw_compiler(graph_module, example_inputs)`` gives a callable of the graph's
    inputs, as does ``bw_compiler`` (by default the same). Graphs are made for each set
    of shapes and dtypes.

    Example::

        def show(graph_module, inputs):
            print(graph_module.code)
            return make_boxed_func(graph_module)

        aot_function(lambda x: x.sin().sum(), show)(x).backward()
    """
    made: dict[Any, tuple[_Traced, Any]] = {}

    def compiled(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (str(spec), pellucid.is_grad_enabled(), *map(_facts, leaves))
        if key not in made:
            out_specs: list[Any] = []

            def flat_fn(*values: Any) -> list[Any]:
                own_args, own_kwargs = pytree.tree_unflatten(list(values), spec)
                flat, out_spec = pytree.tree_flatten(fn(*own_args, **own_kwargs))
                out_specs.append(out_spec)
                return flat

            traced = _Traced(
                *(flat_fn, leaves, fw_compiler, bw_compiler or fw_compiler),
                *(partition_fn, decompositions, inference_compiler),
            )
            made[key] = traced, out_specs[-1]
        traced, out_spec = made[key]
        return pytree.tree_unflatten(traced(leaves), out_spec)

    return functools.wraps(fn)(compiled) if hasattr(fn, "__name__") else compiled


def _facts(value: Any) -> Any:
    if isinstance(value, Tensor):
        return (*value.shape, value.dtype, value.requires_grad, value.stride())
    return value


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module whose ``forward`` runs by ``aot_function``; it shares the parameters."""

    def call(named: dict[str, Tensor], args: Any, kwargs: Any) -> Any:
        return functional_call(mod, named, args, kwargs)

    compiled = aot_function(call, *args, **kwargs)

    class AOTModule(Module):
        """The module with compiled calls."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            named = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
            return compiled(named, args, kwargs)

    return AOTModule()


def aot_module_simplified(
    mod: Module,
    args: Sequence[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Any] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    **settings: Any,
) -> Callable[..., Any]:
    """As ``aot_module`` for flat arguments: what backends of ``torch.compile`` call.

    The compilers run at once, and again for arguments of other shapes. The graphs take
    parameters and buffers before the arguments.
    """
    named = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    names, values = list(named), list(named.values())
    specs: list[Any] = []

    def flat_fn(*flat: Any) -> list[Any]:
        own = dict(zip(names, flat[: len(names)], strict=True))
        result = functional_call(mod, own, flat[len(names) :])
        leaves, spec = pytree.tree_flatten(result)
        specs.append(spec)
        return leaves

    made: dict[Any, tuple[_Traced, Any]] = {}

    def traced_for(flat: list[Any]) -> tuple[_Traced, Any]:
        key = (pellucid.is_grad_enabled(), *map(_facts, flat))
        if key not in made:
            traced = _Traced(
                *(flat_fn, flat, fw_compiler, bw_compiler or fw_compiler),
                *(partition_fn, decompositions, inference_compiler),
            )
            made[key] = traced, specs[-1]
        return made[key]

    def forward(*runtime_args: Any) -> Any:
        flat = [*values, *runtime_args]
        traced, spec = traced_for(flat)
        return pytree.tree_unflatten(traced(flat), spec)

    traced_for([*values, *args])
    return forward


def aot_export_joint_simple(
    func: Callable[..., Any], args: Sequence[Any], *, trace_joint: bool
) -> GraphModule:
    """The graph of a flat function; with its gradients if ``trace_joint``."""
    modules: list[GraphModule] = []

    def keep(
        module: GraphModule, num_fwd_outputs: int
    ) -> tuple[GraphModule, GraphModule]:
        modules.append(module)
        return default_partition(module, num_fwd_outputs=num_fwd_outputs)

    def keep_forward(module: GraphModule, inputs: Any) -> GraphModule:
        if not trace_joint:
            modules.append(module)
        return module

    def partition(module: GraphModule, inputs: Any, *, num_fwd_outputs: int) -> Any:
        return keep(module, num_fwd_outputs)

    _Traced(
        lambda *a: pytree.tree_leaves(func(*a)),
        *(list(args), keep_forward, keep_forward, partition, None, None),
    )
    return modules[0]
