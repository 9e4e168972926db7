"""Memory that processes share: tensors, storages, modules; queues, pipes, pools.

Every process is daemonic, every wait has a limit: nothing here can hang. Functions of
processes are at module level, so that fresh interpreters can import them.
"""

import gc
import os
import re

import pytest

import pellucid as torch
import pellucid.multiprocessing as mp
from pellucid.multiprocessing import reductions
from pellucid.profiler import profile
from pellucid.utils.data import DataLoader, Dataset

LIMIT = 60  # seconds that any process or message may take
METHODS = ("fork", "spawn")
STRATEGIES = ("file_descriptor", "file_system")


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def names():
    """Of shared memory that this process made."""
    gc.collect()
    own = f"pellucid_{os.getpid()}_"
    return {name for name in os.listdir("/dev/shm") if name.startswith(own)}


def run(context, function, *args):
    """Starts, waits, and says how it ended."""
    process = context.Process(target=function, args=args, daemon=True)
    process.start()
    process.join(LIMIT)
    if process.is_alive():
        process.kill()
    return process.exitcode


# One process


def test_memory_moves_under_every_tensor_over_it(strategy):
    x = torch.arange(6.0)
    view, address, version = x[2:], x.data_ptr(), x._version
    assert not x.is_shared()
    assert view.share_memory_() is view
    assert x.is_shared() and view.is_shared() and x.detach().is_shared()
    assert x.data_ptr() != address and view.data_ptr() - x.data_ptr() == 8
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and x._version == version
    view.fill_(7)
    assert x.tolist() == [0, 1, 7, 7, 7, 7]
    assert not x.clone().is_shared() and not (x + 1).is_shared()
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)


def test_addresses_that_are_known_outside_stay_valid(strategy):
    numpy = pytest.importorskip("numpy")
    x = torch.zeros(2000)
    seen = x.numpy()
    x.share_memory_()
    x.fill_(3)
    assert not seen.any()  # the array has the former memory
    inputs = numpy.ones(3)
    y = torch.from_numpy(inputs).share_memory_()
    y.fill_(5)
    assert inputs.tolist() == [1, 1, 1] and y.tolist() == [5, 5, 5]
    whole = torch.UntypedStorage(8)
    part = whole[2:4]
    whole.share_memory_()
    whole.fill_(9)
    assert list(part) == [0, 0] and not part.is_shared()
    assert whole[2:4].is_shared() and list(whole[2:4]) == [9, 9]


def test_the_allocator_gets_back_what_moved():
    torch.empty(1)
    gc.collect()
    before = torch._C._memory_statistics()["allocated_bytes"]
    tensors = [torch.ones(n) for n in (3, 2000, 300_000)]
    for tensor in tensors:
        tensor.share_memory_()
    during = torch._C._memory_statistics()["allocated_bytes"]
    assert during - before < 8000  # headers, and the smallest one's block
    del tensors, tensor
    gc.collect()
    assert torch._C._memory_statistics()["allocated_bytes"] == before


def test_the_timeline_sees_as_many_bytes_come_as_go():
    with profile(profile_memory=True) as seen:
        for count in (3, 2000, 300_000):
            torch.ones(count).share_memory_()
    sizes = [event.cpu_memory_usage for event in seen.events()]
    assert sum(sizes) == 0 and max(sizes) == 1_200_000


@pytest.mark.parametrize("shape", [(0,), (0, 3), ()])
def test_tensors_of_few_elements(strategy, shape):
    x = torch.ones(shape).share_memory_()
    assert x.is_shared() and x.shape == shape and x.sum() == x.numel()


def test_leaves_and_results_can_be_shared_but_results_not_sent():
    leaf = torch.ones(3, requires_grad=True).share_memory_()
    (leaf * 2).sum().backward()
    assert leaf.is_shared() and leaf.grad.tolist() == [2, 2, 2]
    result = (leaf * 2).share_memory_()
    assert result.is_shared()
    with pytest.raises(RuntimeError, match="non-leaf"):
        reductions.reduce_tensor(result)
    rebuild, facts = reductions.reduce_tensor(result.detach())
    assert callable(rebuild) and facts


