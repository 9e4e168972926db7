"""The flight recorder: dumps of ranks, and their comparison."""

import json
import pickle
import re
import threading
import time

import pytest

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed._group import flight
from pellucid.distributed.flight_recorder import fr_trace
from pellucid.distributed.flight_recorder.components.types import MatchState, Op
from tests.distributed.ranks import run_ranks

c10d = torch._C._distributed_c10d  # also without an import of it
RECORDS = {"TORCH_FR_BUFFER_SIZE": "6"}


def rank_is_recorded(rank, size):
    x = torch.ones(2, 2)
    dist.all_reduce(x)  # forgotten: six later calls follow
    dist.all_gather_into_tensor(torch.empty(4, 2), x)
    work = dist.reduce_scatter_tensor(torch.empty(1, 2), x, async_op=True)
    work.wait()
    pair = dist.new_group([0, 1], group_desc="pair")
    dist.broadcast(x.int(), 0, group=pair)
    post = dist.send if rank == 0 else dist.recv
    post(x, 1 - rank)
    found = pickle.loads(c10d._dump_fr_trace())
    assert found["version"] == flight.VERSION
    assert found["pg_config"]["1"] | {"name": ""} == {
        "name": "", "desc": "pair", "ranks": "[0, 1]",
    }  # fmt: skip
    assert len(found["entries"]) <= 6
    names = {entry["profiling_name"]: entry for entry in found["entries"]}
    gathered, scattered = names["gloo:all_gather"], names["gloo:reduce_scatter"]
    assert (gathered["input_sizes"], gathered["output_sizes"]) == ([[2, 2]], [[4, 2]])
    assert (scattered["input_sizes"], scattered["output_sizes"]) == ([[2, 2]], [[1, 2]])
    assert gathered["collective_seq_id"] + 1 == scattered["collective_seq_id"]
    assert names["gloo:broadcast"]["process_group"] == ("1", "pair")
    assert names["gloo:broadcast"]["input_dtypes"] == ["Int"]
    message = names["gloo:send 0->1" if rank == 0 else "gloo:recv 1<-0"]
    assert message["is_p2p"] and message["p2p_seq_id"] == 1
    assert message["input_sizes"] == message["output_sizes"] == [[2, 2]]
    assert {entry["state"] for entry in found["entries"]} == {"completed"}
    frame = gathered["frames"][0]
    assert frame["name"] == "rank_is_recorded" and frame["filename"] == __file__
    times = [gathered[f"time_{at}_ns"] for at in
             ("created", "discovered_started", "discovered_completed")]  # fmt: skip
    assert times == sorted(times)
    status = found["pg_status"]["1"]
    assert status["last_completed_collective"] == status["last_started_collective"]
    assert json.loads(c10d._dump_fr_trace_json(onlyActive=True))["entries"] == []
    assert json.loads(c10d._dump_nccl_trace_json())["entries"][0]["frames"] == []


def rank_records_shapes(rank, size):
    """As PyTorch's: what is gathered or scattered is one tensor with a dim of ranks."""
    x, single = torch.ones(2, 3), torch.ones(())
    rows = [torch.empty(2, 3) for _ in range(size)]
    is_root = rank == 0
    dist.all_reduce(single)
    dist.all_gather(rows, x)
    dist.gather(x, rows if is_root else None)
    dist.scatter(x, rows if is_root else None)
    dist.reduce_scatter(x, rows)
    dist.all_to_all(rows, [x, x])
    dist.all_to_all_single(torch.empty(2, 3), x)
    entries = json.loads(c10d._dump_fr_trace_json())["entries"]
    one, both, stacked = [[2, 3]], [[2, 3], [2, 3]], [[2, 2, 3]]
    found = [
        (entry["profiling_name"], entry["input_sizes"], entry["output_sizes"])
        for entry in entries
    ]
    assert found == [
        ("gloo:all_reduce", [[]], [[]]),
        ("gloo:all_gather", one, stacked),
        ("gloo:gather", one, stacked if is_root else []),
        ("gloo:scatter", stacked if is_root else [], one),
        ("gloo:reduce_scatter", stacked, one),
        ("gloo:all_to_all", both, both),
        ("gloo:all_to_all", one, one),
    ]
    assert entries[-2]["output_dtypes"] == ["Float"] * 2
    flight.write_dump(rank, [dist.group.WORLD])


def rank_differs(rank, size):
    dist.all_reduce(torch.ones(4))
    with pytest.raises(dist.DistBackendError, match="all_reduce"):
        dist.all_reduce(torch.ones(4 + rank))


