"""Rewriting CUDA C++ for a C++ compiler, and the part of it that a GPU compiles."""

import pytest

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
    with pytest.raises(ValueError, match=r"line 2: a launch is"):
        for_emulator("\n(k)<<<1, 2>>>();")


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
