"""Order on streams, pinned memory and graphs.

The stand-in runs work when it is awaited, so what is not waited for has its old values.
"""

from tests.cuda.standin import run_program


def test_a_stream_sees_another_ones_work_only_if_it_waits():
    output = run_program("""
import ctypes
for waits in (True, False):
    x = torch.full((4,), 3.0).to("cuda")
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with side:
        y = x * 2
    if waits:
        torch.cuda.current_stream().wait_stream(side)
    print((y + 1).tolist() == [7.0] * 4, side.query())
    side.synchronize()
    print((y + 1).tolist())
""")
    assert output.splitlines() == [
        *("True True", "[7.0, 7.0, 7.0, 7.0]"),
        *("False False", "[7.0, 7.0, 7.0, 7.0]"),
    ]


def test_events_measure_and_are_destroyed_with_their_objects():
    output = run_program("""
x = torch.ones(4, device="cuda")
first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
first.record()
x + 1
x + 2
last.record()
print(first.query(), last.query())
last.synchronize()
print(first.elapsed_time(last), last.query())
driver.log()
first.record()
del first, last
print([call.split()[0] for call in driver.log()])
""")
    lines = output.splitlines()
    assert lines[1] == "2.0 True"
    assert lines[2] == str(
        ["cuEventDestroy", "cuEventCreate", "cuEventRecord", *["cuEventDestroy"] * 2]
    )


def test_a_freed_block_waits_for_the_stream_that_used_it():
    output = run_program("""
x = torch.full((1024,), 5.0).to("cuda")
place = x.data_ptr()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with side:
    y = x * 2
x.record_stream(side)
del x
print(torch.empty(1024, device="cuda").data_ptr() == place)
side.synchronize()
print(torch.empty(1024, device="cuda").data_ptr() == place, y.tolist()[:2])
""")
    assert output.split() == ["False", "True", "[10.0,", "10.0]"]


def test_priorities_are_clamped_to_what_the_gpu_has():
    output = run_program("""
torch.ones(1, device="cuda")
driver.log()
for priority in (0, -1, -100, 7):
    torch.cuda.Stream(priority=priority)
print([c.split()[-1] for c in driver.log() if "cuStreamCreate" in c])
""")
    assert output.strip() == str(["0", "-1", "-5", "0"])


def test_a_copy_from_pinned_memory_runs_while_the_program_goes_on():
    output = run_program("""
x = torch.arange(1000.0).pin_memory()
print(x.is_pinned(), torch.ones(2).is_pinned(), x.pin_memory() is x)
print(torch.ops.aten._pin_memory(torch.ones(2), torch.device("cuda")).is_pinned())
y = torch.empty(1000, device="cuda")
driver.log()
y.copy_(x, non_blocking=True)
z = x.to("cuda", non_blocking=True)
print([c.split()[0] + " " + c.split()[-1] for c in driver.log()])
x.zero_()  # before the copies have run, as nothing waited for them
print(y.sum().item(), z.sum().item())
x += 2
y.copy_(x)
x.zero_()
print(y.sum().item())
w = torch.arange(4.0)
y[:4].copy_(w, non_blocking=True)  # pageable memory: the copy has read it
w.zero_()
print(y[:4].tolist())
""")
    assert output.splitlines() == [
        *("True False True", "True"),
        str(["cuMemcpyHtoDAsync pinned"] * 2),
        "0.0 0.0",
        "2000.0",
        "[0.0, 1.0, 2.0, 3.0]",
    ]


def test_a_copy_to_pinned_memory_is_not_finished_when_it_returns():
    output = run_program("""
x = torch.full((100,), 4.0).to("cuda")
y = x.to("cpu", non_blocking=True)
into = torch.empty(100, pin_memory=True)
into.zero_()
into.copy_(x, non_blocking=True)
print(y.is_pinned(), into.sum().item())
torch.cuda.synchronize()
print(y.sum().item(), into.sum().item())
print(x.cpu().is_pinned(), x.cpu().sum().item())
""")
    assert output.splitlines() == ["True 0.0", "400.0 400.0", "False 400.0"]


def test_a_pinned_block_is_not_reused_while_a_copy_reads_it():
    output = run_program("""
y = torch.empty(5000, device="cuda")
x = torch.full((5000,), 3.0).pin_memory()
place = x.data_ptr()
y.copy_(x, non_blocking=True)
del x
other = torch.zeros(5000).pin_memory()
print(other.data_ptr() == place, y.sum().item())
del other
torch.cuda.synchronize()
print(torch.zeros(5000).pin_memory().data_ptr() != place)
third = torch.zeros(5000).pin_memory()
print(third.sum().item())
""")
    assert output.splitlines()[0] == "False 15000.0"
    assert output.splitlines()[-1] == "0.0"


