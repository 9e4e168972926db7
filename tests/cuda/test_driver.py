"""The driver's calls for a program, and what follows from its errors."""

import json

import pytest

from tests.cuda.standin import HERE, built, run_program

NO_GPU = """
print(torch.cuda.is_available(), torch.cuda.device_count())
try:
    torch.ones(2, device="cuda")
except Exception as error:
    print(type(error).__name__, error)
try:
    torch.cuda.current_device()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_missing_driver_that_was_named_is_an_error_that_names_it():
    output = run_program(NO_GPU, driver="/nowhere/libcuda.so")
    assert output.startswith("False 0")
    assert "PELLUCID_CUDA_DRIVER" in output
    assert "/nowhere/libcuda.so" in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"version": 10020}, "too old (found version 10020)"),
        ({"count": 0}, "No CUDA GPUs are available"),
        ({"init": 999}, "CUDA driver initialization failed"),
        ({"major": 7}, "compute capability 7.0; kernels need 8.0"),
    ],
)
def test_a_driver_that_cannot_be_used_says_why(options, words):
    output = run_program(NO_GPU, **options)
    assert words in output
    assert "RuntimeError" in output
    assert output.startswith("True 1" if "major" in options else "False 0")


def test_a_driver_without_a_function_names_it():
    old = built(without="cuGraphInstantiateWithFlags")
    output = run_program(NO_GPU, driver=old)
    assert "has no cuGraphInstantiateWithFlags: update the driver" in output


def test_the_calls_of_an_addition():
    output = run_program("""
x = torch.tensor([1.0, 2.0]).to("cuda")
driver.log()
y = x + x
first = driver.log()
(x + x).tolist()
import json
print(json.dumps([first, driver.log(), y.tolist()]))
""")
    first, second, values = json.loads(output)
    names = [call.split()[0] for call in first if "cuDeviceGet" not in call]
    assert names == [
        *("cuLinkCreate", "cuLinkAddData", "cuLinkComplete"),
        *("cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernel"),
    ]
    launch = first[-1].split()
    assert launch[-3:-1] == ["1", "256"]  # a block of 256 threads
    assert launch[-4] == "float32,float32,float32"
    assert [call.split()[0] for call in second] == [
        *("cuLaunchKernel", "cuMemcpyDtoHAsync", "cuStreamSynchronize"),
    ]
    assert values == [2.0, 4.0]


def test_a_large_map_fills_the_gpu_and_no_more():
    output = run_program(
        """
x = torch.ones(1 << 20, device="cuda")
driver.log()
x + 1
print(driver.log()[-1])
""",
        processors=4,
    )
    assert output.split()[-3:-1] == ["64", "256"]  # 16 blocks a multiprocessor


def test_kernels_are_compiled_once_and_kept_on_disk():
    text = """
import os
os.environ["PELLUCID_CACHE"] = {folder!r}
(torch.ones(3, device="cuda") * 2).softmax(0).tolist()
print(sum(call == "cuLinkCreate" for call in driver.log()))
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        first = run_program(text.format(folder=folder))
        assert int(first) > 0
        assert int(run_program(text.format(folder=folder))) == 0
        assert int(run_program(text.format(folder=folder), version=12080)) > 0


def test_out_of_memory_empties_the_pool_once_and_says_what_there_is():
    output = run_program(
        """
x = torch.empty(40 << 20, dtype=torch.uint8, device="cuda")
del x
y = torch.empty(50 << 20, dtype=torch.uint8, device="cuda")  # needs x's segment back
print(torch.cuda.memory_stats()["num_alloc_retries"])
try:
    torch.empty(31 << 20, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print(error)
print((torch.ones(3, device="cuda") + 1).tolist())
""",
        memory=80 << 20,
    )
    retries, error, values = output.splitlines()
    assert int(retries) == 1
    assert "Tried to allocate 31.00 MiB" in error
    assert "total capacity of 80.00 MiB of which 30.00 MiB is free" in error
    assert values == "[2.0, 2.0, 2.0]"


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        ("cuLaunchKernel", 1, "cuLaunchKernel returned CUDA_ERROR_1"),
        ("cuModuleLoadDataEx", 218, "cuModuleLoadDataEx returned CUDA_ERROR_218"),
        ("cuLinkComplete", 999, "cuLinkComplete returned CUDA_ERROR_999"),
        ("cuMemcpyDtoHAsync", 700, "cuMemcpyDtoHAsync returned CUDA_ERROR_700"),
        ("cuStreamSynchronize", 719, "unspecified launch failure"),
    ],
)
def test_a_call_that_fails_raises_and_the_next_one_works(function, status, words):
    output = run_program(f"""
x = torch.ones(3, device="cuda")
torch.cuda.synchronize()
driver.fail({function!r}, {status})
try:
    (x * 3).tolist()
except RuntimeError as error:
    print(error)
print((x * 3).tolist())
""")
    assert "CUDA error" in output
    assert words in output
    assert output.splitlines()[-1] == "[3.0, 3.0, 3.0]"


