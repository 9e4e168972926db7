"""The backend "nccl": the library as far as it answers without a GPU, and the calls of
the backend, by a library that works on the memory of a device in Python.
"""

import ctypes
import sys
import threading
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from tools import check_nccl

import pellucid as torch
from pellucid import distributed as dist
from pellucid.devices import Backend, register
from pellucid.devices.late import Late
from pellucid.distributed._group.nccl import NcclGroup, PerDevice
from pellucid.distributed._transport import nccl
from pellucid.distributed.distributed_c10d import ReduceOp
from tests.distributed.ranks import run_command, run_ranks

INSTALLED = nccl.found_library()


class Board(Backend):
    """A device whose memory is the process's, with one stream."""

    name = "board"

    def __init__(self):
        self.blocks = {}

    def allocate(self, device, nbytes):
        block = ctypes.create_string_buffer(nbytes)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def release(self, device, address, nbytes):
        del self.blocks[address]

    def to_host(self, device, address, into):
        into[:] = ctypes.string_at(address, len(into))

    def from_host(self, device, address, data):
        ctypes.memmove(address, bytes(data), len(data))


DTYPES = {code: dtype for dtype, code in nccl.DTYPES.items() if dtype is not torch.bool}
REDUCTIONS = {code: ReduceOp(op) for op, code in nccl.REDUCTIONS.items()}


def memory(address, count, code):
    """The elements at an address."""
    size = torch.empty(0, dtype=DTYPES[code]).element_size()
    block = (ctypes.c_char * (count * size)).from_address(address)
    return torch.frombuffer(block, dtype=DTYPES[code])


class Message(NamedTuple):
    op: Any
    tensor: Any
    peer: int


class OverGloo(nccl.Nccl):
    """NCCL's functions, by a process group of the CPU."""

    def __init__(self):
        self.depth, self.messages, self.made, self.ended = 0, [], {}, []

    def unique_id(self):
        return bytes(range(128))

    def communicator(self, size, unique_id, rank):
        assert (size, rank) == (dist.get_world_size(), dist.get_rank())
        assert unique_id == bytes(range(128))
        return ctypes.c_void_p(7)

    def premultiplied_sum(self, factor, dtype, communicator):
        self.made[9] = dist.distributed_c10d._make_nccl_premul_sum(factor)
        return 9

    def call(self, name, *arguments):
        if name in ("CommDestroy", "CommAbort", "RedOpDestroy"):
            self.ended.append(name)
            return
        if name not in ("GroupStart", "GroupEnd"):
            *arguments, communicator, stream = arguments
            assert communicator.value == 7 and stream is None
        getattr(self, name)(*arguments)

    def GroupStart(self):
        self.depth += 1

    def GroupEnd(self):
        self.depth -= 1
        messages, self.messages = self.messages, []
        own = [m for m in messages if m.peer == dist.get_rank()]
        if own:  # NCCL also sends from a rank to itself
            sent, received = own
            received.tensor.copy_(sent.tensor)
        others = [dist.P2POp(*m) for m in messages if m.peer != dist.get_rank()]
        for work in dist.batch_isend_irecv(others) if others else ():
            work.wait()

    def reduction(self, op):
        return self.made.get(op) or REDUCTIONS[op]

    def AllReduce(self, source, target, count, dtype, op):
        assert source == target
        dist.all_reduce(memory(target, count, dtype), self.reduction(op))

    def Reduce(self, source, target, count, dtype, op, root):
        dist.reduce(memory(target, count, dtype), root, self.reduction(op))

    def Broadcast(self, source, target, count, dtype, root):
        dist.broadcast(memory(target, count, dtype), root)

    def AllGather(self, source, target, count, dtype):
        whole = memory(target, count * dist.get_world_size(), dtype)
        dist.all_gather_into_tensor(whole, memory(source, count, dtype))

    def ReduceScatter(self, source, target, count, dtype, op):
        whole = memory(source, count * dist.get_world_size(), dtype)
        part = memory(target, count, dtype)
        dist.reduce_scatter_tensor(part, whole, self.reduction(op))

    def Send(self, source, count, dtype, peer):
        assert self.depth == 1
        part = memory(source, count, dtype)
        self.messages.append(Message(dist.isend, part, peer))

    def Recv(self, target, count, dtype, peer):
        assert self.depth == 1
        part = memory(target, count, dtype)
        self.messages.append(Message(dist.irecv, part, peer))


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype).to("board")


