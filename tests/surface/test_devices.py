"""Names of devices, answers of absent ones, and the user's own backend."""

import os
import subprocess
import sys
import textwrap

import pytest

import pellucid as torch
from pellucid.overrides import TorchFunctionMode

KINDS = [
    *("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve"),
    *("fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia"),
    "privateuseone",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_name(kind):
    assert repr(torch.device(kind)) == f"device(type='{kind}')"
    assert str(torch.device(kind, 3)) == f"{kind}:3"


def test_programs_read_the_kinds_from_an_error():
    with pytest.raises(RuntimeError) as raised:
        torch.device("notadevice")
    listed = str(raised.value).partition("one of ")[2].partition(" device type")[0]
    assert listed.split(", ") == KINDS


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: torch.zeros(2, device="cuda"), AssertionError, "CUDA enabled"),
        (lambda: torch.ones(2).cuda(), AssertionError, "CUDA enabled"),
        (lambda: torch.nn.Linear(2, 2).cuda(), AssertionError, "CUDA enabled"),
        (lambda: torch.rand(2, device="xpu"), AssertionError, "XPU enabled"),
        (lambda: torch.ones(2).to("mps"), RuntimeError, "support for mps devices"),
        (lambda: torch.empty(2, device="xla"), NotImplementedError, "'XLA' backend"),
        (lambda: torch.cuda.current_device(), AssertionError, "CUDA enabled"),
        (lambda: torch.cuda.Stream(), RuntimeError, "requires CUDA support"),
        (lambda: torch.cuda.FloatTensor(2), TypeError, "not available"),
        (lambda: torch.cuda.nvtx.range_push("a"), RuntimeError, "NVTX"),
        (lambda: torch.mps.synchronize(), RuntimeError, "mps"),
        (lambda: torch.device(0), RuntimeError, "Cannot access accelerator"),
        (lambda: torch.accelerator.synchronize(), RuntimeError, "Cannot access"),
        (lambda: torch.ones(1).pin_memory(), RuntimeError, "Cannot access"),
    ],
)
def test_absent_devices_raise_pytorchs_errors(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_absent_devices_answer_questions():
    for module in (torch.cuda, torch.xpu, torch.mtia, torch.mps):
        assert not module.is_available() and module.device_count() == 0
        module.manual_seed(3)
    assert torch.cuda.memory_allocated() == torch.cuda.memory.max_memory_reserved() == 0
    assert torch.cuda.memory_stats() == {} and torch.cuda.get_arch_list() == []
    with torch.cuda.device(None), torch.cuda.stream(None):
        assert torch.cuda.default_generators == ()
    assert torch.accelerator.current_accelerator() is None


def test_switches_of_backends():
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    with cudnn.flags(enabled=False, benchmark=True):
        assert not cudnn.enabled and cudnn.benchmark
    assert cudnn.enabled and not cudnn.benchmark
    cudnn.benchmark_limit = None
    with cudnn.flags():
        assert cudnn.benchmark_limit == 10
    assert cudnn.benchmark_limit is None
    cudnn.benchmark_limit = 10
    with pytest.raises(ValueError, match="benchmark_limit is -3"):
        cudnn.benchmark_limit = -3
    assert cudnn.benchmark_limit == 10
    assert cudnn.conv.fp32_precision == cudnn.rnn.fp32_precision == "tf32"
    with cudnn.flags(fp32_precision="ieee"):
        assert cudnn.conv.fp32_precision == "ieee"
        cudnn.conv.fp32_precision = "tf32"
        assert cudnn.conv.fp32_precision == "tf32"
        assert cudnn.rnn.fp32_precision == "ieee"
    cudnn.conv.fp32_precision = "none"
    with pytest.raises(ValueError, match="fp32_precision is 'bf16'"):
        cudnn.conv.fp32_precision = "bf16"
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    assert cuda.preferred_linalg_library("magma").name == "Magma"
    assert cuda.preferred_linalg_library("default").name == "Default"
    with pytest.raises(RuntimeError, match="Unknown input value"):
        cuda.preferred_blas_library("none")
    with torch.backends.opt_einsum.flags(enabled=False):
        assert not torch.backends.opt_einsum.enabled
    assert torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def test_the_default_device():
    torch.set_default_device("meta")
    try:
        assert torch.zeros(2).is_meta and torch.get_default_device().type == "meta"
        with torch.device("cpu"):
            assert torch.get_default_device().type == "cpu"
            assert torch.zeros(2).is_cpu
        assert torch.nn.Linear(2, 2).weight.is_meta
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).is_cpu and torch.get_default_device().type == "cpu"


class Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_the_default_device_may_change_inside_a_mode():
    try:
        with Passing():
            torch.set_default_device("meta")
            assert torch.zeros(2).is_meta
        assert torch.zeros(2).is_meta
        with torch.device("cpu"), Passing():
            torch.set_default_device(None)
            assert torch.zeros(2).is_cpu
            torch.set_default_device("meta")
            assert torch.zeros(2).is_cpu  # the scope is the inner one
        assert torch.zeros(2).is_meta
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).is_cpu


FACTORIES = [
    lambda: torch.hann_window(3),
    lambda: torch.fft.fftfreq(3),
    lambda: torch.scalar_tensor(1.0),
    lambda: torch.asarray([1.0]),
    lambda: torch.empty_permuted((2, 3), (1, 0)),
]


@pytest.mark.parametrize("make", FACTORIES)
def test_factories_follow_the_default_device(make):
    with torch.device("meta"):
        assert make().is_meta
        assert torch.normal(0.0, 1.0, (2,)).is_cpu


def test_keys_of_types_of_devices():
    key_of = torch._C._dispatch_key_for_device
    assert [key_of(t) for t in ("cpu", "mtia", "privateuseone")] == [
        "CPU",
        "MTIA",
        "PrivateUse1",
    ]
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        key_of("default")
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.library.impl("aten::neg", "nodevice", lambda x: x)


PROGRAM = """
import pellucid as torch

seeds = []

class Module:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    current_device = staticmethod(lambda: 1)
    manual_seed_all = staticmethod(seeds.append)
    _is_in_bad_fork = staticmethod(lambda: False)

def refused(error, text, call):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
        return
    raise AssertionError(f"{text} was expected")

rename = torch.utils.rename_privateuse1_backend
refused(RuntimeError, "in-tree device name", lambda: rename("cuda"))
rename("npu")
rename("npu")
refused(RuntimeError, "Current backend: npu", lambda: rename("other"))
assert str(torch.device("privateuseone:1")) == "npu:1"
assert torch.device(0) == torch.device("npu:0")
torch._register_device_module("npu", Module)
refused(
    RuntimeError,
    "already been registered",
    lambda: torch._register_device_module("npu", Module),
)
assert torch.npu is Module and torch.get_device_module("npu") is Module
assert torch.accelerator.current_accelerator() == torch.device("npu")
assert torch.accelerator.device_count() == 2
assert torch.accelerator.current_device_index() == 1
torch.manual_seed(5)
assert seeds == [5]
generate = torch.utils.generate_methods_for_privateuse1_backend
generate(for_storage=True)
refused(RuntimeError, "has already been registered with is_npu", generate)
assert not torch.ones(1).is_npu and not torch.ones(1).untyped_storage().is_npu
refused(NotImplementedError, "'npu' backend", lambda: torch.zeros(2, device="npu"))
refused(NotImplementedError, "'npu' backend", lambda: torch.zeros(2).npu())
refused(NotImplementedError, "'npu' backend", torch.nn.Linear(2, 2).npu)

made = []
library = torch.library.Library("aten", "IMPL")

def empty(size, **options):
    made.append((list(size), str(options["device"])))
    return torch.empty(size, device="meta")

library.impl("empty.memory_format", empty, "PrivateUse1")
assert torch.empty(2, 3, device="npu:1").shape == (2, 3)
assert made == [([2, 3], "npu:1")]

def like(x, *value, device, **options):
    return torch.empty(x.shape, device="meta")

for op in ("full_like", "empty_like", "zeros_like"):
    library.impl(op, like, "PrivateUse1")
library.impl("new_empty", lambda x, size, **options: like(x, **options), "PrivateUse1")
x = torch.ones(2)  # of the CPU
assert torch.full_like(x, 3.0, device="npu").is_meta
assert torch.empty_like(x, device="npu").is_meta
assert torch.zeros_like(x, device="npu").is_meta
assert x.new_empty(2, device="npu").is_meta

class OnDevice(torch.Tensor):
    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, dtype=values.dtype, device="npu:0"
        )

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [a.values if isinstance(a, cls) else a for a in args]
        return cls(func(*plain, **(kwargs or {})))

x = OnDevice(torch.ones(2))
assert x.is_npu and (x + x).device == torch.device("npu:0")
assert (x + x).values.tolist() == [2, 2] and x.get_device() == 0
"""


def test_the_users_backend():
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
