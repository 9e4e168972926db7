"""The timeline: which events are written, that they nest, and that recording changes
nothing of what runs.
"""

import os
import threading
import time

import pytest

import pellucid as torch
from pellucid import _C, nn
from pellucid.profiler._timeline.log import Kind, Session, Watch

EVERYTHING = Watch.FACTS | Watch.MEMORY | Watch.STACKS | Watch.STEPS | Watch.MODULES


def recorded(work, what=Watch.CALLS):
    session = Session(what)
    session.start()
    try:
        work()
    finally:
        log = session.stop()
    return log


def names(log, kind):
    return [event.name for event in log.events if event.kind is kind]


def ancestors(event):
    while event.parent is not None:
        event = event.parent
        yield event


def trained(watch):
    """The weights after a few steps, and how many calls the caches knew."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, target = torch.randn(8, 8), torch.randn(8, 4)

    def steps():
        for _ in range(6):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), target).backward()
            optimizer.step()

    log = recorded(steps, watch) if watch is not None else steps()
    return [p.detach().clone() for p in model.parameters()], log


@pytest.mark.parametrize("watch", [Watch.CALLS, EVERYTHING], ids=["calls", "all"])
def test_recording_changes_no_bit(watch):
    plain, _ = trained(None)
    watched, log = trained(watch)
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))
    assert log.lost == 0


def test_repeated_calls_come_from_the_inline_caches_while_recording():
    a, b = torch.ones(5), torch.ones(5)
    for _ in range(4):
        a + b
    log = recorded(lambda: [a + b for _ in range(3)], EVERYTHING)
    calls = [event for event in log.events if event.kind is Kind.CALL]
    assert [call.name for call in calls] == ["aten::add.Tensor"] * 3
    assert all(call.is_repeated for call in calls)


def test_a_call_is_one_event_though_it_passes_several_keys():
    x = torch.ones(2, 3, requires_grad=True)
    log = recorded(lambda: x.exp().tanh())
    assert names(log, Kind.CALL) == ["aten::exp", "aten::tanh"]


def test_a_layer_that_keeps_statistics_for_its_gradient_is_one_event():
    x, layer = torch.ones(2, 6), nn.LayerNorm(6)
    log = recorded(lambda: layer(x))
    assert names(log, Kind.CALL) == ["aten::layer_norm"]


def test_events_nest_within_their_parents():
    x = torch.ones(64, 64, requires_grad=True)

    def work():
        token = _C._timeline_begin("outer")
        (x @ x).softmax(0).sum().backward()
        _C._timeline_end(token)

    log = recorded(work, EVERYTHING)
    inside = [event for event in log.events if event.parent is not None]
    assert len(inside) > 10
    for event in inside:
        assert event.parent.begin <= event.begin
        assert event.end <= event.parent.end
    strided = (Kind.FREE, Kind.COLLECT)
    outermost = [e for e in log.events if e.parent is None and e.kind not in strided]
    assert {event.name for event in outermost} == {"outer"}


def test_nodes_know_the_call_that_made_them():
    x = torch.ones(3, requires_grad=True)
    log = recorded(lambda: (x * 3).relu().sum().backward())
    calls = {e.name: e.sequence + 1 for e in log.events if e.kind is Kind.CALL}
    nodes = {e.name: e.sequence for e in log.events if e.kind is Kind.NODE}
    assert nodes["MulBackward0"] == calls["aten::mul.Tensor"]
    assert nodes["ReluBackward0"] == calls["aten::relu"]
    assert "torch::autograd::AccumulateGrad" in nodes


def test_arguments_are_recorded_with_shapes_strides_and_numbers():
    x = torch.ones(4, 6)[:, ::2]
    log = recorded(lambda: torch.sum(x, dim=[1], keepdim=True), Watch.FACTS)
    (call,) = [event for event in log.events if event.kind is Kind.CALL]
    first, dims, keepdim = call.arguments[:3]
    assert (first.dtype, first.shape, first.strides) == ("float32", (4, 3), (6, 2))
    assert (dims, keepdim) == ([1], True)


def test_lists_of_tensors_are_recorded():
    log = recorded(lambda: torch.cat([torch.ones(2), torch.ones(3)]), Watch.FACTS)
    call = next(event for event in log.events if event.name.startswith("aten::cat"))
    tensors, dim = call.arguments
    assert [tensor.shape for tensor in tensors] == [(2,), (3,)] and dim == 0


@pytest.mark.parametrize("text", ["", "none", "a text of more than eight bytes", "é"])
def test_strings_are_recorded(text):
    with torch.library._scoped_library("recorded", "FRAGMENT") as library:
        library.define("spoken(Tensor x, str text, int after) -> Tensor")
        library.impl("spoken", lambda x, text, after: x + 1, "CPU")
        x = torch.ones(2)
        log = recorded(lambda: torch.ops.recorded.spoken(x, text, 3), Watch.FACTS)
    call = next(event for event in log.events if event.name == "recorded::spoken")
    assert call.arguments[1:] == [text, 3]


def test_lines_are_those_outside_of_the_package():
    layer = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    x = torch.ones(2, 4)

    def work():
        layer(x)

    log = recorded(work, Watch.LINES)
    events = [event for event in log.events if event.kind is not Kind.COLLECT]
    lines = [log.user_line(event.line) for event in events]
    assert {line.file for line in lines} == {__file__}
    assert {line.function for line in lines} == {"work"}
    assert {line.number for line in lines} == {work.__code__.co_firstlineno + 1}


def test_stacks_have_every_frame_the_innermost_first():
    x = torch.ones(2)

    def inner():
        return x.cos()

    log = recorded(lambda: inner(), Watch.STACKS)
    frames = log.frames(log.events[0].line)
    assert [frame.function for frame in frames[:3]] == ["inner", "<lambda>", "recorded"]


def test_lines_of_ended_sessions_are_not_mistaken_for_new_ones():
    x = torch.ones(2)
    first = recorded(lambda: x.cos(), Watch.LINES)
    second = recorded(lambda: x.sin(), Watch.LINES)
    assert first.frames(second.events[0].line) == []
    assert second.frames(first.events[0].line) == []


def test_bytes_of_a_call_are_what_it_leaves():
    x = torch.ones(1000)
    kept = []
    log = recorded(lambda: kept.append((x + 1) * 2), Watch.MEMORY)
    add, multiply = [event for event in log.events if event.kind is Kind.CALL]
    assert add.bytes == multiply.bytes == 4000
    result = [event.bytes for event in log.events if event.kind is Kind.MAKE]
    freed = [event.bytes for event in log.events if event.kind is Kind.FREE]
    assert (result, freed) == ([4000, 4000], [-4000])


@pytest.mark.parametrize("numel", [3, 700, 5_000, 600_000])
def test_every_storage_made_is_freed(numel):
    def work():
        for _ in range(5):
            x = torch.empty(numel)
            x.resize_(2 * numel)
            x = x[1:].clone()
            del x

    work()
    log = recorded(work, Watch.MEMORY)
    total = 0
    for event in log.events:
        if event.kind in (Kind.MAKE, Kind.FREE):
            total += event.bytes
    assert total == 0
    assert names(log, Kind.MAKE) and len(names(log, Kind.MAKE)) == len(
        names(log, Kind.FREE)
    )


def test_blocks_recorded_agree_with_the_counters():
    def work():
        return [torch.ones(n) for n in (1, 300, 9_000, 400_000)]

    work()
    before = _C._memory_statistics()["allocated_bytes"]
    session = Session(Watch.BLOCKS)
    session.start()
    kept = work()
    after = _C._memory_statistics()["allocated_bytes"]
    log = session.stop()
    blocks = (Kind.TAKE_BLOCK, Kind.GIVE_BLOCK)
    assert sum(e.bytes for e in log.events if e.kind in blocks) == after - before
    assert len(kept) == 4


def test_reads_by_python_are_events():
    x = torch.arange(3)
    log = recorded(lambda: (x[0].item(), x.tolist(), bool(x[1])))
    assert names(log, Kind.READ) == ["aten::item", "tolist", "aten::item"]
    assert names(log, Kind.CALL) == ["aten::select.int", "aten::select.int"]


def test_threads_have_lists_of_their_own():
    x = torch.ones(3)

    def work():
        threads = [threading.Thread(target=lambda: x.exp()) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x.exp()

    log = recorded(work)
    assert len(log.threads) == 4
    assert names(log, Kind.CALL) == ["aten::exp"] * 4
    for thread in log.threads:
        assert sum(event.kind is Kind.CALL for event in thread.events) == 1


def test_shares_of_a_parallel_region_are_events_of_the_workers():
    x = torch.ones(400, 4000)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x.exp()
        log = recorded(lambda: [x.exp() for _ in range(20)], Watch.STEPS)
    finally:
        torch.set_num_threads(threads)
    shares = [event for event in log.events if event.kind is Kind.SHARE]
    owners = [share for share in shares if share.is_owner]
    assert len(owners) == 20
    assert all(next(ancestors(share)).name == "aten::exp" for share in owners)
    assert len(shares) <= 40


def test_modules_are_ranges_of_their_class():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.ones(1, 2)
    log = recorded(lambda: model(x), Watch.MODULES)
    assert names(log, Kind.MODULE) == ["Sequential", "Linear", "ReLU"]
    modules = [e for e in log.events if e.kind is Kind.MODULE]
    assert log.modules[modules[1].extra] is model[0]


def test_what_is_done_once_is_an_event():
    x = torch.ones(2, 3, 2, 2, 2, 2, 2)
    log = recorded(lambda: x.permute(6, 0, 1, 2, 3, 4, 5).logcumsumexp(3))
    assert set(names(log, Kind.PREPARE)) <= {"trace", "find kernel"}
    assert names(log, Kind.PREPARE)


def test_sessions_may_overlap():
    x = torch.ones(2)
    outer, inner = Session(), Session(Watch.FACTS)
    outer.start()
    x.exp()
    inner.start()
    x.sin()
    second = inner.stop()
    x.cos()
    first = outer.stop()
    assert names(first, Kind.CALL) == ["aten::exp", "aten::sin", "aten::cos"]
    assert names(second, Kind.CALL) == ["aten::sin"]
    assert not _C._timeline_is_on()


def test_an_error_ends_its_event():
    x = torch.ones(2, 3)

    def work():
        with pytest.raises(RuntimeError):
            x @ x
        x.exp()

    log = recorded(work)
    last = [event for event in log.events if event.kind is Kind.CALL][-1]
    assert last.name == "aten::exp" and last.parent is None


def test_a_range_that_outlives_its_session_is_ended_by_it():
    session = Session()
    session.start()
    token = _C._timeline_begin("open")
    log = session.stop()
    _C._timeline_end(token)
    (event,) = log.events
    assert event.name == "open" and event.end <= log.end


def test_a_session_is_stopped_once():
    session = Session()
    session.start()
    session.stop()
    with pytest.raises(RuntimeError, match="not started"):
        session.stop()


def test_a_forked_child_records_nothing():
    session = Session()
    session.start()
    child = os.fork()
    if child == 0:
        os._exit(1 if _C._timeline_is_on() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.stop().lost == 0


def test_nothing_is_recorded_without_a_session():
    assert _C._timeline_begin("nobody listens") is None
    assert not _C._timeline_is_on()


def test_equal_calls_have_one_number_of_arguments():
    x, y = torch.ones(2, 3), torch.ones(3)
    log = recorded(lambda: [x + y, x + y, x + 1, x + 2], Watch.FACTS)
    rows = log.columns.rows_of(Kind.CALL)
    numbers = log.columns.arguments[0][rows].tolist()
    assert numbers[0] == numbers[1] and len(set(numbers)) == 3
    assert log.event(int(rows[3])) is log.events_of(Kind.CALL)[3]


def test_rows_follow_their_parents_on_every_thread():
    x = torch.ones(64, 64, requires_grad=True)
    log = recorded(lambda: (x @ x).exp().sum().backward(), EVERYTHING)
    columns = log.columns
    assert len(columns) == len(log.events)
    assert all(columns.parent[row] < row for row in range(len(columns)))
    for row, event in enumerate(log.events):
        outer = -1 if event.parent is None else event.parent.row
        assert outer == columns.parent[row] and event.row == row


def test_what_another_process_timed_is_a_thread_of_its_own():
    def work():
        begin = time.perf_counter_ns()
        _C._timeline_add(4321, "DataLoader worker: dataset", begin, begin + 5000)

    log = recorded(work)
    (event,) = [e for e in log.events if e.thread.system_id == 4321]
    assert event.kind is Kind.RANGE and event.name == "DataLoader worker: dataset"
    assert 4000 < event.duration < 6000 and log.begin <= event.begin <= log.end
    assert not [e for e in recorded(lambda: None).events]


def test_ranges_of_another_process_may_arrive_in_any_order():
    before = time.perf_counter_ns()

    def work():
        begin = time.perf_counter_ns()
        for name, start in (("b", begin + 9), ("early", before - 10**9), ("a", begin)):
            _C._timeline_add(4321, name, start, start + 5000)

    events = [e for e in recorded(work).events if e.thread.system_id == 4321]
    assert sorted(e.name for e in events) == ["a", "b"]


def test_the_wait_for_a_late_gradient_belongs_to_no_node():
    x = torch.ones(2, requires_grad=True)
    first, late = x * 2, x.exp()
    ends = []

    ones = [torch.ones(2)]

    def wait():  # records nothing
        answer = None if ends else (0, ones[0])
        time.sleep(0.01)
        ends.append(time.perf_counter_ns())
        return answer

    log = recorded(
        lambda: _C._run_backward(
            [first], ones, False, False, [], True, True, [late], wait
        )
    )
    (node,) = [e for e in log.events_of(Kind.NODE) if "Exp" in e.name]
    # Both clocks are converted: within microseconds.
    assert node.begin > ends[0] - 5000


def test_stages_of_workers_are_part_of_the_log():
    data = torch.utils.data.TensorDataset(torch.ones(8, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)
    log = recorded(lambda: list(loader))
    ranges = [e for e in log.events_of(Kind.RANGE) if "worker: " in e.name]
    names = [e.name.partition(": ")[2] for e in ranges]
    assert names[:3] == ["dataset", "collate", "send"]
    assert all(e.thread.system_id != os.getpid() for e in ranges)


def test_a_repeated_derivative_has_its_gradients_among_its_arguments():
    w = torch.ones(4, 4, requires_grad=True)

    def step():
        for _ in range(5):
            w.exp().sum().backward()

    log = recorded(step, Watch.FACTS)
    found = [e for e in log.events_of(Kind.CALL) if "exp_vjp" in e.name]
    repeated = [e for e in found if e.is_repeated]
    assert repeated and repeated[-1].arguments[0].shape == (4, 4)
    assert repeated[-1].arguments == found[0].arguments


def test_keys_of_a_call_are_those_it_passed():
    w = torch.ones(3, requires_grad=True)
    log = recorded(lambda: (w * 2, torch.ones(2).exp()))
    keys = {e.name: e.keys for e in log.events_of(Kind.CALL)}
    assert keys["aten::mul.Tensor"] == ["Autograd", "CPU"]
    assert keys["aten::exp"] == ["CPU"]


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_session_inside_of_another_sees_what_is_freed_first(in_thread):
    held, addresses, steps = [torch.ones(100)], [], threading.Barrier(2, timeout=60)
    outer, inner = Session(Watch.MEMORY), Session(Watch.MEMORY)

    def work(start):
        held.append(torch.ones(100))
        addresses.extend(x.untyped_storage()._cdata for x in held)
        start()
        held.clear()

    outer.start()
    if in_thread:
        wait_twice = (lambda: (steps.wait(), steps.wait()),)
        thread = threading.Thread(target=work, args=wait_twice)
        thread.start()
        steps.wait()
        inner.start()
        steps.wait()
        thread.join()
    else:
        work(inner.start)
    for log in (inner.stop(), outer.stop()):
        freed = [e for e in log.events_of(Kind.FREE) if e.address in addresses]
        assert [e.bytes for e in freed] == [-400, -400]
        assert all(log.begin <= e.begin <= e.end <= log.end for e in freed)
