"""Convolutions by cuDNN, a stand-in of it, which refuses wrong arguments: which ones it
computes and how, that they are right, and the switches."""

import functools

import pytest

from tests.cuda.standin import HERE, compiled, run_program


@functools.cache
def library():
    return compiled(HERE / "standin_cudnn.cpp")


PRELUDE = """
import ctypes
F = torch.nn.functional
cudnn = torch.backends.cudnn
dnn = ctypes.CDLL(os.environ["PELLUCID_CUDNN"])
dnn.standin_cudnn_log.restype = ctypes.c_char_p
def calls():
    torch.cuda.synchronize()
    lines = dnn.standin_cudnn_log().decode().splitlines()
    return [line.split()[0] for line in lines]
def told(name):
    torch.cuda.synchronize()
    lines = [line.split() for line in dnn.standin_cudnn_log().decode().splitlines()]
    words = [dict(w.split("=") for w in line[1:]) for line in lines]
    return [int(w[name]) for w in words]
def fail(function, status, after=0):
    dnn.standin_cudnn_fail(function.encode(), status, after)
torch.manual_seed(0)
def results(call, given, device, grads=True):
    given = [t.detach().to(device).requires_grad_(grads) for t in given]
    y = call(*given)
    if not grads:
        return [y]
    g = torch.linspace(-1, 1, y.numel()).view(y.shape).to(y.dtype).to(device)
    return [y, *torch.autograd.grad(y, given, g)]
def near(call, *given, tolerance=1e-4, grads=True):
    pairs = zip(results(call, given, "cuda", grads), results(call, given, "cpu", grads))
    return all(
        a.shape == b.shape and a.dtype == b.dtype
        and torch.allclose(a.cpu().double(), b.double(), rtol=tolerance, atol=tolerance)
        for a, b in pairs
    )
"""


def run(text, **options):
    path = str(library())
    text = f"os.environ['PELLUCID_CUDNN'] = {path!r}\n{PRELUDE}\n{text}"
    return run_program(text, **options)


def test_convolutions_and_their_gradients_run_by_the_library():
    output = run("""
x, w, b = torch.randn(2, 4, 7, 6), torch.randn(6, 2, 3, 2), torch.randn(6)
every = ["Forward", "BackwardData", "BackwardFilter"]
transposed = ["BackwardData", "Forward", "BackwardFilter"]
def check(call, *given, tolerance=1e-4, kinds=every):
    print(near(call, *given, tolerance=tolerance), calls() == kinds)
windows = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
check(lambda x, w, b: F.conv2d(x, w, b, **windows), x, w, b)
check(lambda x, w: F.conv2d(x, w), x, torch.randn(3, 4, 1, 1))
check(lambda x, w: F.conv1d(x, w, None, 3, 2), x[..., 0], torch.randn(5, 4, 4))
check(lambda x, w: F.conv3d(x, w, None, 2, 1), torch.randn(1, 2, 4, 5, 3),
      torch.randn(3, 2, 2, 3, 2))
check(lambda x, w, b: F.conv2d(x, w, b, **windows), x.double(), w.double(), b.double(),
      tolerance=1e-12)
for dtype, tolerance in ((torch.half, 2e-2), (torch.bfloat16, 2e-1)):
    check(lambda x, w: F.conv2d(x, w, **windows), x.to(dtype), w.to(dtype),
          tolerance=tolerance)
check(lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2), x, w[:4], b[:4],
      kinds=transposed)
last = x.contiguous(memory_format=torch.channels_last)
check(lambda x, w, b: F.conv2d(x, w, b, **windows), last, w, b)
y = F.conv2d(last.to("cuda"), w.to("cuda"), groups=2)
print(y.is_contiguous(memory_format=torch.channels_last), told("format") == [1])
print(dnn.standin_cudnn_live())
""")
    assert output.splitlines() == [*["True True"] * 10, "0"]


def test_what_the_library_does_not_take_runs_by_the_plan():
    output = run(
        """
import warnings
x, w = torch.randn(1, 2, 5, 5), torch.randn(2, 2, 2, 2)
def ran(call, *given, grads=False):
    right = near(call, *given, grads=grads)
    return right, calls()
print(ran(lambda x, w: F.conv2d(x, w, padding="same"), x, w))
last = x.double().contiguous(memory_format=torch.channels_last)
print(ran(F.conv2d, last, w.double(), grads=True))  # CUDNN_STATUS_NOT_SUPPORTED
print(ran(F.conv2d, x.long(), w.long()))
print(ran(F.conv2d, x[0], w))  # without a batch
print(ran(F.conv2d, x[:0], w))
try:
    F.conv2d(x.to("cuda"), torch.randn(2, 3, 2, 2).to("cuda"))
except RuntimeError as error:
    print("expected input" in str(error))
with cudnn.flags(enabled=False):
    print(ran(F.conv2d, x, w, grads=True))
bias = torch.randn(2)
for status in (3, 6, 9, 3007):
    fail("find", status)
    print(ran(lambda x, w: F.conv2d(x, w, bias.to(x.device), status), x, w))
fail("find", 0), fail("add", 9)
for dtype in (torch.float, torch.half):
    given = [t.to(dtype) for t in (x, w, bias)]
    print(near(F.conv2d, *given, tolerance=1e-2, grads=True), calls()[0])
fail("add", 0)
def message(call, count, device):
    try:
        call(x.to(device), w.to(device), torch.ones(count).to(device))
    except RuntimeError as error:
        return str(error)
print([message(call, n, "cuda") == message(call, n, "cpu") != None
       for call in (F.conv2d, F.conv_transpose2d) for n in (1, 3, 4096)], calls())
fail("create", 1)
with torch.cuda.device(1), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print([near(F.conv2d, x, w, grads=False) for _ in range(2)], calls())
print([str(w.message).split(",")[0] for w in caught])
there = torch.randn(51).to("cuda")[1:].view(1, 2, 5, 5)  # an address of 4 bytes
print(torch.allclose(F.conv2d(there, w.to("cuda")).cpu(), F.conv2d(there.cpu(), w),
                     atol=1e-5), calls())
""",
        count=2,
    )
    assert output.splitlines() == [
        *["(True, [])"] * 5,
        "True",
        *["(True, [])"] * 5,
        *["True Forward"] * 2,
        f"{[True] * 6} []",
        "[True, True] ['Create']",
        "['cuDNN error: cudnnCreate returned 1']",
        "True ['Forward']",
    ]


