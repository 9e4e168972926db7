"""What a capture may touch, and what is left when it fails."""

from tests.cuda.standin import run_program

START = """
x = torch.arange(64.0).to("cuda")
i = torch.tensor([1]).to("cuda")
x.index_select(0, i)
x * 2 + 1  # compiles the kernels
g = torch.cuda.CUDAGraph()
def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
"""


def test_a_stream_that_joins_a_capture_uses_its_memory_and_status_words():
    output = run_program(
        START
        + """
side = torch.cuda.Stream()
with torch.cuda.graph(g):
    current = torch.cuda.current_stream()
    side.wait_stream(current)
    with side:
        print(torch.cuda.is_current_stream_capturing())
        y = x * 2 + 1
        z = x.index_select(0, i)
    current.wait_stream(side)
with side:
    print(torch.cuda.is_current_stream_capturing())
    noise = [torch.full((64,), -1.0, device="cuda") for _ in range(4)]
torch.cuda.synchronize()
g.replay()
torch.cuda.synchronize()
print(y[1].item(), z.item(), all((n == -1).all().item() for n in noise))
i.fill_(99)
for _ in range(2):
    g.replay()
    print(raised(torch.cuda.synchronize))
"""
    )
    assert output.splitlines() == [
        *("True", "False", "3.0 1.0 True"),
        *["IndexError"] * 2,
    ]


def test_a_capture_that_cannot_begin_leaves_nothing_behind():
    output = run_program(
        START
        + """
print(raised(g.capture_begin))  # the default stream cannot be captured
i.fill_(99)
x.index_select(0, i)
print(raised(torch.cuda.synchronize))
side = torch.cuda.Stream()
with side:
    print(raised(lambda: g.capture_begin(pool=(77, 0))))
    print(torch.cuda.is_current_stream_capturing(), (x + 1).sum().item())
"""
    )
    assert output.splitlines() == [
        *("RuntimeError", "IndexError", "ValueError", "False 2080.0"),
    ]


def test_a_handle_of_a_pool_outlives_the_graphs_that_used_it():
    output = run_program(
        START
        + """
pool = torch.cuda.graph_pool_handle()
for factor in (2, 3):
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, pool=pool):
        y = x * factor
    g.replay()
    print(g.pool() == pool, y[2].item())
    g.reset()
"""
    )
    assert output.splitlines() == ["True 4.0", "True 6.0"]


def test_a_block_that_is_freed_in_a_capture_gets_its_event_afterwards():
    output = run_program(
        START
        + """
used = torch.ones(64).to("cuda")
place = used.data_ptr()
with torch.cuda.graph(g):
    y = used * 2
    used.record_stream(torch.cuda.current_stream())
    del used
g.replay()
found = [torch.empty(64, device="cuda") for _ in range(3)]
torch.cuda.synchronize()
found += [torch.empty(64, device="cuda") for _ in range(3)]
print(place in [t.data_ptr() for t in found], y.sum().item())
"""
    )
    assert output.splitlines() == ["True 128.0"]


def test_pinned_memory_is_made_and_reused_during_a_capture():
    output = run_program(
        START
        + """
pinned = torch.ones(64).pin_memory()
place = pinned.data_ptr()
x.copy_(pinned, non_blocking=True)
torch.cuda.synchronize()
del pinned
with torch.cuda.graph(g):
    again = torch.empty(64, pin_memory=True)
    y = x * 2
print(again.data_ptr() == place)
g.replay()
print(y.sum().item())
"""
    )
    assert output.splitlines() == ["True", "128.0"]


def test_out_of_memory_in_a_capture_does_not_end_it():
    output = run_program(
        START
        + """
with torch.cuda.graph(g):
    print(raised(lambda: torch.empty(100 << 20, device="cuda")))
    y = x * 2
g.replay()
print(y[3].item())
""",
        memory=90 << 20,
    )
    assert output.splitlines() == ["OutOfMemoryError", "6.0"]


def test_a_capture_that_cannot_end_gives_back_its_graph():
    output = run_program(
        START
        + """
def capture():
    with torch.cuda.graph(g):
        x.index_select(0, i)
driver.fail("cuGraphInstantiate", 1)
print(raised(capture), any(c == "cuGraphDestroy" for c in driver.log()))
side = torch.cuda.Stream()
print((x + 1).sum().item())
"""
    )
    assert output.splitlines() == ["RuntimeError True", "2080.0"]


def test_replays_of_a_graph_are_one_entry_and_keep_their_words():
    output = run_program(
        START
        + """
with torch.cuda.graph(g):
    y = x.index_select(0, i)
other = torch.tensor([2]).to("cuda")
i.fill_(99)
for _ in range(3):
    g.replay()
g.reset()
x.index_select(0, other)
driver.log()
print(raised(torch.cuda.synchronize))
print(sum(c.startswith("cuMemsetD8Async") for c in driver.log()))
print(raised(torch.cuda.synchronize))
"""
    )
    assert output.splitlines() == ["IndexError", "1", "None"]


