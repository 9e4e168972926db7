"""Storages: bytes and elements over a tensor's memory."""

import copy
import io
import pickle
import sys
import warnings

import pytest

import pellucid as torch


@pytest.fixture
def tensor():
    return torch.arange(6.0).reshape(2, 3)


def elements(tensor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given once, by the first call
        return tensor.storage()


def test_a_typed_storage_is_the_tensors_memory(tensor):
    storage = elements(tensor)
    assert (storage.dtype, len(storage), storage.nbytes()) == (torch.float32, 6, 24)
    assert storage.data_ptr() == tensor.data_ptr()
    assert storage.tolist() == [0, 1, 2, 3, 4, 5]
    assert (storage[1], storage[-1]) == (1.0, 5.0)
    version = tensor._version
    storage[0] = 9
    storage[1:3] = 4
    assert tensor.tolist() == [[9, 4, 4], [3, 4, 5]]
    assert tensor._version > version
    assert storage.type() == "torch.FloatStorage"
    assert torch.FloatStorage == tensor.storage_type()
    assert isinstance(storage, torch.FloatStorage)
    assert not isinstance(storage, torch.DoubleStorage)


def test_the_first_typed_storage_warns():
    from pellucid import storage

    storage._warned.clear()
    with pytest.warns(UserWarning, match="untyped_storage"):
        torch.ones(1).storage()
    torch.ones(1).storage()


def test_typed_storages_are_made_and_converted():
    storage = torch.FloatStorage([1.0, 2.5])
    assert storage.long().tolist() == [1, 2]
    assert storage.type(torch.DoubleStorage).dtype == torch.float64
    assert storage.float() is storage
    assert torch.LongStorage(3).size() == 3
    assert torch.LongStorage(2).fill_(7).tolist() == [7, 7]
    assert torch.FloatStorage([0, 0]).copy_(torch.LongStorage([1, 2]))[1] == 2.0
    assert storage.resize_(4).size() == 4
    assert storage[1] == 2.5
    assert str(torch.IntStorage([3])).splitlines()[0] == " 3"
    assert len(str(torch.IntStorage(5000)).splitlines()) < 1100


def test_tensors_over_a_storage_share_it():
    storage = torch.FloatStorage([1.0, 2.0, 3.0, 4.0])
    whole = torch.FloatTensor(storage)
    part = torch.empty(0).set_(storage, 1, (3,))
    whole[2] = 7
    assert part.tolist() == [2, 7, 4]
    with pytest.raises(RuntimeError, match="expected a storage of"):
        torch.DoubleTensor(storage)
    with pytest.raises(RuntimeError, match="expected a storage of"):
        torch.tensor([1]).set_(storage)


def test_the_size_of_a_storage_in_memory_counts_its_bytes():
    small, large = torch.zeros(1), torch.zeros(1001)
    for storage in (torch.Tensor.untyped_storage, torch.Tensor.storage):
        assert sys.getsizeof(storage(large)) - sys.getsizeof(storage(small)) == 4000


def test_bytes_of_a_storage(tensor):
    memory = tensor.untyped_storage()
    assert torch.is_storage(memory) and torch.is_storage(elements(tensor))
    assert not torch.is_storage(tensor)
    memory.fill_(0)
    assert not tensor.any()
    memory[3:4] = 0x3F
    memory[2] = 0x80
    assert tensor[0, 0] == 1.0
    assert list(memory[:4]) == [0, 0, 0x80, 0x3F]
    assert memory.untyped() is memory
    assert torch.UntypedStorage([1, 2]).float().tolist() == [1.0, 2.0]
    swapped = torch.tensor([1, 256], dtype=torch.int16)
    swapped.untyped_storage().byteswap(torch.int16)
    assert swapped.tolist() == [256, 1]


@pytest.mark.parametrize(
    "share",
    [
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor[1:].__array__(),
        lambda tensor: tensor.__dlpack__(),
        lambda tensor: tensor.untyped_storage()[4:12],
    ],
    ids=["numpy", "array of a view", "dlpack", "slice"],
)
def test_memory_whose_address_left_stays_where_it_is(tensor, share):
    shared = share(tensor)
    memory = tensor.untyped_storage()
    assert not memory.resizable()
    for change in (
        lambda: tensor.resize_(1000),
        lambda: memory.resize_(1000),
        lambda: memory.resize_(0),
        lambda: torch.add(torch.ones(9, 9), 1, out=tensor),
    ):
        with (
            warnings.catch_warnings(),
            pytest.raises(RuntimeError, match="resize storage that is not resizable"),
        ):
            warnings.simplefilter("ignore")  # `out` has the wrong size
            change()
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor.resize_(2, 2).tolist() == [[0, 1], [2, 3]]  # fits
    del shared


def test_reading_a_tensor_leaves_its_storage_resizable(tensor):
    torch.save(tensor, io.BytesIO())
    torch.linalg.svdvals(tensor)
    tensor.tolist()
    pickle.dumps(tensor)
    assert tensor.untyped_storage().resizable()
    assert tensor.resize_(3, 3)[:2].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_storage_that_shrank_stays_readable(tensor):
    memory = tensor.untyped_storage()
    assert memory.resizable()
    assert memory.resize_(0).nbytes() == 0
    assert tensor.shape == (2, 3)
    tensor.sum()  # reads memory that is still there
    memory.resize_(1 << 20)
    memory.fill_(0)
    assert not tensor.any()


def test_buffers_become_storages():
    from_buffer = torch.UntypedStorage.from_buffer
    assert from_buffer(b"1234", dtype=torch.uint8).tolist() == [49, 50, 51, 52]
    big = torch.ShortStorage.from_buffer(b"\x00\x01\x01\x00", byte_order="big")
    assert big.tolist() == [1, 256]
    assert torch.ByteStorage.from_buffer(b"1234", count=2, offset=1).size() == 2
    with pytest.raises(ValueError, match="multiple of the item size"):
        torch.FloatStorage.from_buffer(b"1234567")
    with pytest.raises(ValueError, match="need 12 bytes"):
        torch.FloatStorage.from_buffer(b"12345678", count=3)
    with pytest.raises(RuntimeError, match="dtype"):
        from_buffer(b"12")


def test_copies_and_files(tensor):
    storage = elements(tensor)
    for same in (
        copy.copy(storage),
        copy.deepcopy(storage),
        pickle.loads(pickle.dumps(storage)),
        storage.clone(),
    ):
        assert same.tolist() == storage.tolist() and same.dtype == storage.dtype
        assert same.data_ptr() != storage.data_ptr()
    file = io.BytesIO()
    torch.save({"storage": storage, "tensor": tensor}, file)
    file.seek(0)
    actual = torch.load(file)
    assert isinstance(actual["storage"], torch.FloatStorage)
    assert actual["storage"].data_ptr() == actual["tensor"].data_ptr()
    pair = copy.deepcopy([storage.untyped(), storage.untyped()])
    assert pair[0] is pair[1]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda s: s["a"], RuntimeError),
        (lambda s: s[0:2], RuntimeError),
        (lambda s: s[6], IndexError),
        (lambda s: s[-7], IndexError),
        (lambda s: s.copy_(torch.FloatStorage(2)), RuntimeError),
        (lambda s: s.untyped().copy_(torch.UntypedStorage(4)), RuntimeError),
        (lambda s: s.untyped().__setitem__(24, 1), RuntimeError),
        (lambda s: s.untyped().resize_(-1), RuntimeError),
        (lambda s: torch.UntypedStorage(-1), RuntimeError),
        (lambda s: torch.FloatStorage(-1), RuntimeError),
        (lambda s: torch.TypedStorage(2, wrap_storage=s.untyped()), TypeError),
        (lambda s: s.cuda(), AssertionError),
    ],
)
def test_bad_calls(tensor, call, error):
    with pytest.raises(error):
        call(elements(tensor))


def test_bytes_are_the_lowest_eight_bits():
    memory = torch.UntypedStorage(3)
    assert memory.fill_(300).tolist() == [44, 44, 44]
    memory[0], memory[1:] = -1, 257
    assert memory.tolist() == [255, 1, 1]
    for write in (memory.fill_, lambda value: memory.__setitem__(0, value)):
        with pytest.raises(RuntimeError, match="float"):
            write(2.5)
