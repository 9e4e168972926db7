"""The asynchronous device: waits, streams, events, memory of several streams.

A *gate* is a task in which a stream waits until it is opened, which fixes the order of
execution. Each program runs in a process of its own.
"""

import json

import pytest

from tests.devices.programs import ROOT, run, run_program

PRELUDE = """
import threading
import pellucid as torch
from pellucid.devices.late import Late
from toy_device import Toy

late = Late(Toy(), seed=3, seconds=0)
torch.devices.register(late)

def gate(stream):
    opened = threading.Event()
    late._queues[0][stream.stream_id].put(opened.wait)
    return opened
"""


def test_the_kit_passes():
    report = json.loads(run(str(ROOT / "tests" / "devices" / "run_kit.py"), "late"))
    assert report["failures"] == [], report["text"]
    assert report["checked"]["ops"] > 1900
    assert report["launched"] > 10_000


def test_the_kit_finds_a_device_that_does_not_wait():
    output = run_program("""
import pellucid as torch
from pellucid.devices import check
from pellucid.devices.late import Late
from toy_device import Toy
torch.devices.register(Late(Toy(), seed=3, waits=False))
report = check.run("late", ["dtypes", "views", "autograd"])
print(len(report.failures) > 20, bool(report))
""")
    assert output.split() == ["True", "False"]


def test_a_stream_sees_the_work_of_another_one_that_it_waited_for():
    output = run_program(
        PRELUDE
        + """
for waits in (True, False):
    x = torch.full((4,), 3.0, device="late")
    torch.late.synchronize()
    side = torch.Stream("late")
    opened = gate(side)
    with side:
        assert torch.late.current_stream() == side
        y = x * 2
        done = side.record_event()
    main = torch.late.current_stream()
    assert main == torch.late.default_stream() != side
    if waits:
        main.wait_event(done)
        threading.Timer(0.05, opened.set).start()
    z = y + 1
    assert not done.query() or waits
    print(z.tolist() == [7.0] * 4)
    opened.set()
    side.synchronize()
    print(done.query(), y.tolist())
"""
    )
    assert output.split("\n")[:4] == [
        "True",
        "True [6.0, 6.0, 6.0, 6.0]",
        "False",
        "True [6.0, 6.0, 6.0, 6.0]",
    ]


def test_freed_memory_is_used_again_when_the_recorded_streams_passed():
    output = run_program(
        PRELUDE
        + """
side = torch.Stream("late")
for records in (True, False):
    a = torch.full((4,), 3.0, device="late")
    torch.late.synchronize()
    place, opened = a.data_ptr(), gate(side)
    with side:
        b = a * 2
    if records:
        a.record_stream(side)
    del a
    states = [p["state"] for s in torch.late.memory_snapshot() for p in s["blocks"]]
    c = torch.full((4,), 9.0, device="late")
    torch.late.default_stream().synchronize()
    print("active_awaiting_free" in states, c.data_ptr() == place)
    opened.set()
    side.synchronize()
    print(b.tolist() == [6.0] * 4)
    again = torch.full((4,), 1.0, device="late")
    print(again.data_ptr() == place)
"""
    )
    assert output.split("\n")[:6] == [
        "True False",
        "True",
        "True",
        "False True",
        "False",
        "False",
    ]


def test_a_failed_kernel_is_raised_where_the_program_waits():
    output = run_program(
        PRELUDE
        + """
x = torch.arange(4, device="late")
waits = (torch.late.synchronize, torch.late.current_stream().synchronize, x.tolist)
for wait in waits:
    y = x // (x - x)
    try:
        wait()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
z = x.float()[torch.tensor([0, 1, 9], device="late")]
try:
    z.cpu()
except IndexError as error:
    print(str(error).splitlines()[0])
print((x + 1).tolist())
"""
    )
    zero = "ZeroDivisionError: aten::floor_divide on late:0, its kernel (map) divided"
    lines = output.splitlines()
    assert [line.startswith(zero) for line in lines[:3]] == [True] * 3, output
    index = "aten::index.Tensor on late:0, its kernel (nest), element 2: index 9 is"
    assert lines[3].startswith(index)
    assert lines[4] == "[1, 2, 3, 4]"


def test_launches_can_be_made_to_wait(monkeypatch):
    monkeypatch.setenv("PELLUCID_LAUNCH_BLOCKING", "1")
    output = run_program(
        PRELUDE
        + """
x = torch.arange(4, device="late")
try:
    x // (x - x)
except RuntimeError as error:
    print(error)
"""
    )
    assert (
        output.strip() == "ZeroDivisionError: floor_divide divided an integer by zero"
    )


def test_events_measure_time_and_devices_have_streams_of_their_own():
    output = run_program(
        PRELUDE
        + """
first, last = (torch.late.Event(enable_timing=True) for _ in range(2))
first.record()
opened = gate(torch.late.current_stream())
threading.Timer(0.05, opened.set).start()
last.record()
print(first.elapsed_time(last) > 20)
other = torch.Stream("late:1")
with other:
    print(torch.late.current_device(), torch.empty(1, device="late").device)
    print(torch.accelerator.current_stream() == other)
print(torch.late.current_device(), torch.late.current_stream().stream_id)
x = torch.ones(2, device="late:1")
for bad in (lambda: x.record_stream(torch.Stream("late:0")),
            lambda: torch.ones(2).record_stream(other),
            lambda: torch.Event("cpu").record()):
    try:
        bad()
    except RuntimeError as error:
        print(str(error).split(":")[0])
"""
    )
    assert output.splitlines() == [
        "True",
        "1 late:1",
        "True",
        "0 0",
        "record_stream",
        "record_stream needs an accelerator's tensor; this one is on cpu",
        "cpu backend doesn't support events",
    ]


