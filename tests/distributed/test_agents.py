"""Launching from a program: agents, rendezvous, processes and their output."""

import gc
import io
import os
import pathlib
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import weakref
from datetime import timedelta

import pytest

from pellucid import distributed as dist
from pellucid.distributed.elastic import events, metrics
from pellucid.distributed.elastic.agent.server import (
    LocalElasticAgent,
    WorkerSpec,
    WorkerState,
)
from pellucid.distributed.elastic.agent.server.health_check_server import (
    create_healthcheck_server,
)
from pellucid.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    Std,
    start_processes,
    to_map,
)
from pellucid.distributed.elastic.multiprocessing import api as processes
from pellucid.distributed.elastic.multiprocessing.errors import ChildFailedError
from pellucid.distributed.elastic.multiprocessing.redirects import redirect_stdout
from pellucid.distributed.elastic.multiprocessing.tail_log import TailLog
from pellucid.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousParameters,
    RendezvousTimeoutError,
)
from pellucid.distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler,
    RendezvousBackend,
    RendezvousTimeout,
)
from pellucid.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from pellucid.distributed.elastic.utils.distributed import get_free_port
from pellucid.distributed.launcher.api import LaunchConfig, elastic_launch


def total(first, second):
    dist.init_process_group("gloo")
    gathered = [None, None]
    dist.all_gather_object(gathered, os.environ["RANK"])
    dist.destroy_process_group()
    return gathered, first + second, os.environ["TORCHELASTIC_RESTART_COUNT"]


def fails_once(folder):
    if os.environ["RANK"] == "1":
        with open(os.path.join(folder, "seen"), "a") as file:
            file.write("x")
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
    return total(1, 2)


def raises():
    if os.environ["RANK"] == "1":
        raise KeyError("the reason")
    time.sleep(60)


def large(text):
    sys.stdout.write(f"hello {text}\n")
    return text * 1_000_000


def config(**options):
    endpoint = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0"}
    here = {"nproc_per_node": 2, **endpoint}
    given = {"max_restarts": 0, "run_id": "job", **here, **options}
    return LaunchConfig(min_nodes=1, max_nodes=1, **given)


def test_functions_are_launched_and_return():
    returned = elastic_launch(config(), total)(1, 2)
    assert returned == {rank: (["0", "1"], 3, "0") for rank in range(2)}


def test_functions_are_restarted(tmp_path):
    launched = elastic_launch(config(max_restarts=1), fails_once)
    assert launched(str(tmp_path))[0] == (["0", "1"], 3, "1")
    assert (tmp_path / "seen").read_text() == "xx"


def test_the_failure_of_a_function_has_its_traceback():
    start = time.monotonic()
    with pytest.raises(ChildFailedError, match="KeyError: 'the reason'") as error:
        elastic_launch(config(), raises)()
    assert error.value.get_first_failure()[0] == 1 and error.value.name == "raises"
    assert time.monotonic() - start < 50  # the other rank was ended


def test_processes_write_to_files_and_the_console(tmp_path, capsys):
    specs = DefaultLogsSpecs(str(tmp_path), redirects=Std.OUT, tee={0: Std.OUT})
    args = {0: ("a",), 1: ("b",)}
    context = start_processes("t", large, args, {0: {}, 1: {}}, specs)
    pids = context.pids()
    result = context.wait()
    sizes = {rank: len(value) for rank, value in result.return_values.items()}
    assert sizes == {0: 1_000_000, 1: 1_000_000} and not result.is_failed()
    assert pathlib.Path(result.stdouts[1]).read_text() == "hello b\n"
    assert capsys.readouterr().out == "[t0]:hello a\n"
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids.values())


def test_commands_run_until_one_fails(tmp_path):
    go = tmp_path / "go"
    waits = f"until [ -e {go} ]; do sleep 0.02; done; exit 3"
    args = {0: ("-c", waits), 1: ("-c", "sleep 60")}
    context = start_processes("t", "bash", args, {0: {}, 1: {}}, DefaultLogsSpecs())
    assert context.wait(0) is None
    go.touch()
    result = context.wait()
    assert result.failures[0].exitcode == 3 and 1 not in result.failures


@pytest.mark.parametrize("entrypoint", ["true", large])
def test_a_pid_gets_no_signal_after_its_process(entrypoint, monkeypatch):
    ended = []
    monkeypatch.setattr(processes, "end_session", ended.append)
    args, specs = {0: ("a",)}, DefaultLogsSpecs(redirects=Std.ALL)
    context = start_processes("t", entrypoint, args, {0: {}}, specs)
    context.wait(period=0.02)
    context.close()
    assert ended == [context.pids()[0]]


