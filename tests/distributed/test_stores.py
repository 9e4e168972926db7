"""Stores: shared values and waiting."""

import datetime
import itertools
import threading

import pytest

from pellucid import distributed as dist
from pellucid.distributed._stores.watched_store import WatchedStore

SHORT = datetime.timedelta(milliseconds=50)


def stores(folder):
    yield dist.HashStore()
    yield dist.FileStore(str(folder / "file"), 1)
    yield dist.TCPStore("localhost", 0, 1, True)
    yield dist.PrefixStore("job", dist.HashStore())


@pytest.fixture(params=range(4), ids=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    return list(stores(tmp_path))[request.param]


def test_values_counters_and_queues(store):
    store.set("a", "1")
    store.multi_set(["b", "c"], [b"\x00\xff", "x"])
    store.append("c", "yz")
    assert store.multi_get(["a", "b", "c"]) == [b"1", b"\x00\xff", b"xyz"]
    assert store.add("n", 3) == 3 and store.add("n", -5) == -2
    assert store.check(["a", "b"]) and not store.check(["a", "missing"])
    assert store.delete_key("a") and not store.delete_key("a")
    store.queue_push("q", "first")
    store.queue_push("q", "second")
    assert store.queue_len("q") == 2 and store.queue_pop("q") == b"first"
    store.queue_pop("q")
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)


def test_compare_and_set(store):
    assert store.compare_set("k", "", "one") == b"one"
    assert store.compare_set("k", "other", "two") == b"one"
    assert store.compare_set("k", "one", "two") == b"two"
    assert store.compare_set("absent", "x", "y") == b"x"


def test_get_waits_for_its_key_and_names_it_in_the_error(store):
    threading.Timer(0.05, store.set, ["late", "here"]).start()
    assert store.get("late") == b"here"
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match=r"50ms, keys: (job/)?never"):
        store.get("never")
    with pytest.raises(dist.DistStoreError, match="never"):
        store.wait(["late", "never"], SHORT)


def test_prefixes_separate_keys():
    inner = dist.HashStore()
    one, two = dist.PrefixStore("one", inner), dist.PrefixStore("two", inner)
    one.set("k", "1")
    two.set("k", "2")
    assert (one.get("k"), two.get("k"), inner.get("one/k")) == (b"1", b"2", b"1")


def test_clients_of_a_tcp_store_see_its_values():
    master = dist.TCPStore("localhost", 0, None, True)
    client = dist.TCPStore("localhost", master.port, None, False)
    client.set("k", "v" * 100000)
    assert master.get("k") == client.get("k") == b"v" * 100000
    assert client.add("n", 1) == 1 and master.add("n", 1) == 2


def test_part_of_a_record_that_a_killed_process_wrote_is_removed(tmp_path):
    path = tmp_path / "log"
    store = dist.FileStore(str(path), -1)
    before = path.read_bytes()
    store.set("lost", "x" * 100)
    whole = path.read_bytes()
    for length in range(len(before) + 1, len(whole)):
        path.write_bytes(whole[:length])
        other = dist.FileStore(str(path), -1)
        other.set("k", f"{length}")
        assert not other.check(["lost"])
        assert dist.FileStore(str(path), -1).get("k") == b"%d" % length


def test_a_rank_that_took_the_store_with_it_is_named():
    class Gone(dist.HashStore):
        def _request(self, name, fields, timeout):
            raise dist.DistNetworkError("the store has gone")

    checks = itertools.count()

    def check():  # the rank's end is noticed a little later
        if next(checks) > 2:
            raise dist.DistBackendError("rank 0 has ended")

    store = WatchedStore("group", Gone(), check)
    with pytest.raises(dist.DistBackendError, match="rank 0 has ended"):
        store.get("k")


def test_a_taken_port_is_named():
    master = dist.TCPStore("localhost", 0, None, True)
    with pytest.raises(dist.DistNetworkError, match=f"{master.port}.*EADDRINUSE"):
        dist.TCPStore("localhost", master.port, None, True)


def test_a_missing_master_is_named():
    with pytest.raises(dist.DistNetworkError, match="MASTER_PORT"):
        dist.TCPStore("localhost", 1, None, False, SHORT)


def test_the_environment_must_say_who_a_process_is(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="RANK expected"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="Unknown c10d backend"):
        dist.init_process_group("glue", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(RuntimeError, match="No rendezvous handler"):
        dist.init_process_group("gloo", init_method="carrier://pigeon")


def test_calls_without_a_group_say_so():
    assert dist.is_available() and not dist.is_initialized()
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()
