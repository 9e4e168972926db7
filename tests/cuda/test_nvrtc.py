"""CUDA C++ by NVRTC, launched by the stand-in driver, which runs it on the emulator."""

import re
import tomllib

import pytest

from pellucid._package.vendor_libraries import find_library
from tests.cuda.standin import ROOT, run_program

needs_nvrtc = pytest.mark.skipif(not find_library("nvrtc"), reason="no NVRTC")

START = '''
SOURCE = """
template <typename T, int N>
__global__ void scale(const T* x, T* out, T factor, long long n) {
  extern __shared__ double held[];
  const int i = blockIdx.y * blockDim.x + threadIdx.x;
  held[threadIdx.x] = factor;
  if (i < n) out[i] = x[i] * T(held[threadIdx.x]) + N;
}
"""
import ctypes
from pellucid.devices.cuda_kernels import EmulatedKernel, Grid
from tests.cuda.standin import CUDA_KERNELS
emulated = EmulatedKernel(SOURCE, "scale<float, 2>", [])
def run(grid, words, ranges):
    held = ctypes.create_string_buffer(words, len(words) + 1)
    first = ctypes.addressof(held)
    size = Grid(grid[:3], grid[3:6], grid[6])
    entry = emulated._code.library.pellucid_kernel_entry()
    places = range(first, first + len(words), 8)
    emulated._code.run("scale", entry, size, places, ranges)
CUDA_KERNELS["scale<float, 2>"] = run
x = torch.arange(100.0).to("cuda")
out = torch.zeros_like(x)
'''


def test_the_error_without_nvrtc_names_its_wheel(monkeypatch):
    monkeypatch.setenv("PELLUCID_NVRTC", "0")
    output = run_program("""
try:
    torch.cuda._compile_kernel("__global__ void k() {}", "k")
except OSError as error:
    print(error)
""")
    assert "PELLUCID_NVRTC" in output
    named = re.search(r"pip install ([\w -]*\w) \(", output)[1].split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = {text.split(">=")[0] for text in project["optional-dependencies"]["gpu"]}
    assert set(named) == {"nvidia-cuda-nvrtc", "nvidia-cuda-runtime"} & extra


@needs_nvrtc
def test_a_kernel_is_compiled_once_and_launched_on_the_current_stream():
    output = run_program(
        START
        + """
scale = torch.cuda._compile_kernel(SOURCE, "scale<float, 2>")
driver.log()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
launch = {"grid": (1, 2), "block": (64,), "shared_mem": 512}
for stream in (None, side):
    scale(**launch, args=[x, out, 3, 100], stream=stream)
calls = [c.split()[0] for c in driver.log() if "Link" in c or "Kernel" in c]
print(calls.count("cuLinkComplete"), calls.count("cuLaunchKernel"))
side.synchronize()
torch.cuda.synchronize()
print(torch.equal(out.cpu(), 3 * x.cpu() + 2), driver.faults)
for bad in ([x, out, 3.0, 1.5], [x.cpu(), out, 3.0, 1], [x.double(), out, 3.0, 1]):
    try:
        scale(**launch, args=bad)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, str(error)[:39])
try:
    scale(**launch | {"shared_mem": 60 << 10}, args=[x, out, 3.0, 1])
except RuntimeError as error:
    print(str(error)[-44:])
scale.set_shared_memory_config(60 << 10)
scale(**launch | {"shared_mem": 60 << 10}, args=[x, out, 4.0, 100])
print(torch.equal(out.cpu(), 4 * x.cpu() + 2), "8 61440" in str(driver.log()))
"""
    )
    assert output.splitlines() == [
        "1 2",
        "True []",
        "TypeError scale<float, 2>: argument 3 is a float,",
        "ValueError a kernel takes tensors of a GPU and pin",
        "TypeError scale<float, 2>: argument 0 is a tensor",
        "Call set_shared_memory_config(61440) once, first"[-44:],
        "True True",
    ]