def test_a_wait_for_an_earlier_replay_raises_although_later_ones_are_queued():
    output = run_program(
        START
        + """
with torch.cuda.graph(g):
    y = x.index_select(0, i)
i.fill_(99)
g.replay()
event = torch.cuda.Event()
event.record()
g.replay()
print(raised(event.synchronize), raised(torch.cuda.synchronize))
"""
    )
    assert output.split() == ["IndexError", "IndexError"]


def test_the_mode_of_a_capture_is_the_drivers():
    output = run_program(
        START
        + """
for mode in ("global", "thread_local", "relaxed"):
    with torch.cuda.graph(g, capture_error_mode=mode):
        y = x * 2
    print([c.split()[-1] for c in driver.log() if c.startswith("cuStreamBegin")])
    g.reset()
try:
    g.capture_begin(capture_error_mode="none")
except RuntimeError as error:
    print(error)
"""
    )
    assert output.splitlines() == [
        *("['0']", "['1']", "['2']"),
        "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, "
        "got none",
    ]


def test_replays_draw_further_numbers_as_the_same_calls_would():
    output = run_program("""
generator = torch.cuda.default_generators[0]
own = torch.Generator("cuda")
x = torch.ones(300, device="cuda")
def draw():
    noise = torch.rand(300, device="cuda", generator=own)
    return torch.nn.functional.dropout(x) + torch.randn_like(x) + noise

torch.cuda.manual_seed(3), own.manual_seed(4)
expected = [draw().cpu() for _ in range(4)]
torch.cuda.manual_seed(3), own.manual_seed(4)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = draw()
print(generator.get_offset(), own.get_offset())
drawn = []
for turn in range(4):
    if turn == 1:  # an eager call between replays
        drawn.append(draw().cpu())
        continue
    graph.replay()
    torch.cuda.synchronize()
    drawn.append(y.cpu())
print([torch.equal(a, b) for a, b in zip(drawn, expected)])
print(generator.get_offset(), own.get_offset(), driver.faults)
state = torch.cuda.get_rng_state()
graph.replay()
torch.cuda.synchronize()
last = y.clone()
torch.cuda.set_rng_state(state), own.set_offset(16)
graph.replay()
torch.cuda.synchronize()
print(torch.equal(last, y), torch.cuda.get_rng_state().numel())
graph.reset()
""")
    assert output.splitlines() == [
        "0 0",
        "[True, True, True, True]",
        "32 16 []",
        "True 16",
    ]


def test_checkpoints_and_forks_in_a_capture_set_its_draws():
    output = run_program(
        START
        + """
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.checkpoint import checkpoint
generator = torch.cuda.default_generators[0]
before = torch.cuda.get_rng_state()
graphs = []
for reentrant in (True, False):
    x = torch.ones(300, device="cuda", requires_grad=True)
    one = torch.ones(300, device="cuda")
    graphs.append(torch.cuda.CUDAGraph())
    with torch.cuda.graph(graphs[-1]):
        y = checkpoint(torch.nn.functional.dropout, x, use_reentrant=reentrant)
        y.backward(one)
    for _ in range(2):
        last = y.detach().clone()
        graphs[-1].replay()
        torch.cuda.synchronize()
        print(torch.equal(x.grad, y), torch.equal(y, last))
        x.grad.zero_()
def message(call):
    try:
        call()
    except RuntimeError as error:
        return str(error).split()[0]
with torch.cuda.graph(g):
    with torch.random.fork_rng(devices=[0], device_type="cuda"):
        a = torch.rand(3, device="cuda")
    b = torch.rand(3, device="cuda")
    inside = torch.cuda.get_rng_state()
    print(generator.get_offset(), [message(call) for call in (
        lambda: torch.cuda.manual_seed(7), torch.cuda.seed, generator.clone_state,
        lambda: generator.set_state(before), lambda: generator.set_offset(2))])
offset = generator.get_offset()
seen = []
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(func)
        return func(*args, **(kwargs or {}))
with Mode():
    g.replay()
torch.cuda.synchronize()
print(torch.equal(a, b), a.any().item(), generator.get_offset() - offset, seen)
print(message(lambda: generator.set_state(inside)), driver.faults)
"""
    )
    assert output.splitlines() == [
        *["True False"] * 4,
        "4 ['manual_seed()', 'manual_seed()', 'clone_state()', 'set_state()', 'the']",
        "True True 4 []",
        "set_state(): []",
    ]