def test_a_kernel_that_crashes_makes_every_later_call_fail_as_cuda_does():
    output = run_program("""
x = torch.ones(3, device="cuda")
driver.fault_next = True
y = x * 3
for wait in (torch.cuda.synchronize, lambda: x + 1):
    try:
        wait()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
""")
    assert output.splitlines() == ["CUDA error: unspecified launch failure"] * 2


@pytest.mark.parametrize("waits", ["x.tolist()", "torch.cuda.synchronize()"])
def test_a_failure_is_raised_where_the_program_waits(waits):
    output = run_program(f"""
x = torch.arange(4.0).to("cuda")
y = x[torch.tensor([0, 9]).to("cuda")]
print("started")
try:
    {waits}
except IndexError as error:
    print(error)
print((x + 1).tolist(), driver.faults)
""")
    started, error, advice, rest = output.splitlines()
    assert started == "started"
    assert error.startswith("aten::")
    assert "on cuda:0, element" in error
    assert "index out of bounds" in error
    assert "PELLUCID_LAUNCH_BLOCKING" in advice
    assert rest == "[1.0, 2.0, 3.0, 4.0] []"


def test_work_of_another_stream_is_not_blamed():
    output = run_program("""
x = torch.arange(4.0).to("cuda")
bad = torch.tensor([9]).to("cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with side:
    x[bad]
print(x.tolist())
try:
    side.synchronize()
except IndexError:
    print("raised")
""")
    assert output.splitlines() == ["[0.0, 1.0, 2.0, 3.0]", "raised"]


def test_a_fork_of_the_process_cannot_use_the_context():
    output = run_program("""
import os, sys
x = torch.ones(2, device="cuda")
child = os.fork()
if child == 0:
    try:
        x + 1
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print((x + 1).tolist())
""")
    assert "Cannot re-initialize CUDA in forked subprocess" in output
    assert output.splitlines()[-1] == "[2.0, 2.0]"


def test_several_gpus_have_contexts_and_memory_of_their_own():
    output = run_program(
        """
x = torch.ones(2, device="cuda:1")
y = torch.full((2,), 2.0).to("cuda:0")
print(x.device, y.device, (x.to("cuda:0") + y).tolist())
try:
    x + y
except RuntimeError as error:
    print(error)
with torch.cuda.device(1):
    print(torch.zeros(1, device="cuda").device, torch.cuda.current_device())
print(torch.cuda.current_device(), torch.cuda.memory_allocated(1) > 0)
try:
    torch.ones(1, device="cuda:2")
except RuntimeError as error:
    print(error)
""",
        count=2,
    )
    lines = output.splitlines()
    assert lines[0] == "cuda:1 cuda:0 [3.0, 3.0]"
    assert "cuda:0" in lines[1]
    assert "cuda:1" in lines[1]
    assert "cuda:1 1" in lines
    assert "0 True" in lines
    assert "invalid device ordinal" in output


def test_the_source_lists_every_function_of_the_driver():
    header = (HERE.parents[1] / "runtime" / "cuda" / "driver.h").read_text()
    import re

    names = re.findall(r'F\(\w+, "(\w+)"', header)
    source = (HERE / "standin_driver.cpp").read_text()
    assert len(names) > 40
    assert [name for name in names if f"EXPORT int {name}(" not in source] == []
    assert json.dumps(sorted(set(names))) == json.dumps(sorted(names))


def test_a_number_that_no_gpu_can_have_is_refused():
    output = run_program("""
from pellucid import _C
for number in (256, 1 << 40):
    try:
        _C._cuda_properties(number)
    except (RuntimeError, OverflowError) as error:
        print(type(error).__name__)
""")
    assert output.split() == ["RuntimeError", "OverflowError"]


def test_a_nest_without_checks_takes_no_status_word():
    output = run_program("""
from pellucid.devices import grids
from pellucid_compiler.codegen.kernel import Nest
kinds, facts_of = set(), grids._can_fail
def noted(form):
    found = facts_of(form)
    if isinstance(form, Nest):
        kinds.add(found)
    return found
grids._can_fail = noted
x = torch.arange(12.0).view(1, 3, 4).to("cuda")
x.index_select(1, torch.tensor([2]).to("cuda"))
torch.nn.functional.avg_pool2d(x, 2).cpu()
torch.nn.functional.interpolate(x, scale_factor=2).cpu()
print(sorted(kinds), driver.faults)
""")
    assert output.strip() == "[False, True] []"
