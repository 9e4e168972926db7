"""Wrong registrations and calls of ops: what the errors name, in at most ten lines."""

import pytest

import pellucid as torch
from pellucid.library import Library, register_fake


@pytest.fixture
def library():
    result = Library("library_errors", "DEF")
    yield result
    result._destroy()


def message_of(error, call):
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert len(text.splitlines()) <= 10
    return text


def test_an_op_without_a_kernel_names_op_devices_keys_and_what_exists(library):
    library.define("f(Tensor x, Tensor[] others) -> Tensor")
    f = torch.ops.library_errors.f
    x = torch.ones(2, requires_grad=True)
    text = message_of(NotImplementedError, lambda: f(x, [torch.ones(1)]))
    assert text.splitlines() == [
        "Could not run 'library_errors::f' with arguments from the 'CPU' backend: it "
        "has no kernel there.",
        "Its tensors are on: cpu; their keys are: CPU, AutogradCPU.",
        "It has kernels for: nothing.",
        'Add one: torch.library.impl("library_errors::f", "CPU", function)',
    ]
    others = [torch.ones(1, device="meta"), torch.ones(1)]
    text = message_of(NotImplementedError, lambda: f(x, others))
    assert "Its tensors are on: cpu, meta; " in text
    library.impl("f", lambda x, others: torch.empty_like(x), "Meta")
    text = message_of(NotImplementedError, lambda: f(x, []))
    assert "It has kernels for: Meta." in text


def test_a_kernel_of_the_cpu_does_not_run_on_meta(library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CPU")
    f = torch.ops.library_errors.f
    text = message_of(NotImplementedError, lambda: f(torch.ones(2, device="meta")))
    assert "'Meta' backend" in text
    assert "It has kernels for: CPU." in text
    assert 'torch.library.register_fake("library_errors::f", function)' in text
    assert f(torch.ones(1)).item() == 2


def test_tensors_of_two_devices_are_named():
    meta = torch.ones(2, device="meta")
    text = message_of(RuntimeError, lambda: torch.ones(2) + meta)
    assert "cpu and meta!" in text
    assert "argument 'other' of aten::add.Tensor" in text


def test_a_second_kernel_is_announced(library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + 1, "CPU")
    with pytest.warns(UserWarning, match="library_errors::f has a kernel for CPU"):
        library.impl("f", lambda x: x + 2, "CPU")
    f = torch.ops.library_errors.f
    assert f(torch.zeros(1)).item() == 2
    text = torch._C._dispatch_dump("library_errors::f")
    assert text.count("registered at") == 1


def test_kernels_of_ops_that_do_not_exist(library):
    text = message_of(RuntimeError, lambda: library.impl("aten::add", abs, "CPU"))
    assert "does not match the library's, library_errors" in text
    similar = pytest.warns(UserWarning, match=r"similar names: aten::softmax\.int")
    with torch.library._scoped_library("aten", "IMPL") as aten, similar:
        aten.impl("sofmax.int", lambda x: x, "CPU")
    library.impl("g", lambda x: x, "CPU")
    text = message_of(AttributeError, lambda: torch.ops.library_errors.g)
    assert "It has kernels for CPU but no schema" in text
    text = message_of(RuntimeError, lambda: register_fake("library_errors::h", abs))
    assert text.startswith("operator library_errors::h does not exist")


def test_what_is_registered_and_what_runs_are_printable(library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
    library.impl("f", lambda x: x, "CompositeImplicitAutograd")
    lines = torch._C._dispatch_dump("library_errors::f").splitlines()
    assert lines[:2] == ["name: library_errors::f", "schema: f(Tensor x) -> Tensor"]
    assert [line.split(":")[0] for line in lines[2:]] == [
        "Decompose",
        "Autograd",
        "Negative",
        "Conjugate",
        "CPU",
        "CompositeImplicitAutograd",
    ]
    table = torch._C._dispatch_dump_table("library_errors::f")
    assert "CPU: registered at" in table
    assert "Meta: registered at" in table
    assert "[catch all]" in table
    assert "PythonDispatch: the runtime's [backend fallback]" in table
    with pytest.raises(RuntimeError, match="there is no op library_errors::none"):
        torch._C._dispatch_dump("library_errors::none")
