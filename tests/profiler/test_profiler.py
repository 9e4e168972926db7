"""The profiler: which ops it sees, ranges, schedules, tables and traces."""

import json

import pytest

import pellucid as torch
from pellucid import nn
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
    (whole,) = [e for e in profiler.events() if e.name == "forward"]
    inside = whole.cpu_children
    assert {e.name for e in inside} == {"aten::mul", "aten::relu", "aten::add"}
    assert whole.is_user_annotation and not inside[0].is_user_annotation
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
    with pytest.raises(AttributeError, match="no attribute 'name'"):
        profiler.key_averages().table(sort_by="name")
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    assert "aten::exp" in names


def trained(**options):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 8)
    with profile(**options) as profiler:
        model(x).sum().backward()
        optimizer.step()
    return profiler


def test_nodes_have_pytorchs_names_and_numbers():
    events = trained().events()
    by_name = {event.name: event for event in events}
    node = by_name["ReluBackward0"]
    assert node.cpu_parent.name == "autograd::engine::evaluate_function: ReluBackward0"
    assert node.sequence_nr == by_name["aten::relu"].sequence_nr >= 0
    assert node.fwd_thread == by_name["aten::relu"].thread and node.scope == 1
    assert by_name["aten::threshold_backward"].cpu_parent is node
    assert by_name["aten::threshold_backward"].sequence_nr == -1
    assert "Optimizer.step#SGD.step" in by_name
    counts = {entry.key: entry.count for entry in trained().key_averages()}
    assert counts["torch::autograd::AccumulateGrad"] == 4


def test_times_of_events_sum_to_those_of_the_outermost():
    events = trained().events()
    outermost = [event for event in events if event.cpu_parent is None]
    whole = sum(event.cpu_time_total for event in outermost)
    assert events.self_cpu_time_total == pytest.approx(whole)
    total = events.total_average()
    assert total.self_cpu_time_total == pytest.approx(whole)
    assert total.count == len(events)


def test_a_table_has_pytorchs_columns():
    x = torch.ones(8, 8)
    with profile(record_shapes=True, profile_memory=True) as p:
        x @ x
    rows = p.key_averages(group_by_input_shape=True).table()
    rows = rows.splitlines()
    heads = rows[1].split()
    wanted = "Name Self CPU % Self CPU CPU total % CPU total CPU time avg CPU Mem "
    wanted += "Self CPU Mem # of Calls Input Shapes"
    assert heads == wanted.split()
    assert all(len(row) == len(rows[0]) for row in rows[:4])
    assert "256 B" in rows[3] and "[[8, 8], [8, 8]]" in rows[3]


def test_widths_shares_and_headers_of_a_table():
    table = (
        trained()
        .key_averages()
        .table(sort_by="count", row_limit=2, header="A model", max_name_column_width=20)
    )
    rows = table.splitlines()
    assert rows[1] == "A model" and set(rows[0]) == {"="}
    assert rows[3].startswith("-" * 20 + "  " + "-" * 12)
    assert len(rows) == 10 and rows[-1].startswith("Self CPU time total: ")
    assert (
        rows[6].lstrip().startswith(("autograd::engine:...", "torch::autograd::A..."))
    )
    for unit in ("s", "ms", "us"):
        table = trained().key_averages().table(time_unit=unit)
        assert all(row.split()[2].endswith(unit) for row in table.splitlines()[3:6])


def test_memory_is_what_ops_leave():
    x = torch.ones(1000)
    with profile(profile_memory=True) as profiler:
        with record_function("both"):
            y = x.exp()
            del y
        z = x.sin()
        del z
    averages = {entry.key: entry for entry in profiler.key_averages()}
    assert averages["aten::exp"].cpu_memory_usage == 4000
    assert averages["both"].cpu_memory_usage == 0
    assert averages["both"].self_cpu_memory_usage == -4000
    assert averages["[memory]"].cpu_memory_usage == -4000
    assert "-3.91 KB" in profiler.key_averages().table()


def test_operations_come_from_the_loops_of_the_ops():
    a, b = torch.ones(3, 4, requires_grad=True), torch.ones(4, 5)
    image, weight = torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3)
    q = torch.ones(2, 4, 8, 16)
    with profile(with_flops=True) as profiler:
        (a @ b).sum().backward()
        torch.addmm(torch.ones(5), a.detach(), b)
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        nn.functional.conv2d(image, weight, padding=1)
        nn.functional.scaled_dot_product_attention(q, q, q)
        a * 2
        a.detach().mul_(2)
    flops = {entry.key: entry.flops for entry in profiler.key_averages()}
    assert flops["aten::matmul"] == flops["aten::addmm"] == 2 * 3 * 4 * 5
    assert flops["aten::bmm"] == 2 * 2 * 3 * 4 * 5
    assert flops["aten::conv2d"] == 2 * (2 * 4 * 8 * 8) * (3 * 3 * 3)
    assert flops["aten::scaled_dot_product_attention"] == 2 * 2 * (2 * 4 * 8 * 8 * 16)
    assert flops["aten::mul"] == flops["aten::mul_"] == 12
    assert flops["derivative::matmul_vjp"] == 2 * 3 * 4 * 5
    table = profiler.key_averages().table(sort_by="flops", row_limit=1)
    assert "Total KFLOPs" in table and "aten::scaled_dot_product_attention" in table


