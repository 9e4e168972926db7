"""dtype, device, Size, finfo and iinfo print, compare and pickle as PyTorch's."""

import copy
import pickle

import pytest

import pellucid as torch

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_singletons_that_print_as_torchs(name):
    dtype = getattr(torch, name)
    assert repr(dtype) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype


def test_dtype_facts():
    assert torch.float is torch.float32 and torch.long is torch.int64
    assert torch.bfloat16.itemsize == 2 and torch.complex64.to_real() is torch.float32
    assert torch.float16.is_floating_point and not torch.uint8.is_signed
    assert torch.promote_types(torch.int32, torch.float16) is torch.float16
    assert torch.can_cast(torch.float32, torch.int32) is False


def test_devices():
    device = torch.device("cuda:1")
    assert repr(device) == "device(type='cuda', index=1)" and str(device) == "cuda:1"
    assert device == torch.device("cuda", 1) != torch.device("cuda")
    assert pickle.loads(pickle.dumps(device)) == device
    assert len({device, torch.device("cuda:1")}) == 1


@pytest.mark.parametrize("text", ["foo", "cuda:-1", "cpu:x", "cuda:01"])
def test_bad_device_strings_are_refused(text):
    with pytest.raises(RuntimeError):
        torch.device(text)


def test_size_is_a_tuple_that_stays_a_size():
    size = torch.Size([2, 3])
    assert repr(size) == "torch.Size([2, 3])" and size == (2, 3)
    assert (
        type(size + torch.Size([1])) is type(size[:1]) is type(size * 2) is torch.Size
    )
    assert type(tuple(size) + size) is torch.Size
    assert size.numel() == 6 and pickle.loads(pickle.dumps(size)) == size
    with pytest.raises(TypeError):
        torch.Size([1.5])


def test_limits():
    assert torch.finfo(torch.float32).eps == 2.0**-23
    assert torch.finfo(torch.bfloat16).max == 3.3895313892515355e38
    assert (torch.iinfo(torch.int8).min, torch.iinfo(torch.uint8).max) == (-128, 255)
    assert repr(torch.iinfo(torch.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    with pytest.raises(TypeError):
        torch.finfo(torch.int8)


# (bits, resolution, max, eps, smallest normal), as PyTorch 2.13 has them.
_LIMITS = {
    "float16": (16, 1e-3, 65504.0, 2.0**-10, 2.0**-14),
    "bfloat16": (16, 1e-2, 3.3895313892515355e38, 2.0**-7, 2.0**-126),
    "float64": (64, 1e-15, 1.7976931348623157e308, 2.0**-52, 2.0**-1022),
    "complex64": (32, 1e-6, 3.4028234663852886e38, 2.0**-23, 2.0**-126),
    "complex32": (16, 1e-3, 65504.0, 2.0**-10, 2.0**-14),
    "float8_e4m3fn": (8, 1.0, 448.0, 0.125, 2.0**-6),
    "float8_e4m3fnuz": (8, 1.0, 240.0, 0.125, 2.0**-7),
    "float8_e5m2": (8, 1.0, 57344.0, 0.25, 2.0**-14),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 1.0, 2.0**-127),
}


@pytest.mark.parametrize("name", _LIMITS)
def test_limits_of_floats_are_pytorchs(name):
    info = torch.finfo(getattr(torch, name))
    actual = (info.bits, info.resolution, info.max, info.eps, info.tiny)
    assert actual == _LIMITS[name]
    signed = name != "float8_e8m0fnu"
    assert info.min == (-info.max if signed else info.smallest_normal)


@pytest.mark.parametrize("name", ["bool", "float32", "complex64", "float4_e2m1fn_x2"])
def test_dtypes_without_limits_of_integers(name):
    with pytest.raises(TypeError, match="needs an integer dtype"):
        torch.iinfo(getattr(torch, name, None))


def test_default_dtype_rules_factories_and_data():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.empty(1).dtype is torch.tensor(1.5).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int32)


def test_classes_of_numbers_name_dtypes_of_full_width():
    assert torch.zeros(1, dtype=float).dtype is torch.float64
    assert torch.zeros(1, dtype=complex).dtype is torch.complex128
    assert torch.zeros(1, dtype=int).dtype is torch.int64
    assert torch.zeros(1, dtype=bool).dtype is torch.bool
    assert torch.ones(1).to(float).dtype is torch.float64
    assert torch.tensor(1, dtype=float).dtype is torch.float64


def test_tensors_of_the_host_and_of_meta_have_no_device_number():
    assert torch.empty(1, device="cpu:3").device == torch.device("cpu")
    assert torch.ones(1).to("meta:1").device == torch.device("meta")
    host = torch.ones(1)
    moved = host.to("cpu:0")
    assert moved is not host
    assert moved.device == host.device