def rank_calls_everything(rank, size):
    register(Board())
    world = dist.group.WORLD
    limit = dist.distributed_c10d.default_pg_timeout
    store = dist.PrefixStore("nccl", world._store)
    library = OverGloo()
    device = torch.device("board", 0)
    group = NcclGroup(store, rank, size, limit, device, library)
    both = PerDevice({"cpu": world, "board": group})
    dist.distributed_c10d._world.groups[both] = "cpu:gloo,board:nccl"
    both._global_ranks = list(range(size))

    for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.float16):
        x = tensor(1 + rank, 2, dtype=dtype)
        dist.all_reduce(x, group=both)
        assert x.tolist() == [3, 4] and x.device == device
    x = tensor(rank == 1, False, dtype=torch.bool)
    dist.all_reduce(x, group=both)
    assert x.tolist() == [True, False]
    x = tensor(1.0 + rank)
    dist.all_reduce(x, dist.distributed_c10d._make_nccl_premul_sum(2.0), both)
    assert x.tolist() == [6.0] and library.ended == ["RedOpDestroy"]
    on_cpu = torch.ones(1)
    dist.all_reduce(on_cpu, group=both)
    assert on_cpu == 2

    x = tensor(float(rank), 5.0)
    work = dist.broadcast(x, 1, both, async_op=True)
    work.wait()
    assert work.is_completed() and x.tolist() == [1.0, 5.0]
    x = tensor(float(rank + 1))
    dist.reduce(x, 0, ReduceOp.MAX, both)
    assert rank or x.tolist() == [2.0]
    parts = [tensor(0.0, 0.0) for _ in range(size)]
    dist.all_gather(parts, tensor(float(rank), 1.0), both)
    assert [part.tolist() for part in parts] == [[0.0, 1.0], [1.0, 1.0]]
    whole = torch.empty(4, device="board")
    dist.all_gather_into_tensor(whole, tensor(float(rank), 1.0), both)
    assert whole.tolist() == [0.0, 1.0, 1.0, 1.0]
    part = tensor(0.0)
    dist.reduce_scatter_tensor(part, tensor(1.0, 2.0 + rank), ReduceOp.AVG, both)
    assert part.tolist() == [[1.0], [2.5]][rank]
    dist.reduce_scatter(part, [tensor(1.0), tensor(4.0)], group=both)
    assert part.tolist() == [[2.0], [8.0]][rank]

    found = torch.empty(2, device="board")
    dist.all_to_all_single(found, tensor(10.0 * rank, 10.0 * rank + 1), group=both)
    assert found.tolist() == [[0.0, 10.0], [1.0, 11.0]][rank]
    uneven = torch.empty([1, 2][rank] * 2, device="board")
    given = tensor(*range(3)) + 10 * rank
    dist.all_to_all_single(uneven, given, [[1, 1], [2, 2]][rank], [1, 2], both)
    assert uneven.tolist() == [[0, 10], [1, 2, 11, 12]][rank]
    got = [torch.empty(1, device="board") for _ in range(size)] if rank == 0 else None
    dist.gather(tensor(float(rank)), got, 0, both)
    assert rank or [x.tolist() for x in got] == [[0.0], [1.0]]
    x = tensor(0.0)
    dist.scatter(x, [tensor(3.0), tensor(4.0)] if rank == 0 else None, 0, both)
    assert x.tolist() == [3.0 + rank]
    if rank == 0:
        dist.send(tensor(9.0), 1, both)
    else:
        dist.recv(x, 0, both)
        assert x.tolist() == [9.0]
    dist.barrier(both)
    group.barrier()

    checked = dict(check_nccl.compared(both, device, world))
    assert len(checked) == 45 and set(checked.values()) == {None}
    library.ReduceScatter = lambda *arguments: None
    wrong = {n for n, text in check_nccl.compared(both, device, world) if text}
    assert wrong == {"reduce_scatter"}

    assert check_nccl.trained(rank, size, device, both) is None
    assert check_nccl.trained(rank, size, device, group) is None
    listed = [None] * size
    dist.all_gather_object(listed, {"rank": rank}, group)
    assert listed == [{"rank": 0}, {"rank": 1}]

    with pytest.raises(RuntimeError, match=r"a tensor on cpu; .* are on board:0"):
        group.allreduce([torch.ones(1)])
    with pytest.raises(RuntimeError, match=r"No backend type .* device type meta"):
        dist.all_reduce(torch.ones(1, device="meta"), group=both)
    with pytest.raises(ValueError, match=r"Cannot use ReduceOp.BXOR with NCCL"):
        group.allreduce([tensor(1, dtype=torch.int32)], options(ReduceOp.BXOR))
    with pytest.raises(RuntimeError, match=r"NCCL does not support .*complex64"):
        group.allreduce([tensor(1, dtype=torch.complex64)])
    library.depth = 0
    group.abort()
    assert library.ended[-1] == "CommAbort"
    with pytest.raises(dist.DistBackendError, match="aborted or destroyed"):
        group.barrier()
    del dist.distributed_c10d._world.groups[both]


