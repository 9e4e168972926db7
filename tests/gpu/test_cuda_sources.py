"""Rewriting CUDA C++ for a C++ compiler, and the part of it that a GPU compiles."""

import pytest

from pellucid.devices.cuda_launches import source_of
from pellucid.devices.nvrtc import options_of_nvcc
from pellucid.utils._cpp.cuda_sources import device_part, for_emulator


def test_launches_become_calls():
    text = (
        'f("a<<<b>>>c"); k<T, 2><<<g, b>>>(x); // <<<\n '
        "n::k <<< dim3(1), f(2, 3), 0, s >>> (y);"
    )
    assert for_emulator(text) == (
        'f("a<<<b>>>c"); ::pellucid::cuda::Launch<(&k<T, 2>)>(g, b)(x); // <<<\n '
        "::pellucid::cuda::Launch<(&n::k)>( dim3(1), f(2, 3), 0, s ) (y);"
    )
    nested = "k<<<f<g<h<1>>>(), 2>>>(p<q<r<2>>>()); j<<<1, 2>>>();"
    assert for_emulator(nested) == (
        "::pellucid::cuda::Launch<(&k)>(f<g<h<1>>>(), 2)(p<q<r<2>>>()); "
        "::pellucid::cuda::Launch<(&j)>(1, 2)();"
    )
    for bad in ("\n(k)<<<1, 2>>>();", "\nk<<<1, 2; j<<<1, 2>>>();"):
        with pytest.raises(ValueError, match=r"line 2: a launch is"):
            for_emulator(bad)


def test_dynamic_shared_memory_is_the_launchs():
    inside = (
        "__global__ void k() { extern __shared__ __align__(16) unsigned char raw[]; }"
    )
    assert "unsigned char* const raw = reinterpret_cast<unsigned char*>(" in (
        for_emulator(inside)
    )
    outside = "int a;\nextern __shared__ float s[];\nint b;"
    lines = for_emulator(outside).splitlines()
    assert lines[2].startswith("#define s (reinterpret_cast<float*>(")
    assert lines[3:] == ["#line 2", "", "int b;"]


def test_a_gpu_compiles_the_device_part_alone():
    text = """
#include <torch/extension.h>
#include <cuda_fp16.h>
#define N 3 + \\
  4
using namespace at;
enum Mode { A, B };
struct Pair { int a; int sum() { return a; } };
constexpr int twice(int x) { return 2 * x; }
namespace {
template <class T> __device__ T half_of(T x) { return x / "}"[0]; }
}  // namespace
int helper(int x) { return x; }
at::Tensor later(at::Tensor x);
extern "C" {
__global__ void k(float* x) { x[0] = N; }
}
at::Tensor run(at::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
    part = device_part(text)
    kept = (
        "cuda_fp16",
        "N 3",
        "  4",
        "enum Mode",
        "Pair",
        "twice",
        "half_of",
        "void k",
    )
    assert [word for word in kept if word not in part] == []
    gone = ("torch/", "using namespace", "helper", "later", "run", "PYBIND11")
    assert [word for word in gone if word in part] == []
    assert part.count("{") + 1 == part.count("}")  # one is in a text
    lines = text.splitlines()
    number = lines.index("__global__ void k(float* x) { x[0] = N; }")
    assert part.splitlines()[0] == '#line 1 "kernel.cu"'
    assert part.splitlines()[1 + number] == lines[number]


def test_pytorchs_halves_are_cudas_on_a_gpu():
    part = device_part(
        "typedef c10::Half H;\nusing at::BFloat16;\n"
        "__global__ void k(H* x, const ::c10::Half* y, BFloat16* z) {}"
    )
    assert part.splitlines() == [
        "#include <cuda_fp16.h>",
        "#include <cuda_bf16.h>",
        '#line 1 "kernel.cu"',
        "typedef __half H;",
        "typedef __nv_bfloat16 BFloat16;",
        "__global__ void k(H* x, const __half* y, BFloat16* z) {}",
    ]
    host = "__global__ void k(float* x) {}\nvoid f() { x.data_ptr<c10::Half>(); }"
    assert "fp16" not in device_part(host)


def test_a_gpu_compiles_the_source_that_defines_the_kernel(tmp_path):
    texts = {
        "a.cu": "void f() { k<<<1, 1>>>(); } // __global__ void k() {}\n"
        "__global__ void k(int);\n",
        "b.cu": "__global__ void __launch_bounds__(64)\nk(int a) {}\n",
        "c.cu": '// #include "twice.h"\n#include "h.cuh"\n#include "absent.h"\n',
        "d.cu": '#include "h.cuh"\n#define KERNEL(name) __global__ void name() {}\n'
        "KERNEL(made)\n",
        "include/h.cuh": "#pragma once\ntemplate <class T> __global__ void t(T) {}\n",
        "include/twice.h": "__global__ void k() {}\n",
        "e.cu": "__global__ void k() {}\n",
    }
    (tmp_path / "include").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    sources = [str(tmp_path / f"{name}.cu") for name in "abcd"]
    options = ["-I", str(tmp_path / "include")]
    assert source_of("ns::k", sources, options) == sources[1]
    assert source_of("t<float>", sources, options) == sources[2]
    with pytest.raises(RuntimeError, match=r"made: no source defines it \(a.cu, b.cu"):
        source_of("made", sources, options)
    with pytest.raises(RuntimeError, match=r"several files define .* \(b.cu, e.cu\)"):
        source_of("k", [*sources, str(tmp_path / "e.cu")], options)


def test_nvrtc_gets_the_options_that_it_has():
    given = ["-O3", "-gencode", "arch=compute_90,code=sm_90", "-Xptxas", "-v", "-DX=1"]
    given += ["--expt-relaxed-constexpr", "--use_fast_math", "-I", "x", "-std=c++17"]
    kept = ["-DX=1", "-use_fast_math", "-Ix", "-std=c++17"]
    assert options_of_nvcc(given) == kept