def test_new_storages(strategy):
    memory = torch.UntypedStorage._new_shared(8)
    assert memory.is_shared() and list(memory) == [0] * 8 and not memory.resizable()
    typed = torch.FloatStorage._new_shared(4)
    assert typed.is_shared() and typed.tolist() == [0] * 4
    assert torch.TypedStorage._new_shared(2, dtype=torch.int64).nbytes() == 16
    assert torch.UntypedStorage._new_shared(0).is_shared()
    assert torch.FloatStorage([1.0, 2.0]).share_memory_().tolist() == [1, 2]


def test_descriptors_and_names_open_the_same_memory():
    memory = torch.UntypedStorage(8)
    descriptor, size = memory._share_fd_cpu_()
    opened = torch.UntypedStorage._new_shared_fd_cpu(descriptor, size)
    assert opened.data_ptr() == memory.data_ptr()
    opened.fill_(7)
    assert list(memory) == [7] * 8
    manager, name, size = memory._share_filename_cpu_()
    assert memory._share_filename_cpu_() == (manager, name, size)
    assert name.decode()[1:] in names() and list(memory) == [7] * 8
    opened = torch.UntypedStorage._new_shared_filename_cpu(manager, name, size)
    del memory
    assert name.decode()[1:] in names()
    del opened
    assert name.decode()[1:] not in names()
    with pytest.raises(RuntimeError, match="unable to open shared memory object"):
        torch.UntypedStorage._new_shared_filename_cpu(manager, name, size)


@pytest.mark.parametrize(
    ("function", "args", "error", "text"),
    [
        ("_new_shared_fd_cpu", (-5, 8), RuntimeError, "could not duplicate"),
        ("_new_shared_fd_cpu", (1 << 40, 8), RuntimeError, "could not duplicate"),
        ("_new_shared_fd_cpu", ("a", 8), TypeError, "file descriptor"),
        ("_new_shared_fd_cpu", (1,), TypeError, "file descriptor"),
        ("_new_shared_filename_cpu", (b"", "a", 8), TypeError, "handles"),
        ("_new_shared_filename_cpu", (b"", b"/../a", 8), RuntimeError, "unable"),
        ("_new_using_fd_cpu", (-1,), RuntimeError, "negative"),
    ],
)
def test_mistakes(function, args, error, text):
    with pytest.raises(error, match=text):
        getattr(torch.UntypedStorage, function)(*args)


def test_memory_that_is_too_small_is_refused():
    memory = torch.UntypedStorage._new_using_fd_cpu(8)
    descriptor, _ = memory._share_fd_cpu_()
    with pytest.raises(RuntimeError, match="100000 bytes is expected"):
        torch.UntypedStorage._new_shared_fd_cpu(descriptor, 100000)


def test_tensors_without_memory_are_refused():
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.empty(3, device="meta").share_memory_()
    with pytest.raises(NotImplementedError, match="components"):
        torch.eye(2).to_sparse().share_memory_()
    with pytest.raises(NotImplementedError, match="components"):
        torch.eye(2).to_sparse_csr().is_shared()
    with pytest.raises(AssertionError, match="not a strategy"):
        mp.set_sharing_strategy("mail")
    assert mp.get_all_sharing_strategies() == set(STRATEGIES)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors_share_their_values(layout):
    pieces = [torch.ones(2), torch.ones(3)]
    nested = torch.nested.nested_tensor(pieces, layout=layout)
    assert not nested.is_shared()
    assert nested.share_memory_().is_shared() and nested.values().is_shared()


