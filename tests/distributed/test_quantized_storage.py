"""Safetensors files whose weights are quantized by blocks."""

import pytest

import pellucid as torch
from pellucid import safetensors
from pellucid.distributed import checkpoint
from pellucid.distributed.checkpoint import QuantizedHuggingFaceStorageReader


def stored(folder):
    torch.manual_seed(1)
    weight = torch.randn(5, 7).to(torch.float8_e4m3fn)
    scales = torch.rand(2, 2) + 0.5
    state = {"w": weight, "plain": torch.arange(3.0)}
    safetensors.save_file(state, str(folder / "model-00001-of-00002.safetensors"))
    path = str(folder / "model-00002-of-00002.safetensors")
    safetensors.save_file({"w_scale_inv": scales}, path)
    expected = weight.float()
    for row in range(5):
        for column in range(7):
            expected[row, column] *= scales[row // 4, column // 4]
    return expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_are_multiplied_by_their_scales(tmp_path, dtype):
    expected = stored(tmp_path)
    found = {"w": torch.zeros(5, 7, dtype=dtype), "plain": torch.zeros(3)}
    reader = QuantizedHuggingFaceStorageReader(
        str(tmp_path), thread_count=2, target_dtype=dtype, block_size=4
    )
    metadata = reader.read_metadata()
    assert metadata.state_dict_metadata["w"].properties.dtype is dtype
    checkpoint.load(found, storage_reader=reader, no_dist=True)
    assert found["w"].equal(expected.to(dtype))
    assert found["plain"].tolist() == [0, 1, 2]


def test_scales_must_fit_the_blocks(tmp_path):
    stored(tmp_path)
    reader = QuantizedHuggingFaceStorageReader(str(tmp_path), block_size=2)
    found = {"w": torch.zeros(5, 7)}
    with pytest.raises(checkpoint.CheckpointException, match=r"needs scales of shape"):
        checkpoint.load(found, storage_reader=reader, no_dist=True)
