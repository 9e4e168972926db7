"""Files of the format before the zip archive, and pickles of PyTorch.

Both constants were written by PyTorch 2.13.
"""

import base64
import io
import pickle
import sys

import pytest

import pellucid as torch

# {"x": arange(4.), "part": x[1:3], "n": tensor([7, 8]), "p": Parameter(ones(2))}
_SAVED = base64.b64decode(
    "gAKKCmz8nEb5IGqoUBkugAJN6QMugAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAAAGxp"
    "dHRsZV9lbmRpYW5xAohYCgAAAHR5cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZL"
    "BFgEAAAAbG9uZ3EHSwR1dS6AAn1xAChYAQAAAHhxAWN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfdGVuc29y"
    "X3YyCnECKChYBwAAAHN0b3JhZ2VxA2N0b3JjaApGbG9hdFN0b3JhZ2UKcQRYDgAAADk0NDM5MTI0NTU5"
    "NjAwcQVYAwAAAGNwdXEGSwROdHEHUUsASwSFcQhLAYVxCYljY29sbGVjdGlvbnMKT3JkZXJlZERpY3QK"
    "cQopUnELdHEMUnENWAQAAABwYXJ0cQ5oAigoaANoBFgOAAAAOTQ0MzkxMjQ1NTk2MDBxD2gGSwROdHEQ"
    "UUsBSwKFcRFLAYVxEoloCilScRN0cRRScRVYAQAAAG5xFmgCKChoA2N0b3JjaApMb25nU3RvcmFnZQpx"
    "F1gOAAAAOTQ0MzkwMzgyMjQ1NDRxGGgGSwJOdHEZUUsASwKFcRpLAYVxG4loCilScRx0cR1ScR5YAQAA"
    "AHBxH2N0b3JjaC5fdXRpbHMKX3JlYnVpbGRfcGFyYW1ldGVyCnEgaAIoKGgDaARYDgAAADk0NDM5MDM4"
    "MjI1MjgwcSFoBksCTnRxIlFLAEsChXEjSwGFcSSJaAopUnEldHEmUnEniGgKKVJxKIdxKVJxKnUugAJd"
    "cQAoWA4AAAA5NDQzOTAzODIyNDU0NHEBWA4AAAA5NDQzOTAzODIyNTI4MHECWA4AAAA5NDQzOTEyNDU1"
    "OTYwMHEDZS4CAAAAAAAAAAcAAAAAAAAACAAAAAAAAAACAAAAAAAAAAAAgD8AAIA/BAAAAAAAAAAAAAAA"
    "AACAPwAAAEAAAEBA"
)
# pickle.dumps({"x": arange(3.), "p": Parameter(ones(2))})
_PICKLED = base64.b64decode(
    "gASV4wIAAAAAAAB9lCiMAXiUjAx0b3JjaC5fdXRpbHOUjBJfcmVidWlsZF90ZW5zb3JfdjKUk5QojA10"
    "b3JjaC5zdG9yYWdllIwQX2xvYWRfZnJvbV9ieXRlc5STlEIHAQAAgAKKCmz8nEb5IGqoUBkugAJN6QMu"
    "gAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAAAGxpdHRsZV9lbmRpYW5xAohYCgAAAHR5"
    "cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS6AAihY"
    "BwAAAHN0b3JhZ2VxAGN0b3JjaApGbG9hdFN0b3JhZ2UKcQFYDgAAADk0NDM5MDM4MjI1MjgwcQJYAwAA"
    "AGNwdXEDSwNOdHEEUS6AAl1xAFgOAAAAOTQ0MzkwMzgyMjUyODBxAWEuAwAAAAAAAAAAAAAAAACAPwAA"
    "AECUhZRSlEsASwOFlEsBhZSJjAtjb2xsZWN0aW9uc5SMC09yZGVyZWREaWN0lJOUKVKUdJRSlIwBcJRo"
    "AowSX3JlYnVpbGRfcGFyYW1ldGVylJOUaAQoaAdCAwEAAIACigps/JxG+SBqqFAZLoACTekDLoACfXEA"
    "KFgQAAAAcHJvdG9jb2xfdmVyc2lvbnEBTekDWA0AAABsaXR0bGVfZW5kaWFucQKIWAoAAAB0eXBlX3Np"
    "emVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAAAGxvbmdxB0sEdXUugAIoWAcAAABz"
    "dG9yYWdlcQBjdG9yY2gKRmxvYXRTdG9yYWdlCnEBWA4AAAA5NDQzOTAzODI3MDMwNHECWAMAAABjcHVx"
    "A0sCTnRxBFEugAJdcQBYDgAAADk0NDM5MDM4MjcwMzA0cQFhLgIAAAAAAAAAAACAPwAAgD+UhZRSlEsA"
    "SwKFlEsBhZSJaA8pUpR0lFKUiGgPKVKUh5RSlHUu"
)


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_of_pytorch_is_read(weights_only):
    actual = torch.load(io.BytesIO(_SAVED), weights_only=weights_only)
    assert actual["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert actual["n"].tolist() == [7, 8] and actual["n"].dtype == torch.int64
    assert isinstance(actual["p"], torch.nn.Parameter) and actual["p"].requires_grad
    actual["x"][1] = 9.0  # the slice shares its storage
    assert actual["part"].tolist() == [9.0, 2.0]


def test_what_is_written_is_read_back(tmp_path):
    half = torch.arange(3).to(torch.bfloat16)
    held = {"half": half, "tail": half[1:], "none": torch.empty(0), "word": "x"}
    path = tmp_path / "old.pt"
    torch.save(held, path, _use_new_zipfile_serialization=False)
    assert path.read_bytes()[:2] != b"PK"
    actual = torch.load(path)
    assert actual["half"].dtype == torch.bfloat16 and actual["word"] == "x"
    assert actual["tail"].tolist() == [1.0, 2.0] and actual["none"].shape == (0,)
    assert actual["tail"].data_ptr() == actual["half"].data_ptr() + 2


def test_map_location_is_called_for_each_storage():
    asked = []
    torch.load(io.BytesIO(_SAVED), map_location=lambda s, place: asked.append(place))
    assert asked == ["cpu"] * 3


@pytest.mark.parametrize("length", [len(_SAVED) - 1, len(_SAVED) - 40, 300, 20])
def test_a_file_that_is_cut_off_is_refused(length):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(_SAVED[:length]))