def rank_cannot_dump(rank, size):
    dist.barrier()
    before = pickle.loads(c10d._dump_fr_trace())
    assert before["entries"][-1]["input_sizes"] == []
    with (
        pytest.warns(UserWarning, match="dump: .*No such file"),
        pytest.raises(dist.DistBackendError, match="all_reduce"),
    ):
        dist.all_reduce(torch.ones(4 + rank))
    found = pickle.loads(c10d._dump_fr_trace())
    last = before["pg_status"]["0"]["last_completed_collective"]
    assert found["pg_status"]["0"]["last_completed_collective"] == last
    assert found["pg_status"]["0"]["last_started_collective"] == last + 1
    assert found["entries"][-1]["state"] == "started"
    work = dist.all_reduce(torch.ones(3), async_op=True)
    work.wait()
    found = pickle.loads(c10d._dump_fr_trace())
    assert found["pg_status"]["0"]["last_completed_collective"] == last + 2


def rank_queues(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        first = dist.all_reduce(torch.ones(3), async_op=True)
        second = dist.all_reduce(torch.ones(5), async_op=True)
        thread = threading.Thread(target=dist.barrier)  # behind the queued ones
        thread.start()
        end = time.monotonic() + 60
        while len(found := pickle.loads(c10d._dump_fr_trace())["entries"]) < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert [entry["state"] for entry in found][1:] == ["scheduled"] * 2
        store.set("seen", "1")
        first.wait()
        second.wait()
        thread.join(60)
    else:
        store.wait(["seen"])
        dist.all_reduce(torch.ones(3))
        dist.all_reduce(torch.ones(5))
        dist.barrier()


def rank_waits_unrecorded(rank, size):
    if rank == 0:
        work = dist.all_reduce(torch.ones(3), async_op=True)
        end = time.monotonic() + 60
        while not (found := pickle.loads(c10d._dump_fr_trace())["entries"]):
            assert time.monotonic() < end
            time.sleep(0.01)
        (entry,) = found
        assert entry["state"] == "started" and entry["input_sizes"] == [[3]]
        assert entry["collective_seq_id"] == found[0]["record_id"]
        dist.distributed_c10d._get_default_store().set("seen", "1")
        work.wait()
    else:
        dist.distributed_c10d._get_default_store().wait(["seen"])
        dist.all_reduce(torch.ones(3))
    assert pickle.loads(c10d._dump_fr_trace())["entries"] == []


def test_the_last_calls_are_dumped_in_pytorchs_format(transport, tmp_path):
    environment = {**RECORDS, "PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    run_ranks(rank_is_recorded, 2, tmp_path, **environment)


def test_dumps_have_the_shapes_of_the_programs_tensors(tmp_path, capsys):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    environment = {"TORCH_FR_BUFFER_SIZE": "20", "TORCH_FR_DUMP_TEMP_FILE": f"{dumps}/"}
    run_ranks(rank_records_shapes, 2, tmp_path, **environment)
    fr_trace.main([str(dumps)])
    assert capsys.readouterr().out == "All collectives of 2 ranks match\n"


def test_without_a_buffer_the_current_call_is_dumped(tmp_path):
    run_ranks(rank_waits_unrecorded, 2, tmp_path)


def test_a_call_is_recorded_as_started_when_it_runs(tmp_path):
    run_ranks(rank_queues, 2, tmp_path, **RECORDS)


def test_an_error_of_ranks_is_told_although_the_dump_cannot_be_written(tmp_path):
    prefix = str(tmp_path / "absent" / "trace_")
    run_ranks(rank_cannot_dump, 2, tmp_path, **RECORDS, TORCH_FR_DUMP_TEMP_FILE=prefix)


def test_dumps_of_a_failure_say_what_differs(tmp_path, capsys):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    prefix = f"{dumps}/trace_"
    run_ranks(rank_differs, 2, tmp_path, **RECORDS, TORCH_FR_DUMP_TEMP_FILE=prefix)
    tables = tmp_path / "tables"
    fr_trace.main([str(dumps), "-o", str(tables)])
    shown = capsys.readouterr().out
    assert re.search(
        r"Collective mismatch at collective \d+ of group default_pg.*rank 1 beside "
        r"rank 0: input sizes \[\[4\]\] and \[\[5\]\]",
        shown,
    ), shown
    assert re.search(r"rank 1: all_reduce\(.*\(.*test_flight_recorder.py:\d+\)", shown)
    _, found = pickle.loads(tables.read_bytes())
    assert [group.size for group in found.groups] == [2]
    *others, last = found.collectives
    assert last.type_of_mismatch and not any(c.type_of_mismatch for c in others)
    assert len(found.ncclcalls) == 2 * len(found.collectives)
    fr_trace.main([str(dumps), "-j", "--selected-ranks", "1"])
    shown = capsys.readouterr().out
    assert "Rank 1" in shown and "Rank 0" not in shown and "all_reduce(" in shown


def entry(name="all_reduce", sizes=((4,),), number=1, group="0", **facts):
    return {
        "process_group": (group, "default_pg"),
        "profiling_name": f"nccl:{name}",
        "input_sizes": list(map(list, sizes)),
        "output_sizes": list(map(list, sizes)),
        "input_dtypes": ["float32"],
        "output_dtypes": ["float32"],
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "is_p2p": False,
        "state": "completed",
        **facts,
    }


def message(name, sizes=((4,),), **facts):
    return entry(name, sizes, is_p2p=True, **facts)


def written(folder, *calls, ranks="[0, 1]", key="0"):
    for rank, entries in enumerate(calls):
        config = {key: {"name": "0", "desc": "default_pg", "ranks": ranks}}
        dump = {"version": "2.10", "pg_config": config, "entries": entries}
        (folder / f"rank{rank}").write_bytes(pickle.dumps(dump))


def test_ranks_that_did_not_come_are_named(tmp_path, capsys):
    written(tmp_path, [entry(), entry(number=2)], [entry()])
    fr_trace.main([str(tmp_path)])
    shown = capsys.readouterr().out
    assert re.search(r"collective 2 .*: ranks \[1\] did not call it", shown), shown


SENT, RECEIVED = message("send 0->1"), message("recv 1<-0")


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        (([SENT], [RECEIVED]), "All collectives of 2 ranks match"),
        (([SENT], []), "rank 1 has not posted a receive"),
        (([], [RECEIVED]), "rank 0 has not sent it"),
        (([SENT], [message("recv 1<-0", ((9,),))]), "was received as recv 1<-0"),
        (([message("send 0->1", record_id=7)], []), "All collectives of 2 ranks match"),
        (([entry("all_to_all")], [entry("all_to_all", ((8,),))]), "ranks match"),
        (([entry("all_to_all")], [entry("all_to_all", output_sizes=[[8]])]),
         "the ranks give 8 elements and expect 12"),
        (([entry(group="9")], [entry("broadcast", group="9")]), "were not compared"),
    ],
)  # fmt: skip
def test_messages_totals_and_unknown_groups_are_seen(tmp_path, capsys, calls, shown):
    written(tmp_path, *calls)
    fr_trace.main([str(tmp_path)])
    found = capsys.readouterr().out
    assert shown in found and ("ranks match" in shown) == ("ranks match" in found)


