"""Calls in other workers, references, a parameter server, a worker that is lost."""

import gc
import os
import signal
import threading
import time
import weakref

import pytest

import pellucid as torch
from pellucid import _C
from pellucid import distributed as dist
from pellucid.distributed import rpc
from pellucid.distributed.rpc import wire
from tests.distributed.ranks import run_ranks


def add(x, y=1):
    return x + y


def fail():
    raise ValueError("a bad argument")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def own_name(reference):
    return reference.owner_name(), rpc.get_worker_info().name, reference.to_here()


def number_of_values():
    return len(rpc.references.State.table)


def wait_until_none_is_kept(worker):
    give_up = time.monotonic() + 30
    while rpc.rpc_sync(worker, number_of_values) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert rpc.rpc_sync(worker, number_of_values) == 0


class Server:
    """Parameters that workers fetch and send gradients for."""

    def __init__(self):
        self.weight = torch.zeros(2)
        self.lock = threading.Lock()
        self.waiting = []

    def fetch(self):
        return self.weight

    def push(self, gradient):
        with self.lock:
            self.weight -= gradient

    @rpc.functions.async_execution
    def push_together(self, gradient, count):
        future = rpc.Future()
        with self.lock:
            self.weight -= gradient
            self.waiting.append(future)
            ready, self.waiting = (
                (self.waiting, []) if len(self.waiting) == count else ([], self.waiting)
            )
        for each in ready:
            each.set_result(self.weight.clone())
        return future


def meet(name, rank, size):
    dist.barrier()
    store = os.environ["RPC_STORE"]
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{store}_{name}")
    worker = f"worker{rank}"
    rpc.init_rpc(worker, rank=rank, world_size=size, rpc_backend_options=options)


def rank_calls(rank, size):
    meet("calls", rank, size)
    after = f"worker{(rank + 1) % size}"
    assert rpc.rpc_sync(after, add, args=(1,), kwargs={"y": 2}) == 3
    big = torch.arange(200_000.0)
    future = rpc.rpc_async(after, torch.add, args=(big, 1))
    assert torch.equal(future.wait(), big + 1)
    with pytest.raises(ValueError, match=f"name={after}[^$]*a bad argument"):
        rpc.rpc_sync(after, fail)
    with pytest.raises(RuntimeError, match="set timeout"):
        rpc.rpc_sync(after, time.sleep, args=(2,), timeout=0.1)
    with pytest.raises(RuntimeError, match="no worker 'nobody'"):
        rpc.rpc_sync("nobody", add, args=(1,))
    reference = rpc.remote(after, torch.ones, args=(2,))
    assert reference.to_here().tolist() == [1, 1] and not reference.is_owner()
    found = rpc.rpc_sync((rank + 2) % size, own_name, args=(reference,))
    assert found[0] == after and found[2].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="to_here"):
        reference.local_value()
    dist.barrier()
    assert rpc.rpc_sync(after, number_of_values) == 1
    dist.barrier()
    del reference, found
    gc.collect()  # the traceback of the error above
    wait_until_none_is_kept(after)
    rpc.shutdown()


def rank_drops_references(rank, size):
    meet("drops", rank, size)
    if rank == 0:
        for count in range(20):  # the last reference goes with the reply
            reference = rpc.remote(1, add, args=(count,))
            future = rpc.rpc_async(1, own_name, args=(reference,))
            del reference
            assert future.wait()[2] == count + 1
        wait_until_none_is_kept(1)
    dist.barrier()
    rpc.shutdown()


def same(x):
    return x


def make_reference(count):
    return rpc.RRef(count)


def rank_sends_much(rank, size):
    meet("much", rank, size)
    if rank == 0:
        # More than sockets hold in both directions, in parts that go through them.
        tensors = [torch.full((60_000,), float(count)) for count in range(100)]
        futures = [rpc.rpc_async(1, same, args=(tensor,)) for tensor in tensors]
        for count, future in enumerate(futures):
            assert future.wait()[-1] == count
        # More than there are threads that wait for the owner's word.
        futures = [rpc.rpc_async(1, make_reference, args=(k,)) for k in range(40)]
        found = [future.wait().to_here() for future in futures]
        assert found == list(range(40))
        del futures, future
    dist.barrier()
    rpc.shutdown()


def test_many_calls_at_once(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_sends_much, 2, tmp_path, **environment)


def test_a_reference_may_end_with_the_reply_to_its_call(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_drops_references, 2, tmp_path, **environment)


def test_tensors_of_a_message_share_what_they_shared():
    x, large = torch.arange(6.0).view(2, 3), torch.randn(10_000)
    given = [x, x.t(), large, large[3:7], x.untyped_storage(), torch.empty(0)]
    given += [
        torch.float64,
        torch.nn.Parameter(torch.ones(2)),
        torch.eye(2).to_sparse(),
    ]
    pickled, references = wire.dump((given, torch.ones(2, requires_grad=True)))
    assert not references and len(pickled.buffers) == 1
    found, leaf = wire.load(pickled)
    assert torch.equal(found[1], x.t()) and torch.equal(found[2], large)
    found[0][0, 1], found[2][3] = 7, 5
    assert found[1][1, 0] == 7 and found[3][0] == 5 and x[0, 1] == 1
    assert found[4].nbytes() == 24 and found[5].shape == (0,)
    assert found[6] is torch.float64 and type(found[7]) is torch.nn.Parameter
    assert torch.equal(found[8].to_dense(), torch.eye(2)) and leaf.requires_grad