def test_files_are_shared_when_writes_reach_them(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    own = torch.from_file(str(path), shared=False, size=16, dtype=torch.uint8)
    assert not own.is_shared() and own.untyped_storage().filename is None
    shared = torch.from_file(str(path), shared=True, size=16, dtype=torch.uint8)
    assert shared.is_shared() and shared.untyped_storage().filename == str(path)
    descriptor, size = shared.untyped_storage()._share_fd_cpu_()
    opened = torch.UntypedStorage._new_shared_fd_cpu(descriptor, size)
    opened.fill_(5)
    assert path.read_bytes() == bytes([5] * 16)
    own.fill_(1)
    assert shared.tolist() == [5] * 16 and own.share_memory_().is_shared()


# Several processes


def answer(inbox, outbox):
    """Adds 1 to the plain tensors of messages, and sends them back."""
    while (message := inbox.get(timeout=LIMIT)) is not None:
        for tensor in message:
            if tensor.layout == torch.strided and not tensor.is_nested:
                with torch.no_grad():
                    tensor.add_(1)
        outbox.put(message)


class Answering:
    """A process that answers one list of tensors after the other."""

    def __init__(self, method):
        context = mp.get_context(method)
        self.inbox, self.outbox = context.Queue(), context.Queue()
        self.process = context.Process(
            target=answer, args=(self.inbox, self.outbox), daemon=True
        )
        self.process.start()

    def __call__(self, *tensors):
        self.inbox.put(list(tensors))
        return self.outbox.get(timeout=LIMIT)

    def stop(self):
        self.inbox.put(None)
        self.process.join(LIMIT)
        assert self.process.exitcode == 0


@pytest.mark.parametrize(
    ("strategy", "method"),
    [
        ("file_descriptor", "fork"),
        ("file_descriptor", "spawn"),
        ("file_system", "fork"),
    ],
    indirect=["strategy"],
)
def test_queues_pass_memory_on(strategy, method):
    before = names()
    ask = Answering(method)
    x = torch.arange(5.0)
    (y,) = ask(x)
    assert x.tolist() == y.tolist() == [1, 2, 3, 4, 5] and x.is_shared()
    assert y.data_ptr() == x.data_ptr()  # mapped once

    base = torch.zeros(6)
    whole, part, again = ask(base, base[2:], base)
    assert base.tolist() == [2, 2, 3, 3, 3, 3] and whole is again
    part.fill_(9)
    assert whole.tolist() == base.tolist() == [2, 2, 9, 9, 9, 9]
    assert whole.untyped_storage() == part.untyped_storage()

    weight = torch.nn.Parameter(torch.ones(2))
    leaf, empty = torch.ones(2, requires_grad=True), torch.empty(0, 3)
    weight_back, leaf_back, empty_back = ask(weight, leaf, empty)
    assert type(weight_back) is torch.nn.Parameter and weight_back.requires_grad
    assert leaf_back.requires_grad and leaf_back.tolist() == leaf.tolist() == [2, 2]
    assert weight.tolist() == [2, 2] and empty_back.shape == (0, 3)

    coo, csr = torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()
    nested = torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)
    meta = torch.empty(2, 3, device="meta").t()
    coo_back, csr_back, nested_back, meta_back = ask(coo, csr, nested, meta)
    assert coo_back.is_coalesced() and coo._values().is_shared()
    coo_back._values().fill_(4)
    assert coo.to_dense().diagonal().tolist() == [4, 4, 4]
    assert csr_back.to_dense().equal(torch.eye(3)) and csr.values().is_shared()
    assert nested_back.is_nested and nested.is_shared()
    assert meta_back.is_meta and meta_back.stride() == (1, 3)
    ask.stop()
    del x, y, base, whole, part, again, coo, coo_back, csr, csr_back, nested
    del nested_back, weight, weight_back, leaf, leaf_back, empty, empty_back
    assert names() == before


def fill(tensor, connection):
    tensor.fill_(3)
    connection.send(torch.full((2,), 4.0))
    connection.recv()  # its end keeps the descriptor's server running until then


def test_arguments_of_processes_and_pipes():
    context = mp.get_context("fork")
    mine, theirs = context.Pipe()
    x = torch.zeros(2)
    process = context.Process(target=fill, args=(x.share_memory_(), theirs))
    process.daemon = True
    process.start()
    assert mine.poll(LIMIT)
    assert mine.recv().tolist() == [4, 4] and x.tolist() == [3, 3]
    mine.send(None)
    process.join(LIMIT)
    assert process.exitcode == 0


