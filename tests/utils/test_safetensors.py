"""safetensors: round trips, metadata, and files that must be refused."""

import json

import pytest

import pellucid as torch
from pellucid.safetensors import (
    SafetensorError,
    load,
    load_file,
    safe_open,
    save,
    save_file,
)

TENSORS = {
    "weight": torch.arange(6.0).reshape(2, 3),
    "half": torch.tensor([1.5, -2.0]).bfloat16(),
    "mask": torch.tensor([True, False, True]),
    "empty": torch.empty(0, 4),
    "number": torch.tensor(7),
}


def test_tensors_come_back_as_they_were(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path, {"format": "pt"})
    for actual in (load_file(path), load(save(TENSORS))):
        assert actual.keys() == TENSORS.keys()
        for name, tensor in TENSORS.items():
            assert actual[name].dtype == tensor.dtype
            assert torch.equal(actual[name], tensor)


def test_a_file_is_opened_tensor_by_tensor(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path, {"format": "pt"})
    with safe_open(path, framework="pt") as file:
        assert set(file.keys()) == TENSORS.keys()
        assert file.metadata() == {"format": "pt"}
        assert torch.equal(file.get_slice("weight")[:, 1], torch.tensor([1.0, 4.0]))
        with pytest.raises(SafetensorError, match="no tensor"):
            file.get_tensor("bias")


def test_writing_to_a_loaded_tensor_leaves_the_file_alone(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    load_file(path)["weight"].zero_()
    assert torch.equal(load_file(path)["weight"], TENSORS["weight"])


def test_shared_memory_is_refused():
    weight = torch.ones(4)
    with pytest.raises(RuntimeError, match="share memory"):
        save({"a": weight, "b": weight[:2]})


def file_with(header, body=b"\0" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 8,
        file_with(b"{"),
        file_with(b"[" * 100_000),
        file_with([1]),
        file_with({"a": 1}),
        file_with({"a": {**ONE, "dtype": "F31"}}),
        file_with({"a": {**ONE, "shape": [-2]}}),
        file_with({"a": {**ONE, "shape": [3]}}),
        file_with({"a": {**ONE, "shape": [2**62]}}),
        file_with({"a": {**ONE, "data_offsets": [4, 12]}}),
        file_with({"a": {**ONE, "data_offsets": [0, 2**60]}}),
        file_with({"a": ONE, "b": ONE}),
        file_with({"a": ONE}, b"\0" * 7),
        file_with({"a": ONE}, b"\0" * 9),
    ],
)
def test_damaged_files_are_refused(data):
    with pytest.raises(SafetensorError):
        load(data)