def test_what_is_left_of_a_session_ends_with_its_first_process(tmp_path):
    args = {0: ("-c", f"sleep 60 & echo $! > {tmp_path}/pid"), 1: ("-c", "sleep 60")}
    context = start_processes("t", "bash", args, {0: {}, 1: {}}, DefaultLogsSpecs())
    while context._exit_code(0) is None:
        time.sleep(0.02)
    status = pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    while status.exists() and status.read_text().split()[2] != "Z":
        time.sleep(0.02)
    assert context._exit_code(1) is None
    context.close()


def test_an_attempt_that_starts_again_has_no_former_errors(tmp_path):
    specs = DefaultLogsSpecs(str(tmp_path))
    env = {0: {"TORCHELASTIC_RESTART_COUNT": "0"}}
    path = pathlib.Path(specs.reify(env).error_files[0])
    path.write_text("{}")
    assert specs.reify(env).error_files[0] == str(path)
    assert path.parent.is_dir() and not path.exists()


def test_only_chosen_lines_are_copied(tmp_path):
    specs = DefaultLogsSpecs(str(tmp_path), redirects=Std.ALL)
    words = {0: ("-c", "echo loss 1; echo noise; printf 'loss 2'")}
    filters = {"duplicate_stdout_filters": ["loss"]}
    context = start_processes("t", "bash", words, {0: {}}, specs, **filters)
    context.wait(period=0.05)
    (copy,) = tmp_path.glob("*/attempt_0/filtered_stdout.log")
    assert copy.read_text() == "[t0]:loss 1\n[t0]:loss 2\n"


def test_streams_are_given_by_rank():
    assert Std.from_str("3") is Std.ALL
    assert Std.from_str("0:1,2:3") == {0: Std.OUT, 2: Std.ALL}
    assert to_map({1: Std.ERR}, 2) == {0: Std.NONE, 1: Std.ERR}
    with pytest.raises(ValueError, match="0:4"):
        Std.from_str("0:4")