def test_shared_memory_is_allowed_on_every_gpu_that_runs_the_kernel():
    output = run_program(
        """
from pellucid.devices import nvrtc
from tests.cuda.standin import CUDA_KERNELS
text = ".version 8.0\\n.target sm_80\\n.visible .entry k()"
nvrtc.compile_source = lambda *given: nvrtc.Compiled(text, "k", b"")
CUDA_KERNELS["k"] = lambda *given: None
kernel = torch.cuda._compile_kernel("__global__ void k() {}", "k")
for size in (50 << 10, 60 << 10):
    kernel.set_shared_memory_config(size)
    for gpu in range(2):
        with torch.cuda.device(gpu):
            kernel(shared_mem=size)
            torch.cuda.synchronize()
print(*(c for c in driver.log() if "cuFuncSetAttribute" in c), sep="\\n")
""",
        count=2,
    )
    sizes = [51200, 51200, 61440, 61440]
    assert output.splitlines() == [f"cuFuncSetAttribute 8 {size}" for size in sizes]


@needs_nvrtc
def test_launches_from_cpp_go_to_the_gpu_of_their_tensors():
    output = run_program(
        START
        + """
from pellucid.utils.cpp_extension import load_inline
host = '''
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
at::Tensor scaled(at::Tensor x, float factor) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  const c10::cuda::CUDAGuard guard(x.device());
  auto out = at::empty_like(x);
  const auto n = x.numel();
  const dim3 grid(1, (n + 63) / 64);
  scale<float, 2><<<grid, 64, 512, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), out.data_ptr<float>(), factor, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  AT_CUDA_CHECK(cudaDeviceSynchronize());
  return out;
}
'''
declared = "at::Tensor scaled(at::Tensor x, float factor);"
folder = tempfile.mkdtemp()
with open(folder + "/sum.cuh", "w") as header:  # found beside the source
    header.write("template <class T> __device__ T sum(T x, int n) { return x + n; }")
source = SOURCE.replace("x[i] * T(held[threadIdx.x]) + N", "sum(x[i] * factor, N)")
made = load_inline(
    "launches",
    declared,
    '#include "sum.cuh"\\n' + source + host,
    functions=["scaled"],
    extra_cuda_cflags=["-O3", "-gencode", "arch=compute_90,code=sm_90", "-Xptxas=-v"],
    build_directory=folder,
)
driver.log()
print(made.scaled(x, 3.0).tolist()[:3], torch.cuda.current_device())
print([c.split()[0] for c in driver.log() if "Kernel" in c], driver.faults)
try:
    made.scaled(x.cpu(), 3.0)
except RuntimeError as error:
    print(error)
""",
        count=2,
    )
    assert output.splitlines()[:2] == ["[2.0, 5.0, 8.0] 0", "['cuLaunchKernel'] []"]
    assert "x must be a CUDA tensor" in output


@needs_nvrtc
def test_what_nvrtc_refuses_is_shown():
    output = run_program("""
try:
    torch.cuda._compile_kernel("\\n__global__ void k() { missing(); }", "k")
except RuntimeError as error:
    print(error)
""")
    assert output.startswith("NVRTC refuses the kernel:")
    assert "k.cu(2): error" in output


@needs_nvrtc
def test_halves_and_architectures():
    from pellucid.devices.cuda_arguments import parameters_of
    from pellucid.devices.nvrtc import compile_source

    source = """
#include <cuda_bf16.h>
__global__ void k(__nv_bfloat16* x, const bool* y, unsigned char n, double d, void* p) {
  x[0] = __float2bfloat16(d);
}
"""
    for architecture in ("sm_80", "sm_90"):
        made = compile_source(source, "k", architecture, ["-DX=1"])
        assert f".target {architecture}" in made.ptx
        assert f".entry {made.symbol}(" in made.ptx
        given = [str(parameter) for parameter in parameters_of(made.signature)]
        wanted = ["__nv_bfloat16*", "bool*", "unsigned char", "double", "void*"]
        assert given == wanted
