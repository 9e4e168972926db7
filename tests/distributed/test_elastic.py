"""What programs use of the launcher: errors, events, timers."""

import json
import logging
import os
import signal
import time

import pytest

from pellucid import multiprocessing as mp
from pellucid.distributed.elastic import events, timer
from pellucid.distributed.elastic.multiprocessing import errors


@errors.record
def fails():
    raise KeyError("the reason")


def test_errors_are_written_for_the_launcher(tmp_path, monkeypatch):
    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    with pytest.raises(KeyError):
        fails()
    failure = errors.ProcessFailure(0, 7, 1, str(path))
    assert failure.message["message"] == "KeyError: 'the reason'"
    assert "in fails" in failure.text() and failure.how() == "with exit code 1"
    assert abs(failure.timestamp - time.time()) < 100

    killed = errors.ProcessFailure(1, 8, -9, str(tmp_path / "none"))
    assert killed.signal_name() == "SIGKILL" and killed.error_file == "<N/A>"
    assert killed.message == "Signal 9 (SIGKILL) received by PID 8"
    error = errors.ChildFailedError("train.py", {1: killed, 0: failure})
    assert error.get_first_failure() == (0, failure)
    assert "the reason" in str(error) and "killed by SIGKILL" in str(error)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"message": {"message": "KeyErr', "no traceback"),  # killed while it wrote
        ("", "no traceback"),
        ("[1, 2]", "no traceback"),
        ("{}", "no traceback"),
        ('{"message": {"message": "why"}}', "why"),
        ('{"message": {"reason": "why"}}', "why"),
        ('{"message": {"message": "why", "extraInfo": ["no", "dict"]}}', "why"),
        ('{"message": "why", "timestamp": "yesterday"}', "why"),
        ('{"message": ["why"], "timestamp": NaN}', "why"),
    ],
)
def test_incomplete_and_foreign_error_files_are_reported(tmp_path, text, shown):
    path = tmp_path / "error.json"
    path.write_text(text)
    failure = errors.ProcessFailure(0, 7, 1, str(path))
    assert abs(failure.timestamp - time.time()) < 100
    killed = errors.ProcessFailure(1, 8, -9, str(tmp_path / "none"))
    error = errors.ChildFailedError("train.py", {1: killed, 0: failure})
    assert error.get_first_failure()[0] == 0
    assert shown in str(error) and "with exit code 1" in str(error)


def test_the_error_of_a_child_becomes_the_parents(tmp_path, monkeypatch):
    child = tmp_path / "child.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(child))
    with pytest.raises(KeyError):
        fails()
    failure = errors.ProcessFailure(0, 7, 3, str(child))
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "parent.json"))

    @errors.record
    def launches():
        raise errors.ChildFailedError("train.py", {0: failure})

    with pytest.raises(errors.ChildFailedError):
        launches()
    message = json.loads((tmp_path / "parent.json").read_text())["message"]
    assert message["errorCode"] == 3 and "the reason" in message["message"]


def test_a_handler_of_ones_own_records_errors():
    class Collects(errors.ErrorHandler):
        """Collects them."""

        found = ()

        def initialize(self):
            self.found = []

        def record_exception(self, e):
            self.found.append(str(e))

    handler = Collects()

    def leaves(code):
        raise SystemExit(code)

    with pytest.raises(SystemExit):
        errors.record(leaves, handler)(3)
    assert handler.found == ["3"]
    assert errors.record(leaves, handler)(0) is None and handler.found == []


def test_events_are_logged_where_they_are_sent(monkeypatch):
    lines = []

    class Collects(logging.Handler):
        """Collects them."""

        def emit(self, record):
            lines.append(record.getMessage())

    monkeypatch.setitem(events.handlers.handlers, "own", Collects())
    event = events.Event("step", events.EventSource.WORKER, 3, {"loss": 0.5})
    events.record(event)
    events.record(event, "own")
    assert events.Event.deserialize(lines.pop()) == event and not lines
    monkeypatch.setitem(events.handlers.handlers, "dynamic_rendezvous", Collects())
    failed = events.NodeState.FAILED
    try:
        raise KeyError("lost")
    except KeyError:
        events.construct_and_record_rdzv_event("run", "a text", failed, rank=2)
    found = events.RdzvEvent.deserialize(lines.pop())
    assert found.name.startswith("test_elastic.py:test_events")
    assert found.rank == 2 and "KeyError" in found.error_trace


def waits(queue):
    timer.configure(timer.LocalTimerClient(queue))
    with timer.expires(after=100):
        pass
    with timer.expires(after=0.1):
        time.sleep(100)


def test_a_process_that_is_stuck_is_killed():
    context = mp.get_context("spawn")
    queue = context.Queue()
    server = timer.LocalTimerServer(queue, max_interval=0.05)
    process = context.Process(target=waits, args=(queue,))
    process.start()
    server.start()
    process.join(100)
    server.stop()
    assert process.exitcode == -signal.SIGKILL


def test_timers_belong_to_blocks_and_workers():
    requests = []
    client = timer.LocalTimerClient(type("Queue", (), {"put": requests.append}))
    with timer.expires(10, client=client), timer.expires(20, "named", client):
        pass
    begun, named, named_end, end = requests
    assert begun.scope_id.split("#")[0] == __file__ and named.scope_id == "named"
    assert named_end == timer.TimerRequest(os.getpid(), "named", -1)
    server = timer.LocalTimerServer(None)
    server.register_timers([begun, named])
    assert server.get_expired_timers(named.expiration_time - 5) == {
        os.getpid(): [begun]
    }
    server.register_timers([named_end, end])
    assert not server.get_expired_timers(named.expiration_time + 5)
