"""Timers through a named pipe, events, and data of runs that restart."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import pellucid as torch
from pellucid.distributed.elastic import timer
from pellucid.distributed.elastic.events import api as event_types
from pellucid.distributed.elastic.rendezvous import etcd_rendezvous, etcd_store
from pellucid.distributed.elastic.rendezvous.etcd_server import find_free_port
from pellucid.distributed.elastic.utils.data import (
    CyclingIterator,
    ElasticDistributedSampler,
)
from pellucid.distributed.elastic.utils.process_state import (
    is_uninterruptible_state,
    read_proc_state,
)
from tests.distributed.ranks import Started, wait_for_all

SERVER = """
import sys, time
from pellucid.distributed.elastic import timer
events = []
server = timer.FileTimerServer(sys.argv[1], "job", max_interval=0.05,
                               log_event=lambda name, request: print(name, flush=True))
server.start()
open(sys.argv[1] + ".ready", "w").close()
time.sleep(100)
"""
WORKER = """
import sys, time
from pellucid.distributed.elastic import timer
timer.configure(timer.FileTimerClient(sys.argv[1]))
with timer.expires(after=100):
    print("in time", flush=True)
with timer.expires(after=0.05, scope="slow"):
    time.sleep(100)
"""


def test_who_is_late_is_killed_and_then_who_started_it(tmp_path):
    pipe = str(tmp_path / "pipe")
    server = Started([sys.executable, "-c", SERVER, pipe])
    try:
        end = time.monotonic() + 60
        while not os.path.exists(f"{pipe}.ready") and time.monotonic() < end:
            time.sleep(0.02)
        worker = Started([sys.executable, "-c", WORKER, pipe])
        try:
            assert not wait_for_all([worker, server])
            assert worker.returncode == server.returncode == -signal.SIGKILL
            assert worker.outputs() == ["in time\n"]
            expected = "watchdog started\ntimer expired\nkill worker process\n"
            assert server.outputs() == [expected]
        finally:
            worker.close()
    finally:
        server.close()


def test_a_server_reads_what_was_sent_and_forgets_the_ended(tmp_path):
    pipe, seen = str(tmp_path / "pipe"), []
    server = timer.FileTimerServer(
        pipe, "job", 0.05, log_event=lambda name, _: seen.append(name)
    )
    before = server.get_last_progress_time()
    server.start()
    client = timer.FileTimerClient(pipe, signal=0)
    client.acquire("ended", 1.0)  # long ago; without a signal
    client.acquire("later", time.time() + 100)
    client.acquire("short", time.time() + 100)
    client.release("short")
    server.run_once()
    assert seen == ["watchdog started", "timer expired"]
    assert not os.path.exists(pipe) and server.get_last_progress_time() >= before
    ended = subprocess.Popen(["true"])
    ended.wait()
    mine = timer.FileTimerRequest(os.getpid(), "a", 5.0, 9)
    server.register_timers([mine, timer.FileTimerRequest(ended.pid, "b", 4.0, 9)])
    assert server.get_expired_timers(4.5).keys() == {ended.pid}
    server.clear_timers(set())
    assert server.get_expired_timers(6.0)[os.getpid()] == [mine]
    server.clear_timers({os.getpid()})
    assert server.get_expired_timers(6.0) == {}


@pytest.mark.parametrize("is_late", [False, True], ids=["runs", "has not run yet"])
def test_a_server_that_no_client_has_called_stops(tmp_path, monkeypatch, is_late):
    server = timer.FileTimerServer(str(tmp_path / "pipe"), "job", 0.05)
    loop, stopped = server._watchdog_loop, threading.Event()

    def run_late(*arguments):  # as a thread that the system lets run only now
        stopped.wait(60)
        loop(*arguments)

    if is_late:
        monkeypatch.setattr(server, "_watchdog_loop", run_late)
    server.start()
    thread = server._watchdog_thread
    server._max_interval = 0 if is_late else 60
    server.stop()
    stopped.set()
    thread.join(60)
    assert not thread.is_alive() and not (tmp_path / "pipe").exists()


def test_requests_are_lines_and_need_a_server(tmp_path, monkeypatch):
    request = timer.FileTimerRequest(3, "scope", 7.5, signal.SIGTERM)
    assert json.loads(request.to_json()) == {
        "version": 1, "pid": 3, "scope_id": "scope", "expiration_time": 7.5,
        "signal": 15,
    }  # fmt: skip
    assert timer.FileTimerRequest.from_json(request.to_json()) == request
    assert request != timer.FileTimerRequest(3, "scope", 7.5, 9)
    assert request.worker_pid == 3
    monkeypatch.setattr(time, "sleep", lambda _: None)
    client = timer.FileTimerClient(str(tmp_path / "absent"))
    with pytest.raises(BrokenPipeError, match="no FileTimerServer reads the pipe"):
        client.acquire("scope", 1.0)
    with pytest.raises(RuntimeError, match="at most 4096 bytes"):
        client.acquire("x" * 5000, 1.0)


def test_etcd_is_refused_as_where_its_package_is_absent():
    for name in (etcd_rendezvous.EtcdRendezvousHandler, etcd_store.EtcdStore):
        with pytest.raises(ImportError, match="rendezvous over etcd is not supported"):
            name(None, "prefix")
    with find_free_port() as reserved:
        assert reserved.getsockname()[1] > 0


def test_epochs_follow_each_other():
    epochs = CyclingIterator(
        4, lambda epoch: iter([epoch] * 2 if epoch != 2 else []), 1
    )
    assert list(iter(epochs)) == [1, 1, 3, 3]
    with pytest.raises(StopIteration):
        next(epochs)


def test_a_sampler_goes_on_where_a_run_ended():
    data = torch.arange(10)
    parts = [ElasticDistributedSampler(data, 2, rank, start_index=3) for rank in (0, 1)]
    assert [len(part) for part in parts] == [4, 4]
    joined = sorted(index for part in parts for index in part)
    assert set(joined) == set(range(3, 10)) and len(joined) == 8  # one is repeated
    parts[0].set_epoch(1)
    assert list(parts[0]) != list(ElasticDistributedSampler(data, 2, 0, start_index=3))
    with pytest.raises(ValueError, match="start_index=10 is beyond the 10 samples"):
        ElasticDistributedSampler(data, 2, 0, start_index=10)


def test_the_state_of_a_process_is_read():
    assert read_proc_state(os.getpid()) in ("R", "S")
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert read_proc_state(ended.pid) is None
    assert is_uninterruptible_state("D") and not is_uninterruptible_state("S")
    assert not is_uninterruptible_state(None)


def test_events_are_found_where_pytorch_has_them():
    event = event_types.Event("name", event_types.EventSource.AGENT, 3)
    assert event_types.Event.deserialize(str(event)) == event
