"""The profiler: which ops it sees, ranges, schedules, tables and traces."""

import json

import pytest

import pellucid as torch
from pellucid.profiler import ProfilerAction, profile, record_function, schedule


def test_ops_and_ranges_are_counted():
    x = torch.ones(2, 3, requires_grad=True)
    with profile(record_shapes=True) as profiler:
        with record_function("forward"):
            y = (x * 2).relu() + x.relu()
        y.sum().backward()
    averages = {entry.key: entry for entry in profiler.key_averages()}
    assert averages["aten::relu"].count == 2
    assert averages["forward"].count == 1
    assert averages["aten::threshold_backward"].count == 2
    forward = averages["forward"]
    inside = [e for e in profiler.events() if e.cpu_parent is not None]
    assert {e.name for e in inside} == {"aten::mul", "aten::relu", "aten::add"}
    assert forward.self_cpu_time_total < forward.cpu_time_total
    assert inside[0].input_shapes[0] == [2, 3]


def test_nothing_is_recorded_outside():
    with profile() as profiler:
        pass
    with record_function("later"):
        torch.ones(2) + 1
    assert len(profiler.events()) == 0


def test_a_schedule_chooses_the_steps():
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    actions = [plan(step) for step in range(5)]
    assert actions == [
        ProfilerAction.NONE,
        ProfilerAction.WARMUP,
        ProfilerAction.RECORD,
        ProfilerAction.RECORD_AND_SAVE,
        ProfilerAction.NONE,
    ]
    ready = []
    with profile(schedule=plan, on_trace_ready=ready.append) as profiler:
        for step in range(5):
            torch.ones(2) * step
            profiler.step()
    assert ready == [profiler]
    counts = {entry.key: entry.count for entry in profiler.key_averages()}
    assert counts["aten::mul"] == 2


def test_a_cycle_is_ready_in_the_step_behind_it():
    steps = []
    plan = schedule(wait=1, warmup=1, active=2)
    with profile(schedule=plan, on_trace_ready=lambda p: steps.append(p.step_num)) as p:
        for _ in range(8):
            p.step()
    assert steps == [4, 8]


def test_table_and_trace(tmp_path):
    with profile() as profiler:
        torch.ones(3).exp()
    table = profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
    assert "aten::exp" in table
    assert "# of Calls" in table
    with pytest.raises(AttributeError, match="cpu_time_total"):
        profiler.key_averages().table(sort_by="name")
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert "aten::exp" in names


def test_what_is_not_recorded_is_said_once():
    with pytest.warns(UserWarning, match="profile_memory=True, with_stack") as warned:
        profiler = profile(profile_memory=True, with_stack=True)
    assert len(warned) == 1 and warned[0].filename == __file__
    with profiler:
        torch.ones(3).exp()
    assert "aten::exp" in [event.name for event in profiler.events()]
