"""Extensions in C++: modules, ops, derivatives, builds, errors."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid as torch
from pellucid.utils import cpp_extension

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "tests-extensions"
A, B = torch.linspace(-2, 2, 12).reshape(3, 4), torch.linspace(3, -1, 12).reshape(3, 4)


@pytest.fixture(scope="module")
def gates():
    BUILD.mkdir(parents=True, exist_ok=True)
    sources = [str(HERE / "gates.cpp")]
    return cpp_extension.load("gates", sources, build_directory=str(BUILD))


def test_a_function_of_a_module_calls_ops(gates):
    result, gate = gates.gate(A, B)
    assert torch.equal(gate, B.sigmoid())
    assert torch.equal(result, A * B.sigmoid())
    assert torch.equal(gates.gate(b=B, a=A, scale=3)[0], 3 * A * B.sigmoid())
    assert gates.gate.__doc__ == "a * sigmoid(b)"


def test_values_of_python_are_those_of_cpp(gates):
    values, count = gates.largest(A, None, "abc")
    assert torch.equal(values, A.amax(-1))
    assert count == 3 + 3
    assert gates.largest(A, 0, "")[1] == 4
    assert gates.first_element(torch.tensor([7, 1])).tolist() == [0, 7]
    assert gates.first_element(A).tolist() == [0, -2]


def test_an_ops_kernel_reads_and_writes_elements(gates):
    actual = torch.ops.gates.scaled_sum(A.t(), B.t(), 0.5)
    assert torch.allclose(actual, A.t() + 0.5 * B.t())
    out = A.clone()
    assert torch.ops.gates.add_into(B, out) is None
    assert torch.equal(out, A + B)


def test_a_schema_is_inferred_from_a_function(gates):
    schema = str(torch.ops.gates.count_of.default._schema)
    assert schema == "gates::count_of(int[] _0, bool _1, ScalarType _2) -> Tensor"
    result = torch.ops.gates.count_of([3, 2], True, torch.int16)
    assert (result.item(), result.dtype) == (12, torch.int64)


def test_a_derivative_in_cpp(gates):
    a, b = (t.double().requires_grad_() for t in (A, B))
    result, gate = torch.ops.gates.gate(a, b)
    assert (
        result.grad_fn.name() == "torch::autograd::CppNode<(anonymous namespace)::Gate>"
    )
    assert torch.autograd.gradcheck(torch.ops.gates.gate, (a, b))
    with torch.no_grad():
        assert not torch.ops.gates.gate(a, b)[0].requires_grad
    assert gate.requires_grad


def test_python_adds_a_derivative_and_a_fake_kernel(gates):
    name = "gates::scaled_sum"

    def setup(ctx, inputs, output):
        ctx.factor = inputs[2]

    def backward(ctx, grad):
        return grad, grad * ctx.factor, None

    torch.library.register_autograd(name, backward, setup_context=setup)
    torch.library.register_fake(name)(lambda a, b, factor: torch.empty_like(a))
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    torch.ops.gates.scaled_sum(a, b, 0.25).sum().backward()
    assert (a.grad.mean().item(), b.grad.mean().item()) == (1, 0.25)
    checked = torch.library.opcheck(torch.ops.gates.scaled_sum.default, (A, B, 2.0))
    assert set(checked.values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda m: torch.ops.gates.scaled_sum(A, B[1:], 1.0),
            RuntimeError,
            r"sizes \[3, 4\] and \[2, 4\] differ",
        ),
        (
            lambda m: torch.ops.gates.scaled_sum(A.int(), B.int(), 1.0),
            RuntimeError,
            r"Expected a\.dtype\(\) == at::kFloat to be true, but got false",
        ),
        (lambda m: m.gate(A), TypeError, "takes 3 arguments; 1 were given"),
        (lambda m: m.gate(A, 3), TypeError, "expected a Tensor, not int"),
        (lambda m: m.largest(A, 5, ""), IndexError, "Dimension out of range"),
        (
            lambda m: m.first_element(A.to(torch.complex64)),
            RuntimeError,
            "\"first_element\" not implemented for 'ComplexFloat'",
        ),
    ],
)
def test_errors_have_their_types(gates, call, kind, words):
    with pytest.raises(kind, match=words):
        call(gates)


def test_a_source_that_does_not_compile_names_the_compilers_error(tmp_path):
    with pytest.raises(
        RuntimeError, match=r"extension 'bad'.*'x' was not|undeclared|‘x’"
    ):
        cpp_extension.load_inline(
            "bad",
            "int f() { return x; }",
            no_implicit_headers=True,
            build_directory=str(tmp_path),
        )


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(OSError, match="CUDA_HOME environment variable is not set"):
        cpp_extension.CUDAExtension("x", ["x.cu"])
    with pytest.raises(OSError, match="SYCL"):
        cpp_extension.load_inline("x", "", sycl_sources="void f() {}")
    with pytest.raises(FileNotFoundError, match=r"none\.cu does not exist"):
        cpp_extension.load("x", "none.cu", build_directory=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"none\.cpp does not exist"):
        cpp_extension.load("x", "none.cpp", build_directory=str(tmp_path))
    with pytest.raises(RuntimeError, match=r"build_directory .* does not exist"):
        cpp_extension.load("x", "none.cpp", build_directory=str(tmp_path / "none"))
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library(str(broken))


def test_setuptools_builds_an_extension(tmp_path):
    (tmp_path / "plus.cpp").write_text(
        "#include <Python.h>\n"
        "static PyModuleDef made{PyModuleDef_HEAD_INIT, "
        "PELLUCID_TEXT(TORCH_EXTENSION_NAME)};\n"
        "PyMODINIT_FUNC PyInit_plus() { return PyModule_Create(&made); }\n"
    )
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n"
        "from pellucid.utils.cpp_extension import BuildExtension, CppExtension\n"
        "flags = {'cxx': ['-O0', '-DPELLUCID_TEXT(x)=\"plus\"']}\n"
        "extension = CppExtension('part.plus', ['plus.cpp'], "
        "extra_compile_args=flags)\n"
        "setup(name='part', ext_modules=[extension], "
        "cmdclass={'build_ext': BuildExtension.with_options(use_ninja=False)})\n"
    )
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (library,) = (tmp_path / "out" / "part").iterdir()
    assert re.fullmatch(r"plus\..*so", library.name)
    include = cpp_extension.include_paths()
    assert (Path(include[1]) / "torch" / "extension.h").exists()
    assert (Path(include[1]) / "pellucid_methods.h").exists()


def test_what_a_build_says_is_no_output_of_the_program(tmp_path, monkeypatch, capsys):
    from pellucid.utils._cpp.build import build_folder

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    folder = build_folder("own", None, verbose=True)
    out, told = capsys.readouterr()
    assert out == "" and str(folder) in told


def test_errors_of_templates_name_the_authors_lines():
    from pellucid.utils._cpp.build import first_errors

    told = (
        "/x/own.cpp: In function 'int f()':\n"
        "/h/a.h:3:4:   required from 'struct A<B>'\n"
        "/x/own.cpp:12:3:   required from here\n"
        "/h/b.h:9:9: error: bad\n"
        "/x/own.cpp:3:1: warning: careful\n"
    )
    kept = "/x/own.cpp:12:3:   required from here\n/h/b.h:9:9: error: bad"
    assert first_errors(told, ["/x/own.cpp"]) == kept
    assert first_errors(told) == "/h/b.h:9:9: error: bad"


@pytest.mark.parametrize(
    "function",
    [
        "(Tensor _0, int? _1) -> Tensor",
        "(Tensor _0, int? _1) -> (Tensor, int)",
        "(Tensor _0, int? _1) -> (Tensor, Tensor[])",
        "(Tensor _0, int _1) -> (Tensor, Tensor)",
        "(Tensor? _0, int? _1) -> (Tensor, Tensor)",
        "(Tensor _0, int? _1) -> ()",
    ],
)
def test_a_kernel_with_other_types_than_its_schema_is_refused(function):
    from pellucid.utils._cpp import classes

    library = torch.library.Library("typed", "FRAGMENT")
    if not classes.is_op("typed::pair"):
        library.define("pair(Tensor(a!) x, SymInt? k) -> (Tensor(a!), Tensor)")
    classes.add_kernel(
        library, "pair", print, "CPU", "(Tensor _0, int? _1) -> (Tensor, Tensor)"
    )
    with pytest.raises(RuntimeError, match="other types than the op's schema"):
        classes.add_kernel(library, "pair", print, "CPU", function)