def test_the_default_group_may_have_an_empty_name(tmp_path, capsys):
    written(tmp_path, [entry()], [entry("broadcast")], key="")
    fr_trace.main([str(tmp_path), "--mismatch_cap", "0"])
    assert capsys.readouterr().out == ""
    fr_trace.main([str(tmp_path)])
    assert "COLLECTIVE_TYPE_MISMATCH" in capsys.readouterr().out


def test_calls_that_a_full_buffer_forgot_are_not_compared(tmp_path, capsys):
    written(tmp_path, [entry(), entry(number=2)], [entry(number=2)])
    fr_trace.main([str(tmp_path)])
    assert capsys.readouterr().out == "All collectives of 2 ranks match\n"


def test_absent_dumps_are_an_error_unless_allowed(tmp_path, capsys):
    written(tmp_path, [entry()], ranks="[0, 1]")
    with pytest.raises(AssertionError, match=r"no dumps of ranks \[1\]"):
        fr_trace.main([str(tmp_path)])
    fr_trace.main([str(tmp_path), "--allow-incomplete-ranks"])
    assert "match" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (entry(), MatchState.FULLY_MATCHED),
        (entry("broadcast"), MatchState.COLLECTIVE_TYPE_MISMATCH),
        (entry(sizes=((5,),)), MatchState.SIZE_OR_SYNTAX_MISMATCH),
        (entry(input_dtypes=["int64"]), MatchState.COLLECTIVE_DTYPE_MISMATCH),
        (entry(output_dtypes=["int64"]), MatchState.COLLECTIVE_DTYPE_MISMATCH),
        (entry(state="started"), MatchState.COLLECTIVE_STATE_MISMATCH),
    ],
)
def test_calls_are_compared(other, state):
    found = Op(entry()).match(Op(other))
    assert found.state is state and str(found).startswith(f"Error type: {state.name}")


def test_a_command_line_is_checked(tmp_path):
    with pytest.raises(AssertionError, match="give -j too"):
        fr_trace.main([str(tmp_path), "--selected-ranks", "1"])
    with pytest.raises(AssertionError, match="give the folder of the dumps"):
        fr_trace.main([])
    with pytest.raises(AssertionError, match="does not exist"):
        fr_trace.main([str(tmp_path / "absent"), "-p", "x"])
    with pytest.raises(AssertionError, match="has no dumps"):
        fr_trace.main([str(tmp_path), "-p", "x"])
    for name in ("a1", "b1"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match="choose by --prefix"):
        fr_trace.main([str(tmp_path)])
