"""Traces: they parse and nest, whatever names, lines and threads a program has."""

import gzip
import json
import random
import threading

import pytest

import pellucid as torch
from pellucid.profiler import (
    ExecutionTraceObserver,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

NAMES = ['"quoted"', "back\\slash", "new\nline", "</script>", "ünïcödé \U0001f525", ""]


def trace_of(profiler, path):
    profiler.export_chrome_trace(str(path))
    if path.suffix == ".gz":
        return json.loads(gzip.decompress(path.read_bytes()))
    return json.loads(path.read_text())


def spans_of(trace):
    spans = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "Trace":
            end = event["ts"] + event["dur"]
            spans.setdefault(event["tid"], []).append((event["ts"], end))
    return spans


def nests(spans):
    """Whether any two spans are apart or one within the other, to a nanosecond."""
    open_ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= begin + 1e-3:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + 1e-3:
            return False
        open_ends.append(end)
    return True


def wild(chance, depth):
    """A program of nested ranges and ops."""
    x = torch.ones(chance.choice([2, 3000]), requires_grad=chance.random() < 0.5)
    for _ in range(chance.randint(1, 3)):
        with record_function(chance.choice(NAMES)):
            y = chance.choice([torch.exp, torch.relu, torch.Tensor.clone])(x).sum()
            if y.requires_grad and chance.random() < 0.5:
                y.backward()
            if depth:
                wild(chance, depth - 1)


@pytest.mark.parametrize("seed", range(6))
def test_traces_parse_and_nest(seed, tmp_path):
    chance = random.Random(seed)
    options = ("record_shapes", "profile_memory", "with_stack", "with_modules")
    with profile(**{name: chance.random() < 0.5 for name in options}) as profiler:
        threads = [
            threading.Thread(target=wild, args=(random.Random(seed + k), 2))
            for k in range(2)
        ]
        for thread in threads:
            thread.start()
        wild(chance, 3)
        for thread in threads:
            thread.join()
    trace = trace_of(profiler, tmp_path / ("t.json.gz" if seed % 2 else "t.json"))
    spans = spans_of(trace)
    assert len(spans) == 3
    assert all(nests(actual) for actual in spans.values())
    calls = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert all(event["dur"] >= 0 and event["ts"] > 0 for event in calls)


def test_spans_that_overlap_are_found():
    assert nests([(0, 10), (1, 4), (4, 10)])
    assert not nests([(0, 10), (5, 11)])


def test_arrows_lead_from_forward_calls_to_nodes(tmp_path):
    x = torch.ones(3, requires_grad=True)
    with profile(with_stack=True) as profiler:
        x.exp().sum().backward()
    trace = trace_of(profiler, tmp_path / "trace.json")
    arrows = [e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"]
    starts = {e["id"]: e["ts"] for e in arrows if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in arrows if e["ph"] == "f"}
    assert set(starts) == set(ends) and len(starts) == 2
    assert all(starts[number] < ends[number] for number in starts)


def test_metadata_is_part_of_the_trace(tmp_path):
    with profile() as profiler:
        profiler.add_metadata("note", 'a "quoted" text')
        profiler.add_metadata_json("numbers", "[1, 2]")
    trace = trace_of(profiler, tmp_path / "trace.json")
    assert trace["note"] == 'a "quoted" text' and trace["numbers"] == [1, 2]
    assert trace["trace_id"] == profiler.get_trace_id()


def test_each_cycle_leaves_a_trace_for_tensorboard(tmp_path):
    with profile(
        schedule=schedule(wait=1, warmup=0, active=1, repeat=2),
        on_trace_ready=tensorboard_trace_handler(str(tmp_path), "worker"),
    ) as profiler:
        for _ in range(5):
            torch.ones(2).exp()
            profiler.step()
    paths = sorted(tmp_path.glob("worker.*.pt.trace.json"))
    assert len(paths) == 2
    names = [e["name"] for e in json.loads(paths[1].read_text())["traceEvents"]]
    assert names.count("aten::exp") == 1 and "ProfilerStep#3" in names


def test_memory_is_reported_by_its_purpose(tmp_path):
    model = torch.nn.Linear(100, 50)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(8, 100)
    with profile(profile_memory=True) as profiler:
        model(x).relu().sum().backward()
        optimizer.step()
    path = tmp_path / "memory.json"
    profiler.export_memory_timeline(str(path))
    times, sizes = json.loads(path.read_text())
    assert len(times) == len(sizes) and times == sorted(times)
    from pellucid.profiler._timeline.storages import ROLES

    last = dict(zip(ROLES, sizes[-1][1:], strict=True))
    weights = 4 * (100 * 50 + 50)
    assert last["gradient"] == weights
    assert last["optimizer"] >= 2 * weights
    assert last["temporary"] == last["saved"] == 0
    page = tmp_path / "memory.html"
    profiler.export_memory_timeline(str(page))
    assert '"memory":' in page.read_text() and '"flame":' not in page.read_text()
    raw = tmp_path / "memory.raw.json.gz"
    profiler.export_memory_timeline(str(raw))
    changes = json.loads(gzip.decompress(raw.read_bytes()))
    signs = {0: 1, 1: 1, 3: -1}
    assert sum(signs[action] * n for _, action, n, _ in changes) == sum(sizes[-1])
    with pytest.raises(ValueError, match=r"\.html, \.json, \.json\.gz"):
        profiler.export_memory_timeline("memory.png")


def test_an_execution_trace_has_calls_with_their_arguments(tmp_path):
    path = tmp_path / "execution.json"
    observer = ExecutionTraceObserver().register_callback(str(path))
    with profile(execution_trace_observer=observer), record_function("outer"):
        torch.ones(2, 3).exp()
    nodes = {node["name"]: node for node in json.loads(path.read_text())["nodes"]}
    assert nodes["aten::exp"]["ctrl_deps"] == nodes["outer"]["id"]
    assert nodes["aten::exp"]["inputs"]["shapes"] == [[2, 3]]
    assert not observer.is_running()


def test_traces_are_small(tmp_path):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    x, options = (
        torch.randn(2, 4, 16),
        ("record_shapes", "with_stack", "profile_memory"),
    )
    with profile(**dict.fromkeys(options, True)) as profiler:
        for _ in range(3):
            layer(x).sum().backward()
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    # Ten steps of a GPT of six layers are 8,000 events; a bound of 20 MB.
    assert path.stat().st_size / len(profiler.events()) < 20e6 / 8000