def options(op):
    made = dist.AllreduceOptions()
    made.reduceOp = op
    return made


def test_collectives_of_a_device(tmp_path):
    run_ranks(rank_calls_everything, 2, tmp_path)


class LateBoard(Late):
    """A board with streams, whose libraries know stream 3 as 103."""

    alignment = 16  # as malloc's

    def handle(self, device, stream):
        return 100 + stream


class OnStreams(nccl.Nccl):
    """NCCL's functions as tasks of a stream: two ranks that have the same tensors. A
    task waits until the stream is open.
    """

    def __init__(self, board):
        self.board, self.open, self.ended = board, threading.Event(), []
        self.error, self.is_refused = 0, False

    def unique_id(self):
        return bytes(range(128))

    def communicator(self, size, unique_id, rank):
        return ctypes.c_void_p(7)

    def premultiplied_sum(self, factor, dtype, communicator):
        return 9

    def failure(self, communicator):
        return self.error

    def check(self, name, result):
        if result:
            raise dist.DistBackendError(f"nccl{name}: {result}")

    def call(self, name, *arguments):
        if name in ("CommAbort", "RedOpDestroy"):
            self.ended.append(name)
        elif name not in ("GroupStart", "GroupEnd"):
            self.check(name, self.is_refused)
            *arguments, _, stream = arguments
            queue = self.board._queues[0][stream - 100]
            queue.put(lambda: (self.open.wait(), getattr(self, name)(*arguments)))

    def AllReduce(self, source, target, count, dtype, op):
        memory(target, count, dtype).mul_(2)

    def AllGather(self, source, target, count, dtype):
        memory(target, 2 * count, dtype).view(2, -1).copy_(memory(source, count, dtype))