POOLS = """
import random
import pellucid as torch
from toy_device import Toy

"""


@pytest.mark.parametrize("policy", ["best_fit", "first_fit", "size_classes"])
def test_blocks_of_a_pool_do_not_meet(policy):
    name = policy.replace("_", "")
    output = run_program(
        POOLS
        + f"""
toy = type("Pooled", (Toy,), {{"name": {name!r}, "pool": {policy!r}, "poison": True,
    "alignment": 32, "padding": 8, "segment": 1 << 16}})(1 << 22)
torch.devices.register(toy)
module, draw, live = torch.{name}, random.Random(4), {{}}
for turn in range(600):
    if live and draw.random() < 0.5:
        number = draw.choice(list(live))
        assert (live.pop(number) == number).all()
    else:
        live[turn] = torch.full((draw.randint(1, 700),), turn, device={name!r})
    for tensor in live.values():
        assert tensor.data_ptr() % 32 == 0
assert all((t == number).all() for number, t in live.items())
blocks = [b for s in module.memory_snapshot() for b in s["blocks"]]
used = [b for b in blocks if b["state"] == "active_allocated"]
print(len(used) == len(live), sum(b["size"] for b in used) == module.memory_allocated())
print(all(b["size"] >= b["requested_size"] + 8 for b in used))
stats = module.memory_stats()
print(stats["reserved_bytes.all.current"] == sum(b["size"] for b in blocks))
print(stats["allocation.all.allocated"] - stats["allocation.all.freed"] == len(live))
print(stats["segment.all.allocated"] < stats["allocation.all.allocated"] / 5)
live.clear()
del tensor
module.empty_cache()
print(module.memory_reserved(), module.max_memory_reserved() > 0)
module.reset_peak_memory_stats()
print(module.max_memory_reserved())
"""
    )
    assert output.split("\n")[:-1] == ["True True", *["True"] * 4, "0 True", "0"]


@pytest.mark.parametrize("policy", ["best_fit", "first_fit"])
def test_blocks_of_a_pool_with_colors_start_at_banks_in_turn(policy):
    name = policy.replace("_", "")
    output = run_program(
        POOLS
        + f"""
toy = type("Banked", (Toy,), {{"name": {name!r}, "pool": {policy!r}, "color": 256,
    "alignment": 32, "segment": 1 << 16}})(1 << 22)
torch.devices.register(toy)
module, device = torch.{name}, {name!r}
live = [torch.full((2048,), k, device=device) for k in range(20)]
banks = [t.data_ptr() // 256 % 8 for t in live]
steps = {{(b - a) % 8 for a, b in zip(banks, banks[1:])}}
print(steps, all((t == k).all() for k, t in enumerate(live)))
count = module.memory_stats()["segment.all.current"]
small = torch.ones(16, device=device)
print(module.memory_stats()["segment.all.current"] == count)  # it is in a gap
draw = random.Random(5)
for turn in range(300):
    live[draw.randrange(20)] = torch.zeros(draw.randint(1, 20_000), device=device)
ends = sorted((t.data_ptr(), t.data_ptr() + t.nbytes) for t in live)
print(all(a[1] <= b[0] for a, b in zip(ends, ends[1:])))
live.clear()
del small
module.empty_cache()
print(module.memory_reserved())
"""
    )
    assert output.splitlines() == ["{1} True", "True", "True", "0"]


def test_an_allocation_gets_what_other_streams_no_longer_use():
    output = run_program(
        """
import pellucid as torch
from pellucid.devices.late import Late
from toy_device import Toy
torch.devices.register(Late(Toy(1 << 22)))
side = torch.Stream("late")
with side:
    x = torch.zeros(3 << 18, device="late")
del x
y = torch.zeros(3 << 18, device="late")
print(torch.late.memory_stats()["num_alloc_retries"])
try:
    torch.zeros(1 << 20, device="late")
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(torch.late.memory_stats()["num_ooms"], y.sum().item())
"""
    )
    assert output.splitlines() == [
        "1",
        "late:0 has no memory for 4194304 bytes: the chip has no free block of "
        "4194304 bytes",
        "1 0.0",
    ]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("pool = 'worst_fit'", "pool must be one of"),
        ("alignment = 24", "alignment must be a power of two, not 24"),
        ("padding = -1", "padding must be a number of bytes, not -1"),
        ("color = 64", "the pool 'best_fit' or 'first_fit'; color=64"),
        ("streams = True", "has no method new_stream(), which streams = True needs"),
    ],
)
def test_wrong_facts_of_a_backend_are_refused(fact, words):
    output = run_program(
        f"""
import pellucid as torch
from toy_device import Toy
class Wrong(Toy):
    {fact}
    def to_host(self, device, address, into, stream=0):
        Toy.to_host(self, device, address, into)
    def from_host(self, device, address, data, stream=0):
        Toy.from_host(self, device, address, data)
try:
    torch.devices.register(Wrong())
    torch.toy.current_stream().synchronize()
except (ValueError, TypeError) as error:
    print(error)
"""
    )
    assert words in output
