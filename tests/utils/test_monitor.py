"""torch.monitor: events, and statistics of windows of time."""

from datetime import datetime, timedelta

import pytest

from pellucid import monitor
from pellucid.monitor import Aggregation, Event, Stat

ALL = [a for a in Aggregation if a is not Aggregation.VALUE]


@pytest.fixture
def seen():
    actual = []
    handle = monitor.register_event_handler(actual.append)
    yield actual
    monitor.unregister_event_handler(handle)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(monitor.time, "monotonic", lambda: now[0])
    return now


def test_events_reach_every_handler_until_it_is_unregistered(seen):
    others = []
    handle = monitor.register_event_handler(others.append)
    event = Event("epoch", datetime.now(), {"loss": 0.5, "last": True, "name": "a"})
    monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    assert seen == [event, event]
    assert others == [event]


def test_a_window_is_logged_by_the_first_value_behind_it(seen, clock):
    stat = Stat("s", ALL, timedelta(seconds=1))
    assert set(stat.get().values()) == {0.0}
    stat.add(1)
    stat.add(3.5)
    assert (stat.count, seen) == (2, [])
    clock[0] += 2
    stat.add(10)
    assert stat.count == 1
    assert stat.get()[Aggregation.MEAN] == 2.25
    assert seen[0].name == "torch.monitor.Stat"
    expected = {"s.mean": 2.25, "s.count": 2, "s.sum": 4.5, "s.max": 3.5, "s.min": 1}
    assert seen[0].data == expected
    del stat
    assert seen[1].data["s.sum"] == 10


def test_more_samples_than_the_most_do_not_count(seen, clock):
    stat = Stat("s", [Aggregation.SUM], timedelta(days=1), 3)
    for value in range(5):
        stat.add(value)
    assert stat.count == 0
    assert [event.data for event in seen] == [{"s.sum": 3.0}]


def test_tensorboard_gets_the_numbers_of_statistics(clock):
    calls = []

    class Writer:
        def add_scalar(self, name, value, walltime):
            calls.append((name, value))

    handle = monitor.register_event_handler(monitor.TensorboardEventHandler(Writer()))
    stat = Stat("s", [Aggregation.MAX], timedelta(seconds=1))
    stat.add(4)
    del stat
    monitor.unregister_event_handler(handle)
    assert calls == [("s.max", 4.0)]


def test_wrong_types_are_refused():
    for wrong in (
        lambda: Event("a", 1, {}),
        lambda: Event("a", datetime.now(), {"x": [1]}),
        lambda: Stat("a", [Aggregation.SUM], 1),
        lambda: monitor.log_event(1),
        lambda: monitor.register_event_handler(3),
    ):
        with pytest.raises(TypeError):
            wrong()
