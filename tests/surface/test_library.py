"""``torch.library``: ops and kernels of libraries, and what ends with them."""

import gc
import os
import subprocess
import sys

import pytest

import pellucid as torch
from pellucid.library import (
    Library,
    custom_op,
    fallthrough_kernel,
    get_kernel,
    impl,
    infer_schema,
)


@pytest.fixture
def library(request):
    result = Library(f"library_tests_{abs(hash(request.node.name))}", "DEF")
    yield result
    result._destroy()


def op_of(library, name="f"):
    return getattr(getattr(torch.ops, library.ns), name)


@pytest.fixture
def plus_one(library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CPU")
    return op_of(library)


def test_kernels_of_keys_and_backends(library, plus_one):
    library.impl("f", lambda x: torch.empty_like(x), "Meta")
    library.impl("f", lambda x: x * 5, "AutogradCPU")
    x = torch.ones(2)
    assert plus_one(x).tolist() == [2, 2]
    assert plus_one(x.clone().requires_grad_()).tolist() == [5, 5]
    assert plus_one(torch.ones(2, device="meta", requires_grad=True)).is_meta


def test_a_kernel_may_come_before_its_op(library):
    library.impl("f", lambda x: x * 3, "CPU")
    with pytest.raises(AttributeError, match="has no attribute 'f'"):
        op_of(library)
    library.define("f(Tensor x) -> Tensor")
    assert op_of(library)(torch.ones(1)).item() == 3


def test_what_a_library_added_ends_with_it():
    library = Library("library_tests_end", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", torch.sin, "CPU")
    overload = torch.ops.library_tests_end.f.default
    assert overload(torch.zeros(1)).item() == 0
    del library
    gc.collect()
    assert not hasattr(torch.ops.library_tests_end, "f")
    with pytest.raises(NotImplementedError, match="Could not run"):
        overload(torch.zeros(1))
    Library("library_tests_end", "DEF")._destroy()


def test_kernels_of_other_ops_are_replaced_and_restored():
    x = torch.zeros(3)
    with torch.library._scoped_library("aten", "IMPL") as first:
        first.impl("sin", lambda x: torch.full_like(x, 7), "CPU")
        assert torch.sin(x).tolist() == [7, 7, 7]
        with torch.library._scoped_library("aten", "IMPL") as second:
            with pytest.warns(UserWarning, match="aten::sin has a kernel for CPU"):
                second.impl("sin", lambda x: torch.full_like(x, 8), "CPU")
            assert x.sin().tolist() == [8, 8, 8]
        assert torch.sin(x).tolist() == [7, 7, 7]
    assert torch.sin(x).tolist() == [0, 0, 0]


def test_the_kernel_that_was_there():
    plain = get_kernel("aten::exp", "CPU")
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl(
            "exp",
            lambda keys, x: 2 * plain.call_boxed(keys, x),
            "CPU",
            with_keyset=True,
        )
        assert torch.exp(torch.zeros(1)).item() == 2
    with pytest.raises(RuntimeError, match="no kernel at CUDA"):
        get_kernel("aten::exp", "CUDA")


def test_the_keys_of_a_call(library):
    library.define("f(Tensor x) -> Tensor")
    seen = []

    def outer(keys, x):
        seen.append(keys)
        return op_of(library).default.redispatch(keys - autograd, x)

    autograd = torch._C.DispatchKeySet(torch._C.DispatchKey.Autograd)
    library.impl("f", outer, "AutogradCPU", with_keyset=True)
    library.impl(
        "f", lambda keys, x: (seen.append(keys), x + 1)[1], "CPU", with_keyset=True
    )
    assert op_of(library)(torch.ones(1, requires_grad=True)).item() == 2
    assert torch._C.DispatchKey.AutogradCPU in seen[0]
    assert seen[0].highestPriorityTypeId() is torch._C.DispatchKey.AutogradCPU
    assert not seen[1].has(torch._C.DispatchKey.AutogradCPU)
    assert seen[1].has(torch._C.DispatchKey.CPU)
    assert str(torch._C._dispatch_keys(torch.ones(1))) == "DispatchKeySet(CPU)"


def test_a_kernel_that_falls_through(library, plus_one):
    library.impl("f", lambda x: x * 9, "Autograd")
    x = torch.ones(1, requires_grad=True)
    assert plus_one(x).item() == 9
    with pytest.warns(UserWarning, match="has a kernel for Autograd already"):
        library.impl("f", fallthrough_kernel, "Autograd")
    y = plus_one(x)
    assert y.item() == 2 and y.requires_grad


def test_a_kernel_of_sparse_tensors_that_falls_through_under_vmap(library):
    library.define("f(Tensor x, Tensor y) -> Tensor")
    library.impl("f", lambda x, y: y + 1, "CompositeExplicitAutograd")
    library.impl("f", fallthrough_kernel, "SparseCPU")
    sparse = torch.eye(2).to_sparse()
    found = torch.vmap(lambda y: op_of(library)(sparse, y))(torch.ones(3))
    assert found.tolist() == [2, 2, 2]


def test_a_kernel_for_every_op():
    seen = []

    def record(op, *args, **kwargs):
        seen.append(op)
        return torch.ones(2, device="meta")

    with torch.library._scoped_library("_", "IMPL") as library:
        library.fallback(record, "PrivateUse1")
        assert seen == []
    with pytest.raises(RuntimeError, match='global namespace "_"'):
        Library("aten", "IMPL").fallback(record, "CPU")


def test_composite_kernels_are_seen_as_what_they_call(library):
    from pellucid.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
    names, x = [], torch.ones(1)
    with Names():
        op_of(library)(x)
    assert names == ["aten.sin.default", "aten.cos.default"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Library("a", "OTHER"), ValueError, "Unsupported kind"),
        (lambda: Library("prim", "DEF"), ValueError, "reserved namespace"),
        (lambda: Library("aten", "DEF"), RuntimeError, "Only a single TORCH_LIBRARY"),
        (
            lambda: Library("aten", "IMPL").define("f(Tensor x) -> Tensor"),
            RuntimeError,
            "Cannot define an operator inside",
        ),
        (
            lambda: Library("aten", "IMPL").impl("sin", 3, "CPU"),
            TypeError,
            "required to be a callable",
        ),
        (
            lambda: Library("aten", "IMPL").impl("sin", abs, "Cpu"),
            RuntimeError,
            "could not parse dispatch key",
        ),
        (
            lambda: Library("aten", "IMPL").impl(3, abs, "CPU"),
            RuntimeError,
            "either a name or an OpOverload",
        ),
        (lambda: impl("noname", "cpu", abs), ValueError, "namespace::name"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_no_override_unless_allowed(library, plus_one):
    with pytest.raises(RuntimeError, match="already a kernel registered from python"):
        library.impl("f", abs, "CPU", allow_override=False)


# ------------------------------------------------------------------------- custom ops


def test_functions_by_device():
    @custom_op("library_tests::by_device", mutates_args=(), device_types="cuda")
    def by_device(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="from the 'CPU' backend"):
        by_device(torch.zeros(1))
    by_device.register_kernel("cpu", lambda x: x + 2)
    assert by_device(torch.zeros(1)).item() == 2
    by_device.register_kernel(None, lambda x: x + 3)
    with by_device.set_kernel_enabled("cpu", False):
        assert by_device(torch.zeros(1)).item() == 3
    assert by_device(torch.zeros(1)).item() == 2


def test_autocast_of_a_custom_op():
    @custom_op("library_tests::copied", mutates_args=())
    def copied(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y])

    copied.register_autocast("cpu", torch.bfloat16)
    copied.register_autograd(lambda ctx, grad: (grad[:2], grad[2:]))
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu"):
        actual = copied(x, torch.ones(2))
    assert actual.dtype is torch.bfloat16
    actual.float().sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert copied(x, torch.ones(2)).dtype is torch.float32
    with pytest.raises(ValueError, match="Unknown device type"):
        copied.register_autocast("abacus", torch.bfloat16)


def test_results_may_not_alias():
    @custom_op("library_tests::alias", mutates_args=())
    def alias(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        alias(torch.ones(2))


def test_writes_are_counted():
    @custom_op("library_tests::writes", mutates_args={"x"})
    def writes(x: torch.Tensor) -> None:
        x.numpy()[:] = 3

    x = torch.ones(2)
    saved = torch.ones(2, requires_grad=True) * x
    writes(x)
    assert x._version == 1 and x.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
    with pytest.raises(RuntimeError, match="non-functional operator"):
        writes.register_autograd(lambda ctx: None)


def test_a_new_definition_takes_the_place_of_the_old():
    def make(value):
        @custom_op("library_tests::again", mutates_args=())
        def again(x: torch.Tensor) -> torch.Tensor:
            return x + value

        return again

    make(1)
    assert make(2)(torch.zeros(1)).item() == 2
    assert torch.ops.library_tests.again(torch.zeros(1)).item() == 2


def test_tensors_without_data_need_a_function():
    @custom_op("library_tests::shapeless", mutates_args=())
    def shapeless(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    with pytest.raises(RuntimeError, match="no fake impl registered"):
        shapeless(torch.ones(2, device="meta"))

    @shapeless.register_fake
    def _(x):
        size = torch.library.get_ctx().new_dynamic_size()
        return x.new_empty(size, 1)

    with pytest.raises(RuntimeError, match="meta implementation"):
        shapeless(torch.ones(2, device="meta"))
    with pytest.raises(RuntimeError, match="inside of a function"):
        torch.library.get_ctx()


def test_rules_of_a_librarys_op(library):
    library.define("f(Tensor x) -> Tensor")
    name = f"{library.ns}::f"
    torch.library.register_kernel(name, "cpu", lambda x: x.exp(), lib=library)
    torch.library.register_fake(name, torch.empty_like, lib=library)
    torch.library.register_autograd(name, lambda ctx, grad: grad * 3, lib=library)
    torch.library.register_autocast(name, "cpu", torch.bfloat16, lib=library)
    torch.library.register_vmap(
        name, lambda info, dims, x: (op_of(library)(x), dims[0]), lib=library
    )
    x = torch.zeros(2, requires_grad=True)
    y = op_of(library)(x)
    y.sum().backward()
    assert y.tolist() == [1, 1] and x.grad.tolist() == [3, 3]
    assert "GeneratedBackwardFor" in type(y.grad_fn).__name__
    assert op_of(library)(torch.ones(2, device="meta")).shape == (2,)
    assert torch.vmap(op_of(library))(torch.zeros(3, 2)).shape == (3, 2)
    with torch.autocast("cpu"):
        assert op_of(library)(torch.zeros(2)).dtype is torch.bfloat16


def test_tags(library):
    library.define("f(Tensor x) -> Tensor", tags=torch.Tag.needs_exact_strides)
    assert op_of(library).default.tags == [torch.Tag.needs_exact_strides]
    assert torch.Tag.pointwise in torch.ops.aten.add.Tensor.tags
    assert torch.Tag.inplace in torch.ops.aten.relu_.default.tags
    assert torch.Tag.dynamic_output_shape in torch.ops.aten.nonzero.default.tags


def test_the_printed_trace():
    program = "import pellucid as t; x = t.ones(2, requires_grad=True); x.exp()"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": ":".join(sys.path),
            "TORCH_SHOW_DISPATCH_TRACE": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        " [call] op=[aten::exp], key=[AutogradCPU]\n"
        "  [redispatch] op=[aten::exp], key=[CPU]\n"
    ) in run.stderr


# An argument of a schema, and what a kernel gets of its default, as in PyTorch.
GIVEN = [
    ("ScalarType dt=6", torch.float32),
    ("ScalarType dt=float16", torch.float16),
    ("ScalarType? dt=long", torch.int64),
    ("ScalarType[] dt=[6, 7]", [torch.float32, torch.float64]),
    ("Layout l=2", torch.sparse_csr),
    ("Layout l=strided", torch.strided),
    ("MemoryFormat m=2", torch.channels_last),
    ("Device d='meta'", torch.device("meta")),
    ("Scalar s=2j", 2j),
    ("float[2] f=1", [1.0, 1.0]),
    ("bool[2] b=True", [True, True]),
    ("SymInt[2] n=3", [3, 3]),
    ("str s='a\\nb'", "a\nb"),
]


@pytest.mark.parametrize(("argument", "value"), GIVEN)
def test_a_kernel_gets_a_default_of_the_arguments_type(library, argument, value):
    actual = []

    def kernel(x, arguments, last):
        actual.append(arguments)
        return x.clone()

    library.define(f"f(Tensor x, {argument}, int last=0) -> Tensor")
    library.impl("f", kernel, "CPU")
    op_of(library)(torch.ones(1), last=1)
    assert actual == [value]
    assert type(actual[0]) is type(value)


def test_a_default_that_does_not_fit_is_refused(library):
    with pytest.raises(RuntimeError, match="character 25: expected a default of the"):
        library.define("f(Tensor x, ScalarType d=6.5) -> Tensor")


def test_an_inferred_default_is_read_again(library):
    quoted = 'a "b"\n\\'
    host = torch.device("cpu")

    def function(
        x: torch.Tensor,
        dt: torch.dtype = torch.bfloat16,
        where: torch.device = host,
        text: str = quoted,
    ) -> torch.Tensor:
        return x.clone()

    library.define(f"f{infer_schema(function, mutates_args=())}")
    op = op_of(library).default
    defaults = [argument.default_value for argument in op._schema.arguments[1:]]
    assert defaults == [15, host, quoted]  # PyTorch's number of bfloat16
    assert "ScalarType dt=15, Device where=cpu" in str(op._schema)
