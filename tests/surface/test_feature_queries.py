"""Names that programs import and query without using what they name."""

import copy
import pickle

import pellucid as torch


def test_narrow_dtypes_are_named_and_measured():
    assert repr(torch.float8_e4m3fn) == "torch.float8_e4m3fn"
    assert isinstance(torch.uint16, torch.dtype)
    assert torch.float8_e5m2.is_floating_point and torch.float8_e5m2.itemsize == 1
    assert torch.finfo(torch.float8_e4m3fn).max == 448
    assert torch.iinfo(torch.uint32).max == 2**32 - 1
    assert copy.deepcopy(torch.uint64) is torch.uint64
    assert pickle.loads(pickle.dumps(torch.uint64)) is torch.uint64


def test_data_parallel_calls_the_module():
    layer = torch.nn.Linear(2, 3)
    wrapped = torch.nn.DataParallel(layer)
    x = torch.ones(4, 2)
    assert torch.equal(wrapped(x), layer(x))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