def test_plain_values_are_packed():
    whole = torch.arange(6.0).view(2, 3)
    tensors = [whole.t()[1:], torch.ones((), dtype=torch.bfloat16), torch.empty(0, 4)]
    given = [None, True, -5, 2.5, "é", b"\0a", (1, (2,)), {"a": [3], 4: {}}, *tensors]
    packed, references = wire.dump(given)
    assert packed.is_plain and not references
    found = wire.load(packed)
    assert found[:8] == given[:8] and list(map(type, found)) == list(map(type, given))
    for tensor, other in zip(tensors, found[8:], strict=True):
        assert torch.equal(tensor, other) and tensor.dtype == other.dtype
        assert tensor.stride() == other.stride()
    assert found[8].untyped_storage().nbytes() == 24  # a view's memory is whole


class Named(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [Named("a"), 1 << 70, bytearray(2), {1}, torch.Size([2]), torch.float32, "\ud800"],
)
def test_values_of_other_types_are_pickled(value):
    content, _ = wire.dump([value])
    assert not content.is_plain
    found = wire.load(content)[0]
    assert found == value and type(found) is type(value)


def test_tensors_with_more_than_memory_are_pickled():
    marked, needed = torch.ones(2), torch.ones(2, requires_grad=True)
    marked.tag = "a"
    for tensor in (marked, needed, torch.ones(5000), torch.nn.Parameter(needed)):
        content, _ = wire.dump(tensor)
        found = wire.load(content)
        assert not content.is_plain and torch.equal(found, tensor)
        assert type(found) is type(tensor) and found.__dict__ == tensor.__dict__
        assert found.requires_grad == tensor.requires_grad


def test_what_a_message_has_twice_stays_one_object():
    items, x = [1], torch.zeros(3)
    cycle = []
    cycle.append(cycle)
    found = wire.load(wire.dump((items, items, x, x[1:], cycle))[0])
    found[0].append(2)
    found[2][1] = 7
    assert found[1] == [1, 2] and found[3][0] == 7 and found[4][0] is found[4]


def test_calls_of_globals_are_packed_by_name():
    def local():
        return 1

    content, _ = wire.dump_call((add, (1,), {"y": 2}), None)
    assert content.is_plain and wire.load_call(content) == (add, (1,), {"y": 2}, None)
    with pytest.raises(AttributeError):  # pickle's, as it would be received by no one
        wire.dump_call((local, (), {}), None)


def test_packed_bytes_are_checked():
    packed = wire.dump(([1], torch.ones(2)))[0].data
    for end in range(len(packed)):
        with pytest.raises(ValueError, match="plain value"):
            _C._unpack_plain(packed[:end])
    with pytest.raises(ValueError, match="plain value"):
        _C._unpack_plain(packed + b"\0")
    with pytest.raises(ValueError, match="plain value"):
        _C._unpack_plain(b"\xff")


def test_messages_leave_no_cycles():
    given = torch.randn(10_000), [torch.ones(2), rpc.WorkerInfo("a", 1)]
    gc.collect()
    gc.disable()
    try:
        pickled, _ = wire.dump(given)
        found = wire.load(pickled)
        assert torch.equal(found[0], given[0])
        dies = [pickled.buffers[0], *found[1], found[0]]
        watched = [weakref.ref(value) for value in dies]
        del pickled, found, dies  # in a cycle they would live until it is collected
        assert [reference() for reference in watched] == [None] * 4
    finally:
        gc.enable()


def rank_serves_parameters(rank, size):
    meet("serves", rank, size)
    holder = [rpc.RRef(Server())] if rank == 0 else [None]
    if rank == 0:
        for other in range(1, size):
            rpc.rpc_sync(other, take, args=(holder[0],))
    dist.barrier()
    if rank:
        server = TAKEN.pop()
        server.rpc_sync().push(torch.ones(2))
        later = server.rpc_async().push_together(torch.ones(2), size - 1)
        assert later.wait().max() <= -(size - 1)
        dist.barrier()
        assert server.rpc_sync().fetch().tolist() == [-2.0 * (size - 1)] * 2
        del server
    else:
        dist.barrier()
    dist.barrier()
    rpc.shutdown()


TAKEN = []


def take(reference):
    TAKEN.append(reference)


def rank_loses_a_worker(rank, size):
    meet("loses", rank, size)
    if rank == size - 1:
        time.sleep(60)
    if rank == 0:
        with pytest.raises(RuntimeError, match=f"worker{size - 1} .* has ended"):
            rpc.rpc_sync(size - 1, die)
        assert rpc.rpc_sync(1, add, args=(1,)) == 2
        rpc.rpc_sync(1, take, args=("done",))
    else:
        give_up = time.monotonic() + 60
        while not TAKEN and time.monotonic() < give_up:
            time.sleep(0.01)
        assert TAKEN == ["done"]
    rpc.shutdown(graceful=False)


def rank_calls_and_serves(rank, size):
    rank_calls(rank, size)
    rank_serves_parameters(rank, size)


def test_calls_references_and_a_parameter_server(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_calls_and_serves, 3, tmp_path, **environment)


def test_a_lost_worker_is_named(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_loses_a_worker, 3, tmp_path, killed={2}, **environment)
