"""Tensors of narrow and opaque dtypes in files, pickles, DLPack and NumPy."""

import copy
import io
import pickle
import zipfile

import numpy as np
import pytest

import pellucid as torch
from pellucid import safetensors
from pellucid_compiler.abi.dtypes import BY_NAME

LATER = list(BY_NAME)[12:]
NUMPY = ("uint16", "uint32", "uint64")


def sample(name):
    return torch.arange(1, 17, dtype=torch.uint8).view(getattr(torch, name))


def same(a, b):
    return a.dtype is b.dtype and torch.equal(a.view(torch.uint8), b.view(torch.uint8))


@pytest.mark.parametrize("name", LATER)
def test_files_pickles_and_copies_hold_the_bytes(name):
    x = sample(name)
    file = io.BytesIO()
    torch.save({"x": x, "dtype": x.dtype, "part": x[1:]}, file)
    actual = torch.load(io.BytesIO(file.getvalue()))
    assert same(actual["x"], x)
    assert same(actual["part"], x[1:])
    assert actual["dtype"] is x.dtype
    assert same(pickle.loads(pickle.dumps(x)), x)
    assert same(copy.deepcopy(x), x)
    (place,) = (n for n in zipfile.ZipFile(file).namelist() if n.endswith("data.pkl"))
    text = zipfile.ZipFile(file).read(place)
    assert b"_rebuild_tensor_v3" in text
    assert b"UntypedStorage" in text


@pytest.mark.parametrize("name", LATER)
def test_dlpack_knows_what_it_has_a_type_for(name):
    x = sample(name)
    if BY_NAME[name].opaque:
        with pytest.raises(BufferError, match="DLPack"):
            torch.from_dlpack(x)
    else:
        y = torch.from_dlpack(x)
        assert same(x, y)
        assert y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("name", LATER)
def test_numpy_has_the_wide_integers(name):
    x = sample(name)
    if name in NUMPY:
        assert x.numpy().dtype == np.dtype(name)
        again = torch.from_numpy(np.array([1, 2], name))
        assert again.dtype is x.dtype
        assert again.tolist() == [1, 2]
    else:
        with pytest.raises(TypeError):
            x.numpy()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "uint16", "uint64"])
def test_safetensors_have_a_name_for_it(name, tmp_path):
    x = sample(name)
    safetensors.save_file({"x": x}, str(tmp_path / "x.safetensors"))
    assert same(safetensors.load_file(str(tmp_path / "x.safetensors"))["x"], x)