def test_what_a_first_call_needs_is_not_charged_to_the_op():
    x = torch.ones(2, 3, 2, 2, 2, 2)
    with profile() as profiler:
        x.permute(5, 0, 1, 2, 3, 4).cummax(4)
    by_name = {event.name: event for event in profiler.events()}
    traced, op = by_name["pellucid::trace"], by_name["aten::cummax"]
    assert traced.cpu_parent is op
    assert op.self_cpu_time_total <= op.cpu_time_total - traced.cpu_time_total


def test_an_op_that_keeps_what_its_gradient_reads_has_its_own_name():
    x = torch.ones(1, 2, 8, 8, requires_grad=True)
    for _ in range(3):
        with profile() as profiler:
            nn.functional.max_pool2d(x, 2)
        names = [e.name for e in profiler.events() if e.name.startswith(("aten", "de"))]
        assert set(names) == {"aten::max_pool2d"}


def test_averages_are_grouped_by_stack():
    x = torch.ones(3)

    def first():
        return x.exp()

    def second():
        return x.exp()

    with profile(with_stack=True) as profiler:
        first()
        second()
    together = [e for e in profiler.key_averages() if e.key == "aten::exp"]
    strided = [
        e for e in profiler.key_averages(group_by_stack_n=2) if e.key == "aten::exp"
    ]
    assert [e.count for e in together] == [2] and together[0].stack == []
    assert [e.stack[0].split(": ")[1] for e in strided] == ["first", "second"]
    table = profiler.key_averages(group_by_stack_n=2).table()
    assert "Source Location" in table and "): first" in table


def test_stacks_are_written_for_flame_graphs(tmp_path):
    x = torch.ones(200, 200)
    with profile(with_stack=True) as profiler:
        for _ in range(20):
            x @ x
    path = tmp_path / "stacks.txt"
    profiler.export_stacks(str(path), "self_cpu_time_total")
    (line,) = path.read_text().splitlines()
    stack, _, value = line.rpartition(" ")
    assert int(value) > 0
    assert stack.endswith("test_stacks_are_written_for_flame_graphs")
    with pytest.raises(ValueError, match="self_cpu_time_total"):
        profiler.export_stacks(str(path), "count")


def test_decorators_name_ranges():
    @record_function("named")
    def work(x):
        return x.exp()

    with profile() as profiler:
        work(torch.ones(2))
    (named,) = [e for e in profiler.events() if e.name == "named"]
    assert [child.name for child in named.cpu_children] == ["aten::exp"]
    assert work.__name__ == "work"


def test_a_loader_is_seen_to_be_waited_for():
    loader = torch.utils.data.DataLoader(torch.arange(6), batch_size=2)
    with profile() as profiler:
        assert len(list(loader)) == 3
    counts = {entry.key: entry.count for entry in profiler.key_averages()}
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert counts[name] == 4  # the last finds that there is no more


def test_steps_have_ranges_of_their_own():
    with profile(schedule=schedule(wait=1, warmup=1, active=2)) as profiler:
        for _ in range(4):
            torch.ones(1).exp()
            profiler.step()
    names = [e.name for e in profiler.events() if e.name.startswith("ProfilerStep")]
    assert names == ["ProfilerStep#2", "ProfilerStep#3"]


def test_events_accumulate_over_cycles_on_request():
    ones = torch.ones(1)

    def count(acc_events):
        with profile(
            schedule=schedule(wait=0, warmup=0, active=1), acc_events=acc_events
        ) as profiler:
            for _ in range(3):
                ones.exp()
                profiler.step()
        return sum(event.name == "aten::exp" for event in profiler.events())

    assert count(acc_events=True) == 3
    assert count(acc_events=False) == 0


def test_the_older_profiler_has_tables_of_its_own():
    with torch.autograd.profiler.profile(record_shapes=True) as profiler:
        torch.ones(3).exp()
    assert "aten::exp" in profiler.table(sort_by="cpu_time_total")
    assert profiler.total_average().count == len(profiler.function_events)
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(3)
    assert off.function_events is None
    for refused in (
        torch.autograd.profiler.emit_nvtx,
        torch.autograd.profiler.emit_itt,
    ):
        with pytest.raises(NotImplementedError, match=r"torch\.profiler\.profile"):
            refused()
        with refused(enabled=False):
            pass


def test_what_is_read_too_early_is_said():
    with pytest.raises(AssertionError, match="has recorded nothing yet"):
        profile().key_averages()
    with pytest.raises(RuntimeError, match="give ProfilerActivity"):
        profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with pytest.raises(TypeError, match="takes a name, not int"), profile():
        record_function(3).__enter__()