def test_pinning_needs_a_device():
    output = run_program(
        """
x = torch.ones(2)
pins = [x.pin_memory, lambda: torch.ops.aten._pin_memory(x, torch.device("cpu"))]
for pin in (*pins, lambda: torch.empty(2, pin_memory=True)):
    try:
        pin()
    except RuntimeError as error:
        print(str(error).splitlines()[0][:40])
""",
        count=0,
    )
    assert output.splitlines() == ["Cannot access accelerator device when no"] * 3


def test_a_loader_pins_its_batches():
    output = run_program("""
from pellucid.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.arange(8.0), torch.arange(8))
for x, y in DataLoader(data, batch_size=4, pin_memory=True):
    print(x.is_pinned(), y.is_pinned(), x.to("cuda", non_blocking=True).sum().item())
""")
    assert output.splitlines() == ["True True 6.0", "True True 22.0"]


GRAPH = """
x = torch.ones(64).to("cuda")
(x * 2 + 1).sum()  # compiles the kernels
g = torch.cuda.CUDAGraph()
"""


def test_a_graph_repeats_its_launches_over_the_memory_of_its_capture():
    output = run_program(
        GRAPH
        + """
with torch.cuda.graph(g):
    print(torch.cuda.is_current_stream_capturing())
    y = x * 2 + 1
print(torch.cuda.is_current_stream_capturing())
noise = [torch.full((64,), -1.0).to("cuda") for _ in range(4)]  # must not meet y
for value in (1.0, 5.0):
    x.fill_(value)
    driver.log()
    g.replay()
    print([c.split()[0] for c in driver.log()], y.unique().tolist())
print(all((n == -1).all().item() for n in noise))
"""
    )
    assert output.splitlines() == [
        *("True", "False"),
        str(["cuGraphLaunch"]) + " [3.0]",
        str(["cuGraphLaunch"]) + " [11.0]",
        "True",
    ]


def test_memory_of_a_graph_stays_its_own_until_reset():
    output = run_program(
        GRAPH
        + """
with torch.cuda.graph(g):
    y = (x * 2).exp_() + 1  # the temporary is freed, and only the graph reuses it
place = y.data_ptr()
torch.cuda.empty_cache()
held = torch.cuda.memory_reserved()
del y
torch.cuda.empty_cache()
print(torch.cuda.memory_reserved() == held)
g.replay()
torch.cuda.synchronize()
g.reset()
torch.cuda.empty_cache()
print(torch.cuda.memory_reserved() < held, driver.faults)
try:
    g.replay()
except RuntimeError as error:
    print(error)
"""
    )
    assert output.splitlines() == [
        *("True", "True []"),
        "CUDAGraph.replay(): nothing is captured yet; capture first",
    ]


def test_what_cannot_be_recorded_is_refused_and_leaves_the_stream_usable():
    output = run_program(
        GRAPH
        + """
try:
    with torch.cuda.graph(g):
        (x + 1).tolist()
except RuntimeError as error:
    print(str(error).splitlines()[0])
print((x + 1).sum().item())
"""
    )
    assert output.splitlines()[-1] == "128.0"
    assert "CUDA error" in output


def test_a_failure_in_a_replay_is_raised_after_each():
    output = run_program("""
x = torch.arange(4.0).to("cuda")
i = torch.tensor([1]).to("cuda")
x[i]
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x.index_select(0, i)
for index in (2, 9, 3, 9):
    i.fill_(index)
    g.replay()
    try:
        torch.cuda.synchronize()
        print(y.tolist())
    except IndexError:
        print("IndexError")
""")
    assert output.splitlines() == ["[2.0]", "IndexError", "[3.0]", "IndexError"]


def test_graphs_share_a_pool():
    output = run_program(
        GRAPH
        + """
pool = torch.cuda.graph_pool_handle()
h = torch.cuda.CUDAGraph()
with torch.cuda.graph(g, pool=pool):
    y = x * 2
with torch.cuda.graph(h, pool=g.pool()):
    z = y + 1
print(g.pool() == h.pool() == pool)
x.fill_(4.0)
g.replay()
h.replay()
print(z.unique().tolist())
"""
    )
    assert output.splitlines() == ["True", "[9.0]"]