def double(tensor):
    tensor.mul_(2)
    return tensor.sum()


def test_pools():
    tensors = [torch.full((3,), float(n)) for n in range(3)]
    with mp.get_context("fork").Pool(2) as pool:
        sums = pool.map_async(double, tensors).get(LIMIT)
    assert [float(total) for total in sums] == [0, 6, 12]
    assert tensors[2].tolist() == [4, 4, 4] and tensors[2].is_shared()


def end_at_once(name, size):
    memory = torch.UntypedStorage._new_shared_filename_cpu(b"", name, size)
    memory.fill_(1)
    fill.kept = memory  # lives until the process ends


@pytest.mark.parametrize("method", METHODS)
def test_processes_that_end_leave_names(method):
    memory = torch.UntypedStorage(8)
    _, name, size = memory._share_filename_cpu_()
    assert run(mp.get_context(method), end_at_once, name, size) == 0
    assert list(memory) == [1] * 8 and name.decode()[1:] in names()
    del memory
    assert name.decode()[1:] not in names()


def train(rank, model, inputs, targets):
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_processes_train_one_model(method):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    assert model.share_memory() is model and model.weight.is_shared()
    inputs = torch.randn(32, 4)
    targets = inputs.sum(1, keepdim=True)
    before = float(torch.nn.functional.mse_loss(model(inputs), targets))
    context = mp.start_processes(
        train, (model, inputs, targets), 2, join=False, daemon=True, start_method=method
    )
    while not context.join(LIMIT):
        assert any(process.is_alive() for process in context.processes)
    after = float(torch.nn.functional.mse_loss(model(inputs), targets))
    assert after < before / 10


def fail(rank):
    if rank == 1:
        raise ValueError("rank one")
    os._exit(3)


def test_failures_of_processes_come_back():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: rank one") as info:
        context = mp.start_processes(fail, (), 2, join=False, start_method="fork")
        context.sentinels.pop(context.processes[0].sentinel)
        while not context.join(LIMIT):
            assert context.sentinels
    assert info.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="exit code 3") as info:
        mp.start_processes(fail, (), 1, start_method="fork")
    assert info.value.exit_code == 3 and info.value.signal_name is None


class Samples(Dataset):
    shared = torch.zeros(4, 2).share_memory_()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.shared[index], torch.full((20_000,), float(index)), index


def test_workers_return_shared_tensors():
    loader = DataLoader(Samples(), batch_size=2, num_workers=2, timeout=LIMIT)
    for number, (first, second, index) in enumerate(loader):
        assert first.is_shared() and second.is_shared() and index.is_shared()
        assert second[:, 0].tolist() == index.tolist() == [2 * number, 2 * number + 1]
        version = second._version
        first.add_(1)
        assert second._version == version  # each has a storage of its own
        assert first.untyped_storage().nbytes() == 16


def test_workers_pass_on_what_is_shared_already():
    loader = DataLoader(
        Samples(), batch_size=None, num_workers=1, timeout=LIMIT, collate_fn=list
    )
    for rows, *_ in loader:
        rows.fill_(8)
    assert Samples.shared.tolist() == [[8, 8]] * 4
    Samples.shared.zero_()


class Refused(KeyError):
    """An exception of a type of its own."""


class Failing(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        *(KeyError("five"), Refused("five"), IndexError("five"), ValueError("five")),
        *(NotImplementedError("five"), OSError("five"), ZeroDivisionError("five")),
        UnicodeDecodeError("utf-8", b"", 0, 1, "five"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_of_workers_keep_their_type(error):
    loader = DataLoader(Failing(error), num_workers=1, timeout=LIMIT)
    # What cannot be made of one text becomes a RuntimeError.
    kind = RuntimeError if isinstance(error, UnicodeDecodeError) else type(error)
    with pytest.raises(kind, match="DataLoader worker process 0") as actual:
        list(loader)
    assert type(actual.value) is kind
    lines = str(actual.value).splitlines()
    assert re.match(rf"Caught {type(error).__name__} in DataLoader worker", lines[0])
    assert "five" in lines[-1]