def test_nothing_is_executed_by_a_file_that_is_not_trusted():
    class Calls:
        def __reduce__(self):
            return sys.exit, (3,)

    file = io.BytesIO()
    torch.save(Calls(), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="exit"):
        torch.load(file)


def test_a_storage_that_would_not_fit_the_file_is_refused():
    damaged = _SAVED.replace(b"cpuq\x06K\x04N", b"cpuq\x06M\xff\xffN")
    assert damaged != _SAVED
    with pytest.raises(pickle.UnpicklingError, match="65535 elements"):
        torch.load(io.BytesIO(damaged))


def test_functions_that_pickles_name_rebuild_tensors():
    from pellucid import _utils, storage

    data = io.BytesIO()
    whole = torch.TypedStorage([1.0, 1.0, 1.0])
    torch.save(whole, data, _use_new_zipfile_serialization=False)
    memory = storage._load_from_bytes(data.getvalue())
    plain = _utils._rebuild_tensor_v2(memory, 1, (2,), (1,), False, {})
    assert plain.tolist() == [1.0, 1.0]
    assert isinstance(_utils._rebuild_parameter(plain, False, {}), torch.nn.Parameter)
    with pytest.raises(AttributeError, match="_rebuild_nothing"):
        _utils._rebuild_nothing  # noqa: B018


def test_a_pickle_of_pytorch_is_read():
    class Finds(pickle.Unpickler):
        def find_class(self, module, name):
            return super().find_class(module.replace("torch", "pellucid", 1), name)

    actual = Finds(io.BytesIO(_PICKLED)).load()
    assert actual["x"].tolist() == [0.0, 1.0, 2.0]
    assert isinstance(actual["p"], torch.nn.Parameter)