def test_graphed_callables_have_the_gradients_of_eager_calls():
    output = run_program("""
torch.manual_seed(0)
from pellucid import nn
model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
import copy
eager = copy.deepcopy(model).to("cuda")
model = model.to("cuda")
sample = torch.randn(3, 5).to("cuda").requires_grad_()
graphed = torch.cuda.make_graphed_callables(model, (sample,))
for _ in range(2):
    x = torch.randn(3, 5).to("cuda")
    a, b = (x.clone().requires_grad_() for _ in range(2))
    graphed(a).square().sum().backward()
    eager(b).square().sum().backward()
    print(torch.equal(a.grad.cpu(), b.grad.cpu()), *(
        torch.allclose(p.grad.cpu(), q.grad.cpu(), atol=1e-6)
        for p, q in zip(model.parameters(), eager.parameters())
    ))
print(driver.faults)
""")
    assert output.splitlines() == ["True True True True True"] * 2 + ["[]"]


def test_streams_of_a_priority_are_handed_out_in_turn():
    output = run_program("""
streams = [torch.cuda.Stream().stream_id for _ in range(40)]
print(len(set(streams)), streams[32:] == streams[:8])
print(torch.cuda.Stream(priority=-1).stream_id in streams)
""")
    assert output.splitlines() == ["32 True", "False"]


def test_only_events_that_measure_are_timed():
    output = run_program("""
torch.ones(1, device="cuda")
driver.log()
for is_timed in (False, True):
    torch.cuda.Event(enable_timing=is_timed).record()
torch.cuda.Stream().wait_stream(torch.cuda.current_stream())
print([c.split()[-1] for c in driver.log() if c.startswith("cuEventCreate")])
""")
    assert output.strip() == str(["2", "0", "2"])


def test_memory_is_given_back_without_raising_the_failures_of_kernels():
    output = run_program("""
x = torch.arange(4.0).to("cuda")
bad = torch.tensor([9]).to("cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with side:
    x.index_select(0, bad)
used = torch.empty(30 << 20, device="cuda")
used.record_stream(side)
del used
torch.cuda.empty_cache()
print(torch.cuda.memory_reserved() < 30 << 20)
try:
    side.synchronize()
except IndexError:
    print("raised")
""")
    assert output.split() == ["True", "raised"]


def test_a_failed_wait_for_memory_loses_none():
    output = run_program("""
side = torch.cuda.Stream()
used = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
used.record_stream(side)
del used
for function in ("cuEventSynchronize", "cuEventRecord"):
    driver.fail(function, 719)
    try:
        torch.cuda.empty_cache()
    except RuntimeError as error:
        print("CUDA error" in str(error))
torch.cuda.empty_cache()
print(torch.cuda.memory_reserved())
""")
    assert output.split() == ["True", "True", "0"]


def test_a_failure_to_release_is_reported_where_warnings_are_errors():
    output = run_program("""
import warnings
warnings.simplefilter("error")
x = torch.ones(4).to("cuda")
del x
driver.fail("cuMemFree", 719)
torch.cuda.empty_cache()
print(torch.ones(2, device="cuda").tolist())
""")
    assert output.strip() == "[1.0, 1.0]"


def test_factories_pin_what_they_make():
    output = run_program("""
x = torch.ones(2, 3)
for make in (
    *(lambda f=f, **k: f(3, **k) for f in (torch.zeros, torch.arange, torch.rand)),
    lambda **k: torch.full((3,), 2.0, **k),
    lambda **k: torch.zeros_like(x, **k),
    lambda **k: torch.empty_like(x, **k),
    lambda **k: x.new_empty((2,), **k),
    lambda **k: torch.empty(1, 2, 3, 4, memory_format=torch.channels_last, **k),
    lambda **k: torch.ops.aten._to_copy(x.double(), dtype=torch.float32, **k),
):
    made, plain = make(pin_memory=True), make()
    assert made.is_pinned() and not plain.is_pinned(), made
    assert made.stride() == plain.stride(), made.stride()
made = torch.empty_strided((2, 2), (5, 1), pin_memory=True)
print(made.stride(), made.is_pinned(), torch.arange(3, pin_memory=True).tolist())
for device in ("cuda", "meta"):
    for make in (torch.zeros, torch.empty):
        try:
            make(3, pin_memory=True, device=device)
        except RuntimeError as error:
            print(str(error)[:35])
""")
    assert output.splitlines() == [
        "(5, 1) True [0, 1, 2]",
        *["Only dense CPU tensors can be pinned"[:35]] * 4,
    ]
