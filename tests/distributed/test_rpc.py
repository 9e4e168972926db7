"""Calls in other workers, references, a parameter server, a lost worker."""

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
    actual = rpc.rpc_sync((rank + 2) % size, own_name, args=(reference,))
    assert actual[0] == after and actual[2].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="to_here"):
        reference.local_value()
    dist.barrier()
    assert rpc.rpc_sync(after, number_of_values) == 1
    dist.barrier()
    del reference, actual
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
        # More than the socket buffers in both directions hold, sent in parts.
        tensors = [torch.full((60_000,), float(count)) for count in range(100)]
        futures = [rpc.rpc_async(1, same, args=(tensor,)) for tensor in tensors]
        for count, future in enumerate(futures):
            assert future.wait()[-1] == count
        # More calls than threads that wait for the owner.
        futures = [rpc.rpc_async(1, make_reference, args=(k,)) for k in range(40)]
        actual = [future.wait().to_here() for future in futures]
        assert actual == list(range(40))
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
    inputs = [x, x.t(), large, large[3:7], x.untyped_storage(), torch.empty(0)]
    inputs += [
        torch.float64,
        torch.nn.Parameter(torch.ones(2)),
        torch.eye(2).to_sparse(),
    ]
    pickled, references = wire.dump((inputs, torch.ones(2, requires_grad=True)))
    assert not references and len(pickled.buffers) == 1
    actual, leaf = wire.load(pickled)
    assert torch.equal(actual[1], x.t()) and torch.equal(actual[2], large)
    actual[0][0, 1], actual[2][3] = 7, 5
    assert actual[1][1, 0] == 7 and actual[3][0] == 5 and x[0, 1] == 1
    assert actual[4].nbytes() == 24 and actual[5].shape == (0,)
    assert actual[6] is torch.float64 and type(actual[7]) is torch.nn.Parameter
    assert torch.equal(actual[8].to_dense(), torch.eye(2)) and leaf.requires_grad


def test_plain_values_are_packed():
    whole = torch.arange(6.0).view(2, 3)
    tensors = [whole.t()[1:], torch.ones((), dtype=torch.bfloat16), torch.empty(0, 4)]
    inputs = [None, True, -5, 2.5, "é", b"\0a", (1, (2,)), {"a": [3], 4: {}}, *tensors]
    packed, references = wire.dump(inputs)
    assert packed.is_plain and not references
    actual = wire.load(packed)
    assert actual[:8] == inputs[:8] and list(map(type, actual)) == list(
        map(type, inputs)
    )
    for tensor, other in zip(tensors, actual[8:], strict=True):
        assert torch.equal(tensor, other) and tensor.dtype == other.dtype
        assert tensor.stride() == other.stride()
    assert (
        actual[8].untyped_storage().nbytes() == 24
    )  # a view is sent with all of its memory


class Named(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [Named("a"), 1 << 70, bytearray(2), {1}, torch.Size([2]), torch.float32, "\ud800"],
)
def test_values_of_other_types_are_pickled(value):
    content, _ = wire.dump([value])
    assert not content.is_plain
    actual = wire.load(content)[0]
    assert actual == value and type(actual) is type(value)


def test_tensors_with_more_than_memory_are_pickled():
    marked, needed = torch.ones(2), torch.ones(2, requires_grad=True)
    marked.tag = "a"
    for tensor in (marked, needed, torch.ones(5000), torch.nn.Parameter(needed)):
        content, _ = wire.dump(tensor)
        actual = wire.load(content)
        assert not content.is_plain and torch.equal(actual, tensor)
        assert type(actual) is type(tensor) and actual.__dict__ == tensor.__dict__
        assert actual.requires_grad == tensor.requires_grad


def test_what_a_message_has_twice_stays_one_object():
    items, x = [1], torch.zeros(3)
    cycle = []
    cycle.append(cycle)
    actual = wire.load(wire.dump((items, items, x, x[1:], cycle))[0])
    actual[0].append(2)
    actual[2][1] = 7
    assert actual[1] == [1, 2] and actual[3][0] == 7 and actual[4][0] is actual[4]


def test_calls_of_globals_are_packed_by_name():
    def local():
        return 1

    content, _ = wire.dump_call((add, (1,), {"y": 2}), None)
    assert content.is_plain and wire.load_call(content) == (add, (1,), {"y": 2}, None)
    with pytest.raises(
        AttributeError
    ):  # pickle's error, since no one would receive the message
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
    inputs = torch.randn(10_000), [torch.ones(2), rpc.WorkerInfo("a", 1)]
    gc.collect()
    gc.disable()
    try:
        pickled, _ = wire.dump(inputs)
        actual = wire.load(pickled)
        assert torch.equal(actual[0], inputs[0])
        dies = [pickled.buffers[0], *actual[1], actual[0]]
        watched = [weakref.ref(value) for value in dies]
        del pickled, actual, dies  # a cycle would keep them alive until collection
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
