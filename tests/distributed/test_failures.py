"""Ranks that call other collectives, end, hang or leave: the others' errors."""

import contextlib
import datetime
import os
import re
import signal
import sys
import threading
import time
from collections import deque
from unittest import mock

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed._transport import gloo, sockets
from pellucid.distributed._transport.messages import DIRECT_BYTES
from pellucid.distributed._transport.read_links import ReadLinks
from tests.distributed.ranks import exit_code_of, run_ranks


def rank_calls_differently(rank, size):
    with pytest.raises(dist.DistBackendError) as raised:
        dist.all_reduce(torch.ones(4 if rank else 8))
    text = str(raised.value)
    assert "rank 0: all_reduce float32[8] sum (test_failures.py:" in text
    assert "all_reduce float32[4] sum (test_failures.py:" in text
    with pytest.raises(dist.DistBackendError, match="barrier"):
        dist.broadcast(torch.ones(2), 0) if rank else dist.barrier()
    with pytest.raises(dist.DistBackendError, match="all_to_all"):
        wrong = [1] * size if rank else [2] + [0] * (size - 1)
        dist.all_to_all_single(torch.ones(size), torch.ones(sum(wrong)), None, wrong)
    total = torch.ones(3)
    dist.all_reduce(total)  # the group stays usable
    assert total.tolist() == [size] * 3
    if rank < 2:
        received = torch.empty(3)
        if rank == 0:
            dist.send(torch.ones(2), 1)
        else:
            with pytest.raises(dist.DistBackendError, match="sent 8 bytes"):
                dist.recv(received, 0)


def rank_is_killed(rank, size):
    pids = [None] * size
    dist.all_gather_object(pids, os.getpid())
    dist.all_reduce(torch.ones(7))
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(dist.DistBackendError) as raised:
        dist.all_reduce(torch.ones(100_000))
    finished = r"it had finished #\d+, all_reduce float32\[7\]"
    assert re.search(finished, str(raised.value))
    assert f"rank {size - 1} (" in str(raised.value)
    assert f"pid {pids[-1]}) has ended" in str(raised.value)
    with pytest.raises(dist.DistBackendError):
        dist.barrier()
    dist.destroy_process_group()
    store = dist.FileStore(os.environ["NEXT_STORE"], -1)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size - 1)
    total = torch.ones(1)
    dist.all_reduce(total)
    assert int(total) == size - 1


def wait_until_told():
    store = dist.distributed_c10d._get_default_store()
    give_up = time.monotonic() + 60
    while not store.check(["told"]):
        assert time.monotonic() < give_up, "nobody has told"
        time.sleep(0.05)


def rank_hangs(rank, size):
    group = dist.new_group(timeout=datetime.timedelta(seconds=0.5))
    if rank == 1:
        wait_until_told()
        return
    with pytest.raises(dist.DistBackendError) as raised:
        dist.all_reduce(torch.ones(1), group=group)
    assert "timed out after 0.5 s" in str(raised.value)
    assert "rank_hangs (test_failures.py:" in str(raised.value)
    dist.distributed_c10d._get_default_store().set("told", "1")