def test_output_of_c_is_redirected(tmp_path):
    path = tmp_path / "out"
    with (
        open(tmp_path / "stream", "w") as stream,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stdout", stream)
        with redirect_stdout(str(path)):
            os.write(stream.fileno(), b"from C\n")
        stream.write("back")
    assert path.read_text() == "from C\n"
    assert (tmp_path / "stream").read_text() == "back"


def test_lines_are_copied_when_they_are_complete(tmp_path):
    path, copy = tmp_path / "log", io.StringIO()
    tail = TailLog("x", {3: str(path)}, copy, {3: ">"}, interval_sec=0.01).start()
    with open(path, "w") as file:
        for part in ("one\ntw", "o\n", "rest"):
            file.write(part)
            file.flush()
            time.sleep(0.05)
    tail.stop()
    assert copy.getvalue() == ">one\n>two\n>rest\n" and tail.stopped()


def handlers(number, least, most, **options):
    port = get_free_port()
    given = {"last_call_timeout": 1, "join_timeout": 20, **options}
    return [
        get_rendezvous_handler(
            RendezvousParameters(
                *("c10d", f"localhost:{port}", "job", least, most),
                is_host=index == 0,
                **given,
            )
        )
        for index in range(number)
    ]


def join_all(*chosen):
    found = {}

    def join(handler):
        found[handler] = handler.next_rendezvous()

    threads = [threading.Thread(target=join, args=(each,)) for each in chosen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[each] for each in chosen]


def test_machines_join_a_running_group():
    first, second, third = handlers(3, least=2, most=3)
    infos = join_all(first, second)
    assert sorted(info.rank for info in infos) == [0, 1]
    assert first.num_nodes_waiting() == 0
    assert first.use_agent_store and infos[0].bootstrap_store_info.master_port
    waits = threading.Thread(target=third.next_rendezvous)
    waits.start()
    while not (first.num_nodes_waiting() == second.num_nodes_waiting() == 1):
        time.sleep(0.02)
    infos = join_all(first, second)
    waits.join()
    assert [info.world_size for info in infos] == [3, 3]
    infos[0].store.set("key", "value")
    assert infos[1].store.get("key") == b"value"
    second.set_closed()
    with pytest.raises(RendezvousClosedError, match="'job' is closed"):
        first.next_rendezvous()


def test_a_lost_machine_makes_room():
    options = {"keep_alive_interval": 1, "keep_alive_max_attempt": 2}
    first, second, third = handlers(3, least=2, most=2, **options)
    join_all(first, second)
    second._end.set()  # its process is gone: no more signs of life
    waits = threading.Thread(target=third.next_rendezvous)
    waits.start()
    end = time.monotonic() + 20
    while first.num_nodes_waiting() != 1 and time.monotonic() < end:
        time.sleep(0.05)
    (info,) = join_all(first)
    waits.join()
    assert info.world_size == 2


def test_too_few_machines_are_an_error():
    (alone,) = handlers(1, least=2, most=2, join_timeout=1)
    with pytest.raises(RendezvousTimeoutError, match="1 of at least 2"):
        alone.next_rendezvous()
    port, handler = alone._store.port, weakref.ref(alone)
    alone._beats.join()
    del alone
    gc.collect()
    assert handler() is None  # and with it the store
    dist.TCPStore("localhost", port, is_master=True, wait_for_workers=False)


def test_a_closed_rendezvous_ends_the_signs_of_life():
    (alone,) = handlers(1, least=1, most=1)
    alone.next_rendezvous()
    beats = alone._beats
    assert beats.is_alive()
    alone.set_closed()
    with pytest.raises(RendezvousClosedError):
        alone.next_rendezvous()
    beats.join()
    with pytest.raises(RendezvousClosedError):
        alone.next_rendezvous()
    assert alone._beats is not beats


class AlwaysLate(RendezvousBackend):
    """Another machine has always just changed the state."""

    name = "late"

    def get_state(self):
        return b"{}", 0

    def set_state(self, state, token=None):
        return b"{}", 0, False


def test_closing_and_signs_of_life_end_in_time():
    limits = RendezvousTimeout(close=timedelta(milliseconds=20))
    handler = DynamicRendezvousHandler.from_backend(
        *("job", dist.HashStore(), AlwaysLate(), 1, 1), timeout=limits
    )
    with pytest.raises(RendezvousTimeoutError, match=r"changed within 0.02 s"):
        handler.set_closed()
    assert not handler.shutdown()


def test_a_launch_initialises_metrics(monkeypatch):
    seen = []
    monkeypatch.setattr(metrics, "initialize_metrics", seen.append)
    elastic_launch(config(metrics_cfg={"to": "here"}, nproc_per_node=1), "true")()
    assert [each.params for each in seen] == [{"to": "here"}]


def test_parameters_are_checked():
    with pytest.raises(ValueError, match=r"'zoo' is not registered.*'c10d', 'static'"):
        get_rendezvous_handler(RendezvousParameters("zoo", "h:1", "job", 1, 1))
    for backend in ("etcd", "etcd-v2"):
        with pytest.raises(ImportError, match=r"over etcd is not supported.*'c10d'"):
            get_rendezvous_handler(RendezvousParameters(backend, "h:1", "job", 1, 1))
    with pytest.raises(ValueError, match="greater than zero"):
        RendezvousParameters("c10d", "h:1", "job", 0, 1)
    parameters = RendezvousParameters("c10d", "h:1", "job", 1, 1, a="yes", b="7")
    assert parameters.get_as_bool("a") is True and parameters.get_as_int("b") == 7
    with pytest.raises(ValueError, match="'a' is not a number"):
        parameters.get_as_int("a")


def test_an_agent_reports_events_metrics_and_health(capsys, monkeypatch):
    port = get_free_port()
    monkeypatch.setenv("TORCHELASTIC_HEALTH_CHECK_PORT", str(port))
    seen = []
    monkeypatch.setattr(events, "record", lambda event, _: seen.append(event))
    endpoint = f"localhost:{get_free_port()}"
    handler = get_rendezvous_handler(
        RendezvousParameters("static", endpoint, "job", 1, 1, rank=0)
    )
    answers = []

    class Agent(LocalElasticAgent):
        def _monitor_workers(self, worker_group):
            if not answers:
                url = f"http://localhost:{port}"
                answers.append(urllib.request.urlopen(url).status)
            return super()._monitor_workers(worker_group)

    spec = WorkerSpec("trainer", 2, handler, entrypoint=large, args=("z",))
    metrics.configure(metrics.ConsoleMetricHandler())
    try:
        agent = Agent(spec, DefaultLogsSpecs(redirects=Std.ALL))
        result = agent.run("trainer")
    finally:
        metrics.configure(metrics.NullMetricHandler())
    assert result.state is WorkerState.SUCCEEDED and sorted(result.return_values) == [
        0,
        1,
    ]
    assert answers == [200]
    assert [event.metadata["global_rank"] for event in seen] == [0, 1, None]
    assert "workers.trainer.run_succeeded=1" in capsys.readouterr().out


def test_an_agent_that_hangs_is_not_healthy():
    server = create_healthcheck_server(lambda: int(time.time()) - 100, 0, 60)
    server.start()
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"http://localhost:{server._port}")
    server.stop()