def test_switches_choose_the_algorithm():
    output = run("""
x, w = torch.randn(1, 3, 6, 6), torch.randn(4, 3, 3, 3)
conv = lambda x, w: F.conv2d(x, w, None, 2)
def algorithms():
    right = near(conv, x, w)
    return right, told("algorithm")
print(algorithms())
with cudnn.flags(enabled=True, deterministic=True):
    print(algorithms())
torch.use_deterministic_algorithms(True)
print(algorithms())
torch.use_deterministic_algorithms(False)
cudnn.allow_tf32 = False
near(conv, x, w)
print(told("math"))
cudnn.allow_tf32 = True
near(conv, x, w)
print(told("math"))
cudnn.conv.fp32_precision = "ieee"
near(conv, x, w)
print(told("math"))
print(cudnn.version(), cudnn.is_available(), cudnn.is_acceptable(x.to("cuda")),
      cudnn.is_acceptable(x), cudnn.is_acceptable(x.long().to("cuda")))
""")
    assert output.splitlines() == [
        "(True, [1, 0, 0])",  # as the library recommends
        "(True, [1, 1, 1])",
        "(True, [1, 1, 1])",
        "[3, 3, 3]",
        "[0, 0, 0]",
        "[3, 3, 3]",
        "91002 True True False False",
    ]


def test_benchmark_keeps_the_fastest_candidate():
    output = run(
        """
x, w = torch.randn(1, 3, 6, 6).to("cuda"), torch.randn(4, 3, 3, 3).to("cuda")
cudnn.benchmark = True
def ran(call):
    expected = call(x.cpu(), w.cpu())
    driver.log()
    y = call(x, w)
    print(sorted(told("algorithm")), torch.allclose(y.cpu(), expected, atol=1e-5))
# The stand-in driver counts pieces of work: algorithms take 8, 1 and 2, the plan one.
for _ in range(2):
    ran(lambda x, w: F.conv2d(x, w, None, 2))
# An algorithm that fails is none, and its events are destroyed.
fail("run2", 8, after=1)
torch.cuda.synchronize()
ran(lambda x, w: F.conv2d(x, w, None, 2, 1))
made = [c.split()[0] for c in driver.log()]
print(made.count("cuEventCreate") == made.count("cuEventDestroy"))
fail("run2", 0)
# With memory for the result alone, the algorithm without a workspace runs, and the next
# call times all.
conv = lambda: F.conv2d(x, w, None, 1, 1)
held = []
for count in (1 << 18, 1 << 14, 256):
    try:
        while True:
            held.append(torch.empty(count, device="cuda"))
    except torch.OutOfMemoryError:
        pass
del held[-1]
y = conv()
print(told("algorithm"))
del held
torch.cuda.empty_cache()
expected = F.conv2d(x.cpu(), w.cpu(), None, 1, 1)
print(torch.allclose(y.cpu(), expected, atol=1e-5))
conv()
print(sorted(told("algorithm")))
cudnn.benchmark_limit = 1  # the slowest, so the plan is faster
for _ in range(2):
    ran(lambda x, w: F.conv2d(x, w, None, 3))
g = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(g):  # times nothing
    y = F.conv2d(x, w)
g.replay()
print(told("algorithm"), torch.allclose(y.cpu(), F.conv2d(x.cpu(), w.cpu()), atol=1e-5))
""",
        memory=64 << 20,
    )
    assert output.splitlines() == [
        "[0, 0, 0, 1, 1, 2, 2] True",
        "[0] True",
        "[0, 0, 0, 1, 1, 2] True",
        "True",
        "[0, 0, 0]",
        "True",
        "[0, 0, 0, 1, 1, 2, 2]",
        "[1, 1] True",
        "[] True",
        "[1] True",
    ]


@pytest.mark.parametrize("path", ["/nowhere.so", "0"])
def test_a_library_that_cannot_be_loaded_is_an_error_and_none_is_not(path):
    output = run_program(f"""
os.environ["PELLUCID_CUDNN"] = {path!r}
x = torch.randn(1, 2, 4, 4).to("cuda")
try:
    torch.nn.functional.conv2d(x, x)
    print(torch.backends.cudnn.is_available(), torch.backends.cudnn.version())
except RuntimeError as error:
    print(error)
""")
    assert output.strip().startswith(
        "False None" if path == "0" else "cuDNN: /nowhere.so"
    )