def rank_is_asked(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        wait_until_told()
        dist.all_reduce(torch.ones(4))
        return
    actual = []

    def ask():
        end = time.monotonic() + 30
        while time.monotonic() < end:
            actual.append(dist.waiting())
            if "all_reduce" in actual[-1][0] and "rank_is_asked" in actual[-1][1]:
                break
        store.set("told", "1")

    asking = threading.Thread(target=ask)
    asking.start()
    dist.all_reduce(torch.ones(4))
    asking.join(60)
    call = r"all_reduce float32\[4\] sum, #\d+ of group '0', for \d+\.\d s; "
    line = r"rank_is_asked \(test_failures.py:\d+\)"
    assert re.search(call + "(|.*called by )" + line, actual[-1][0]), actual[-1]
    assert re.search(line, actual[-1][1]), actual[-1]
    assert dist.waiting().keys() == {0, 1}


def rank_ends_before_a_new_group(rank, size):
    dist.barrier()  # after the rendezvous
    if rank == 0:
        time.sleep(0.5)  # until the others have left it
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(dist.DistBackendError, match=r"rank 0 \(.*has ended"):
        dist.new_group()
    with pytest.raises(dist.DistBackendError, match=r"rank 0 \(.*has ended"):
        dist.group.WORLD.allocate_shared(10)
        dist.barrier()  # over sockets no memory is shared


def rank_ends_while_others_connect(rank, size):
    dist.barrier()

    def end(*_, **given):
        os.kill(os.getpid(), signal.SIGKILL)

    if rank == 1:
        sockets.SocketLinks._call = end
    with pytest.raises(dist.DistBackendError, match=r"rank 1 \(.*has ended"):
        dist.new_group()


def rank_hears_of_one_outside_its_group(rank, size):
    pids = [None] * size
    dist.all_gather_object(pids, os.getpid())
    pair, store = dist.new_group([0, 1]), dist.distributed_c10d._get_default_store()
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 1:  # does not take part in the pair, and continues
        with pytest.raises(dist.DistBackendError, match="has ended"):
            dist.barrier()
        store.wait(["heard"], datetime.timedelta(seconds=30))
    else:
        with pytest.raises(dist.DistBackendError) as raised:
            dist.all_reduce(torch.ones(1), group=pair)
        assert f"rank 2 ({os.uname().nodename}, pid {pids[2]})" in str(raised.value)
        store.set("heard", "1")


def rank_ends_while_a_thread_calls(rank, size):
    def work():
        x = torch.ones(4)
        with contextlib.suppress(dist.DistBackendError):
            while True:
                dist.all_reduce(x)

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.3)
    sys.exit()


def rank_leaves(rank, size):
    if rank == 0:
        dist.destroy_process_group()
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        return
    with pytest.raises(dist.DistBackendError, match=r"rank 0 .* has (left|ended)"):
        dist.barrier()


def rank_is_late(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["given up"])
    why = "rank 1 had not called it" if rank == 0 else "rank 0 .* has left"
    with pytest.raises(dist.DistBackendError, match=why):
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=0.5))
    store.set("given up", "")
    store.set(f"told {rank}", "")
    store.wait(["told 0", "told 1"])


def test_a_late_rank_does_not_pass_what_others_have_given_up(tmp_path):
    run_ranks(rank_is_late, 2, tmp_path)


class SlowGroup(dist.ProcessGroup):
    def __init__(self):
        super().__init__(0, 1)
        self.timeouts = []

    def barrier(self, opts=None):
        self.timeouts.append(opts.timeout.total_seconds())
        time.sleep(0.05)


def test_a_monitored_barrier_has_one_deadline():
    group = SlowGroup()
    group.monitored_barrier(datetime.timedelta(seconds=1))
    first, second = group.timeouts
    assert 0 <= second <= first - 0.05 <= 0.95