def rank_uses_streams(rank, size):
    board = LateBoard(Board(), accepts=lambda launch: False)
    register(board)
    library, device = OnStreams(board), torch.device("late", 0)

    def new_group():
        return NcclGroup(dist.HashStore(), 0, 2, timedelta(60), device, library)

    def passed():
        event = torch.late.Event()
        event.record()
        return event

    group, later = new_group(), options(ReduceOp.SUM)
    later.asyncOp = True
    x = torch.tensor([1.0], device="late")

    # Work begins after what the current stream has queued.
    fed = threading.Event()
    feed = memory(x.data_ptr(), 1, nccl.DTYPES[x.dtype])
    board._queues[0][0].put(lambda: (fed.wait(), feed.fill_(5)))
    library.open.set()
    work = group.allreduce([x], later)
    assert not work.is_completed()
    fed.set()
    work.synchronize()
    assert work.is_completed() and x.tolist() == [10.0]

    # The current stream waits for it from wait on, and the program does not.
    library.open.clear()
    work = group.allreduce([x], later)
    passed().synchronize()
    assert work.wait() and not work.is_completed()
    behind = passed()
    assert not behind.query()
    threading.Timer(0.05, library.open.set).start()
    assert x.tolist() == [20.0] and behind.query()
    library.open.clear()
    parts = [torch.empty(1, device="late") for _ in range(2)]
    threading.Timer(0.05, library.open.set).start()
    group.allgather([parts], [x])
    assert [part.tolist() for part in parts] == [[20.0], [20.0]]
    group.barrier()

    # Memory that it uses is not given to others.
    library.open.clear()
    used = torch.tensor([1.0] * 1000, device="late")
    address = used.data_ptr()
    group.allreduce([used], later)
    del used
    assert torch.empty(1000, device="late").data_ptr() != address
    library.open.set()
    torch.late.synchronize()

    library.is_refused = True
    later.reduceOp = dist.distributed_c10d._make_nccl_premul_sum(2.0)
    with pytest.raises(dist.DistBackendError, match="ncclAllReduce"):
        group.allreduce([x], later)
    assert library.ended == ["RedOpDestroy"]
    library.is_refused, later.reduceOp = False, ReduceOp.SUM
    with pytest.raises(RuntimeError, match="'nccl' does not support recv_anysource"):
        group.recv_anysource([x], 0)

    # A timeout and an error of another rank end the group.
    library.open.clear()
    work = group.allreduce([x], later)
    with pytest.raises(dist.DistBackendError, match=r"not done after 0.02 s: a rank"):
        work.wait(timedelta(milliseconds=20))
    with pytest.raises(dist.DistBackendError, match="aborted or destroyed"):
        group.allreduce([x])
    group = new_group()
    work, library.error = group.allreduce([x], later), 6
    with pytest.raises(dist.DistBackendError, match="ncclCommGetAsyncError: 6"):
        work.synchronize()
    assert library.ended[1:] == ["CommAbort", "CommAbort"]
    library.open.set()
    torch.late.synchronize()


def test_calls_are_queued_on_streams(tmp_path):
    run_ranks(rank_uses_streams, 1, tmp_path)


def test_a_group_for_both_forwards_what_takes_tensors():
    own = {name for name in vars(PerDevice) if not name.startswith("__")}
    assert {"allreduce", "_allgather_base", "recv_anysource"} <= own
    assert "check_alive" not in own and "whereabouts" not in own


def test_without_a_gpu_the_backend_says_so():
    with pytest.raises(RuntimeError, match="no GPUs found"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()


def test_the_check_of_gpus_says_that_there_are_none():
    program = check_nccl.ROOT / "tools" / "check_nccl.py"
    ended = run_command([sys.executable, str(program)])
    assert ended.returncode == 1 and "0 GPUs for 0 ranks" in ended.stdout


def test_without_nccl_the_backend_says_what_to_install(monkeypatch):
    nccl.nccl.cache_clear()
    monkeypatch.setattr(nccl, "found_library", lambda: None)
    with pytest.raises(RuntimeError, match="pip install nvidia-nccl-cu12"):
        nccl.nccl()


def test_a_group_for_both_has_the_devices_of_the_machine():
    both = "cpu:gloo,cuda:nccl"
    store = dist.HashStore()
    dist.init_process_group(both, store=store, rank=0, world_size=1)
    try:
        assert dist.get_backend_config() == both and dist.get_backend() == "gloo"
        dist.all_reduce(torch.ones(1))
    finally:
        dist.destroy_process_group()


@pytest.mark.skipif(INSTALLED is None, reason="nvidia-nccl-cu12 is not installed")
def test_the_library_answers():
    library = nccl.Nccl(INSTALLED)
    assert library.version() >= (2, 18, 0)
    first, second = library.unique_id(), library.unique_id()
    assert len(first) == 128 and first != second
    if not torch.cuda.is_available():
        with pytest.raises(dist.DistBackendError, match=r"ncclCommInitRank: .*cuda"):
            library.communicator(1, first, 0)
