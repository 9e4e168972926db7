"""``torch.accelerator.Graph`` on Python backends: lists of launches, replayed."""

from tests.devices.programs import run_program

START = """
import pellucid as torch
from pellucid.devices.late import Late
from toy_device import Toy

late = Late(Toy(), seed=3)
torch.devices.register(late)
x = torch.arange(8.0).to("late")
i = torch.tensor([1]).to("late")
graph, stream = torch.accelerator.Graph(), torch.Stream("late")

def raised(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__} {error}".splitlines()[0]

def replay(graph=graph):
    torch.accelerator.synchronize()  # what the graph reads is there
    with stream:
        graph.replay()
    torch.accelerator.synchronize()
"""


def test_what_is_recorded_runs_when_it_is_replayed_and_keeps_its_memory():
    output = run_program(
        START
        + """
w = torch.full((8,), 2.0).to("late")
torch.accelerator.synchronize()
with stream, graph:
    y = (x * w + 1).sum()
    z = x.clone()
    w += 1
torch.accelerator.synchronize()
print(w[0].item())
for _ in range(2):
    noise = [torch.full((8,), -1.0).to("late") for _ in range(4)]
    replay()
    print(y.item(), z[2].item(), w[0].item(), all((n == -1).all() for n in noise))
x += 1
replay()
print(z.tolist() == x.tolist(), raised(graph.capture_begin))
graph.reset()
print(raised(graph.replay))
"""
    )
    assert output.splitlines() == [
        "2.0",
        "64.0 2.0 3.0 True",
        "92.0 2.0 4.0 True",
        "True RuntimeError this graph has been captured; reset() it first",
        "RuntimeError Graph.replay(): nothing is captured yet; capture first",
    ]


def test_streams_that_wait_for_the_capture_join_it():
    output = run_program(
        START
        + """
side = torch.Stream("late")
torch.accelerator.synchronize()
with stream, graph:
    side.wait_stream(stream)
    with side:
        y = x.index_select(0, i)
    stream.wait_stream(side)
    z = y * 2
replay()
print(z.item())
with side:
    print((x + 1)[3].item())  # runs at once again
i.fill_(99)
torch.accelerator.synchronize()
print(raised(replay))
print((x * 2)[1].item())
"""
    )
    first, second, error, last = output.splitlines()
    assert (first, second, last) == ("2.0", "4.0", "2.0")
    assert error.startswith("IndexError aten::index_select on late:0")


def test_graphs_that_share_a_pool_replay_in_their_order():
    output = run_program(
        START
        + """
torch.accelerator.synchronize()
with stream, graph:
    y = x * 2
other = torch.accelerator.Graph(pool=graph.pool())
with stream, other:
    z = y + 1
print(other.pool() == graph.pool())
replay()
replay(other)
print(z.tolist() == [2.0 * k + 1 for k in range(8)])
"""
    )
    assert output.split() == ["True", "True"]


def test_what_cannot_be_recorded_is_refused_and_leaves_nothing_behind():
    output = run_program(
        START
        + """
def record(call):
    def run():
        with stream, graph:
            call()
    print(raised(run))
    graph.reset()

torch.accelerator.synchronize()
record(lambda: x.tolist())
record(lambda: torch.randn(3, device="late"))
record(lambda: x.nonzero())
with stream:
    print((x + 1)[0].item())
print(raised(lambda: torch.accelerator.Graph(keep_graph=True))[:19])
late.pool = "none"
record(lambda: x + 1)
"""
    )
    lines = output.splitlines()
    refused = "RuntimeError late:0: a copy from or to the CPU cannot be recorded"
    assert all(line.startswith(refused) for line in lines[:3])
    assert lines[3:5] == ["1.0", "NotImplementedError"]
    assert "Give the backend pool = 'best_fit'" in lines[5]


def test_nothing_waits_for_an_event_of_a_capture():
    output = run_program(
        START
        + """
torch.accelerator.synchronize()
before = stream.record_event()
with stream, graph:
    y = x * 2
    event = stream.record_event()
    print({raised(f) for f in (event.query, event.synchronize)})
    print({raised(f) for f in (stream.query, stream.synchronize)})
    print(raised(before.synchronize), before.query())
replay()
print(y.tolist()[3], raised(stream.synchronize))
"""
    )
    refused = "late:0: an event or a stream that is being captured cannot be queried"
    first, second, *rest = output.splitlines()
    assert first == second == f"{{'RuntimeError {refused} or waited for.'}}"
    assert rest == ["None True", "6.0 None"]


def test_an_event_belongs_to_the_capture_of_its_device_until_it_is_recorded_again():
    output = run_program(
        START.replace("late = Late(", "late = Reusing(").replace(
            "late = ",
            """class Reusing(Late):
    def record(self, device, stream):
        self._marks[device:] = [self._queues[device][stream].mark()]
        return device

late = """,
        )
        + """
side, third, other = (torch.Stream(f"late:{k}") for k in (0, 0, 1))
graphs = [torch.accelerator.Graph() for _ in range(2)]
torch.accelerator.synchronize()
def runs(stream):
    with stream:
        return raised(x.tolist) is None

with stream, graphs[0]:
    y = x * 2
    event = stream.record_event()
    with other, graphs[1]:
        pass
    side.wait_event(event)
    event = third.record_event()
    third.wait_event(event)
    print(stream.stream_id == other.stream_id, runs(side), runs(third))
    stream.wait_stream(side)
"""
    )
    assert output.split() == ["True", "False", "True"]