def test_a_mismatch_fails_on_every_rank_and_names_both_calls(transport, tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    run_ranks(rank_calls_differently, 3, tmp_path, **environment)


def test_a_killed_rank_is_named_and_the_others_form_a_new_group(transport, tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    environment["NEXT_STORE"] = str(tmp_path / "next")
    run_ranks(rank_is_killed, 3, tmp_path, killed={2}, **environment)


def test_any_thread_learns_what_ranks_wait_for(transport, tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    run_ranks(rank_is_asked, 2, tmp_path, **environment)


def test_new_groups_do_not_wait_for_the_killed(transport, tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    run_ranks(rank_ends_before_a_new_group, 3, tmp_path, killed={0}, **environment)


def test_who_waits_for_a_connection_hears_that_its_rank_has_ended(tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": "tcp"}
    run_ranks(rank_ends_while_others_connect, 2, tmp_path, killed={1}, **environment)


def test_who_waits_for_a_rank_that_has_failed_elsewhere_hears_why(transport, tmp_path):
    environment = {"PELLUCID_DISTRIBUTED_TRANSPORT": transport}
    run_ranks(
        rank_hears_of_one_outside_its_group, 3, tmp_path, killed={2}, **environment
    )


def test_a_timeout_says_where_the_missing_rank_is(tmp_path):
    run_ranks(rank_hangs, 2, tmp_path)


@pytest.mark.completes
def test_a_process_ends_well_while_a_thread_is_in_a_call(tmp_path):
    run_ranks(rank_ends_while_a_thread_calls, 2, tmp_path)


def test_a_rank_that_leaves_is_named(tmp_path):
    run_ranks(rank_leaves, 2, tmp_path)


def test_a_forked_process_cannot_use_its_parents_group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        child = os.fork()
        if child == 0:
            try:
                dist.barrier()
            except dist.DistBackendError:
                os._exit(7)
            os._exit(0)
        assert exit_code_of(child) == 7
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("chosen", "pattern"),
    [("gloo", "apt-get install libgloo-dev"), ("udp", "give tcp or gloo, or leave")],
)
def test_an_absent_transport_says_what_is_needed(chosen, pattern, monkeypatch):
    monkeypatch.setenv("PELLUCID_DISTRIBUTED_TRANSPORT", chosen)
    monkeypatch.setenv("CXX", "false")
    gloo._library.cache_clear()
    with pytest.raises((RuntimeError, ValueError), match=pattern):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()


@pytest.mark.parametrize("rank", [-1, 5])
def test_a_rank_that_the_world_lacks_is_refused_before_it_waits(rank, monkeypatch):
    values = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_PORT": 9}
    for name, value in {**values, "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, str(value))
    with pytest.raises(ValueError, match=f"rank is {rank}, world_size 2"):
        dist.init_process_group("gloo")


def test_a_variable_that_is_no_number_is_named(monkeypatch):
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ValueError, match="RANK is 'x', not a number"):
        dist.init_process_group("gloo")


def test_a_store_says_what_to_do_about_missing_ranks():
    soon = datetime.timedelta(seconds=0.1)
    pattern = r"1/3 clients joined\. Start the other ranks with MASTER_ADDR and MASTER_"
    with pytest.raises(dist.DistStoreError, match=pattern):
        dist.TCPStore("127.0.0.1", 0, 3, True, timeout=soon)


def test_a_rank_that_a_store_lacks_is_refused():
    with pytest.raises(ValueError, match="rank is 5, world_size 2"):
        dist.init_process_group(store=dist.HashStore(), rank=5, world_size=2)


def test_what_a_thread_sends_while_another_flushes_is_held():
    links, large = object.__new__(gloo.GlooLinks), bytearray(DIRECT_BYTES + 1)
    links._sending, links._held, in_flight = threading.Lock(), deque(), []

    def call(name, *arguments):
        if name == "flush" and not in_flight:
            links._put(1, b"", large)  # of another thread, as the flush returns
            return True
        if name == "send" and not arguments[-1]:
            in_flight.append(arguments)
        return len(in_flight) if name == "send" else not in_flight

    links._call = call
    links.flush(0.0)
    assert list(links._held) == [large]


def test_a_failed_send_releases_nothing_that_is_in_flight():
    links, large = object.__new__(gloo.GlooLinks), bytearray(DIRECT_BYTES + 1)
    links._sending, links._held = threading.Lock(), deque([large])
    links._call = mock.Mock(side_effect=[1, OSError, 1, 2])
    links._put(1, b"", bytearray(large))
    links._put(2, b"", bytearray(large))
    assert len(links._held) == 2 and links._held[0] is large


def test_a_peer_is_gone_after_any_error_of_its_reader():
    class Links(ReadLinks):
        _put = _end = flush = None

        def _receive(self, peer):
            raise MemoryError

    links = Links(0, 2, str, print)
    with pytest.raises(MemoryError):
        links._read(1)
    assert links.losses() == {1: "ended"}
