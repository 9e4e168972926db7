"""save and load: what comes back, what is refused, damage."""

import io
import os
import pickle
import warnings
import zipfile
from collections import OrderedDict

import numpy
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.serialization._format import writer as _archive_writer


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file


def reloaded(value):
    file = saved(value)
    file.seek(0)
    return torch.load(file)


DTYPES = [
    *("float32", "float64", "float16", "bfloat16", "bool"),
    *("int64", "int32", "int16", "int8", "uint8"),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, dtype))
    result = reloaded(tensor)
    assert result.dtype == tensor.dtype and torch.equal(result, tensor)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_tensors_come_back(dtype):
    tensor = torch.tensor([[1 + 2j, 3], [-1j, 0.5]], dtype=getattr(torch, dtype))
    result = reloaded(tensor)
    assert result.dtype == tensor.dtype and result.tolist() == tensor.tolist()


def test_plain_values_and_containers_come_back():
    value = {
        "numbers": [1, 2.5, None, True, -(2**80), 3 + 4j],
        "text": ("x", b"bytes", {1, 2}),
        "types": [torch.float16, torch.Size([2, 3]), torch.device("cpu")],
        "ordered": OrderedDict(a=1),
    }
    value["shared"] = value["numbers"]
    result = reloaded(value)
    assert result == value
    assert result["shared"] is result["numbers"]


def test_views_go_on_sharing_their_storage():
    base = torch.arange(6)
    result = reloaded({"base": base, "view": base.view(2, 3).t()})
    result["base"][1] = 50
    assert result["view"].tolist() == [[0, 3], [50, 4], [2, 5]]
    assert result["view"].stride() == (1, 3)


def test_state_dicts_go_to_a_file_and_back(tmp_path):
    source, target = nn.Linear(2, 3), nn.Linear(2, 3)
    torch.save(source.state_dict(), tmp_path / "model.pt")
    state = torch.load(tmp_path / "model.pt", map_location="cpu")
    assert state._metadata == source.state_dict()._metadata
    target.load_state_dict(state)
    assert torch.equal(source.weight, target.weight)


def test_parameters_stay_parameters():
    result = reloaded(nn.Parameter(torch.ones(2), requires_grad=False))
    assert isinstance(result, nn.Parameter) and not result.requires_grad


def test_empty_and_scalar_tensors():
    assert reloaded(torch.empty(0, 3)).shape == (0, 3)
    assert reloaded(torch.tensor(2.5)).item() == 2.5


def archive_of(description, **entries):
    """A file whose pickle is `description`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", description)
        for name, data in entries.items():
            archive.writestr(f"archive/data/{name}", data)
    file.seek(0)
    return file


class Runs:
    def __reduce__(self):
        return os.system, ("echo this must not run",)


@pytest.mark.parametrize(
    "value",
    [Runs(), {"x": [os.system]}, print, zipfile.ZipFile],
    ids=["object", "nested", "function", "class"],
)
def test_code_is_refused_and_not_run(value, capfd):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive_of(pickle.dumps(value)))
    assert "must not run" not in capfd.readouterr().out


def test_whole_modules_are_refused_with_advice():
    with pytest.raises(pickle.UnpicklingError, match="state_dict"):
        torch.load(archive_of(pickle.dumps(nn.ReLU())))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
        self.activation = nn.functional.softplus

    def forward(self, x):
        return self.activation(self.layers(x))


def test_whole_modules_come_back_from_trusted_files():
    model = Model()
    file = saved({"model": model, "size": (3, 4)})
    file.seek(0)
    loaded = torch.load(file, weights_only=False)["model"]
    x = torch.ones(2, 3)
    assert type(loaded) is Model and torch.equal(loaded(x), model(x))


def test_files_name_classes_as_pytorch_does():
    file = saved(nn.Sequential(nn.Linear(1, 1), nn.Transformer(4, 1, 1, 1)))
    with zipfile.ZipFile(file) as archive:
        description = archive.read("archive/data.pkl")
    assert b"torch.nn\nLinear\n" in description and b"pellucid" not in description


def test_classes_of_other_files_of_pytorch_are_found():
    named = b"ctorch.nn.modules.activation\nReLU\n."
    assert torch.load(archive_of(named), weights_only=False) is nn.ReLU
    with pytest.raises(AttributeError, match="NoSuchLayer"):
        torch.load(archive_of(b"ctorch.nn\nNoSuchLayer\n."), weights_only=False)


def test_damage_is_named_in_trusted_files_too():
    with zipfile.ZipFile(saved(torch.ones(300))) as archive:
        description = archive.read("archive/data.pkl")
    with pytest.raises(pickle.UnpicklingError, match="elements"):
        torch.load(archive_of(description, **{"0": b"1234"}), weights_only=False)


class Settings:
    def __init__(self, width):
        self.width = width


def test_allowed_classes_come_back():
    file = saved({"settings": Settings(3), "weight": torch.ones(2)})
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        torch.load(file)
    with torch.serialization.safe_globals([Settings]):
        assert torch.load(file)["settings"].width == 3
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        torch.load(file)


def test_arrays_come_back_where_numpy_is_allowed():
    array = numpy.arange(6.0).reshape(2, 3)
    multiarray = numpy._core.multiarray
    allowed = [multiarray._reconstruct, numpy.ndarray, numpy.dtype, type(array.dtype)]
    with torch.serialization.safe_globals(allowed):
        assert numpy.array_equal(torch.load(saved(array)), array)


def test_functions_of_ops_are_pickled_by_name():
    functions = [torch.sin, nn.functional.gelu, nn.functional.relu, torch.special.erf]
    assert pickle.loads(pickle.dumps(functions)) == functions


@pytest.mark.parametrize(
    ("cut", "error"),
    [
        (0, EOFError),
        (1, pickle.UnpicklingError),
        (10, RuntimeError),
        (100, RuntimeError),
    ],
)
def test_truncated_files_are_damaged(cut, error, tmp_path):
    data = saved(torch.ones(3)).getvalue()
    (tmp_path / "cut.pt").write_bytes(data[:cut])
    for file in (io.BytesIO(data[:cut]), tmp_path / "cut.pt"):
        with pytest.raises(error):
            torch.load(file)


def test_every_truncation_of_the_description_is_damaged():
    with zipfile.ZipFile(saved({"a": torch.ones(3), "b": [1, "x"]})) as archive:
        description = archive.read("archive/data.pkl")
        data = archive.read("archive/data/0")
    torch.load(archive_of(description, **{"0": data}))
    for length in range(len(description)):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(archive_of(description[:length], **{"0": data}))


def test_storages_must_hold_what_is_described():
    with zipfile.ZipFile(saved(torch.ones(300))) as archive:
        description = archive.read("archive/data.pkl")
    for data in (b"", b"1234", b"123"):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(archive_of(description, **{"0": data}))


def test_devices_that_do_not_exist_are_refused():
    with pytest.raises(RuntimeError, match="cpu"):
        torch.load(saved(torch.ones(1)), map_location="cuda")


def test_a_computed_tensor_comes_back_as_a_leaf_that_requires_gradients(tmp_path):
    y = torch.ones(2, requires_grad=True) * 2
    torch.save(y, tmp_path / "y.pt")
    loaded = torch.load(tmp_path / "y.pt")
    assert loaded.requires_grad and loaded.is_leaf and loaded.tolist() == [2, 2]


def with_metadata(tensor, **metadata):
    """A file that says of ``tensor`` what PyTorch says of lazy conjugates."""
    file = io.BytesIO()

    class Lazily(_archive_writer.Writer):
        def _reduce_tensor(self, value):
            function, arguments = super()._reduce_tensor(value)
            return function, (*arguments, metadata)

    description = io.BytesIO()
    writer = Lazily(description, 2)
    writer.dump(tensor)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", description.getvalue())
        for key, whole in writer.storages.values():
            archive.writestr(f"archive/data/{key}", _archive_writer.bytes_of(whole))
    file.seek(0)
    return file


def test_operations_that_pytorch_left_pending_are_done():
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert torch.equal(torch.load(with_metadata(x, conj=True)), x.conj())
    assert torch.equal(torch.load(with_metadata(x, neg=True)), -x)
    both = torch.load(with_metadata(x, conj=True, neg=True))
    assert torch.equal(both, -x.conj())
    with pytest.raises(pickle.UnpicklingError, match="unheard"):
        torch.load(with_metadata(x, unheard=True))


def test_one_memory_of_two_dtypes_is_refused():
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="share one memory"):
        saved([x, x.view(torch.int32)])
    empty = reloaded([torch.empty(0), torch.empty(0, dtype=torch.int64)])
    assert [t.dtype for t in empty] == [torch.float32, torch.int64]


def test_a_function_places_storages():
    calls = []

    def place(storage, location):
        calls.append((storage.nbytes(), location))
        return torch.zeros(2).untyped_storage() if len(calls) == 1 else None

    file = saved([torch.ones(2), torch.ones(3)])
    first, second = torch.load(file, map_location=place)
    assert calls == [(8, "cpu"), (12, "cpu")]
    assert first.tolist() == [0, 0] and second.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="map_location returned a int"):
        torch.load(file, map_location=lambda storage, location: 3)


class Tagged(torch.Tensor):
    pass


def test_attributes_and_classes_of_tensors_come_back():
    parameter = nn.Parameter(torch.ones(2))
    parameter.decay = False
    result = reloaded(parameter)
    assert isinstance(result, nn.Parameter) and result.decay is False

    plain = torch.ones(2)
    plain.note = ["x"]
    assert reloaded(plain).note == ["x"]

    tagged = torch.ones(2).as_subclass(Tagged)
    tagged.note = 3
    with pytest.raises(pickle.UnpicklingError, match="Tagged"):
        reloaded(tagged)
    with torch.serialization.safe_globals([Tagged]):
        result = reloaded(nn.Parameter(tagged))
    assert type(result) is Tagged and isinstance(result, nn.Parameter)
    buffer = reloaded(nn.Buffer(torch.ones(2)))
    assert isinstance(buffer, nn.Buffer) and buffer.persistent


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "location", ["meta", torch.device("meta"), {"cpu": "meta"}], ids=str
)
def test_the_meta_device_gets_sizes_without_values(location, weights_only, legacy):
    x = torch.arange(6.0)
    saved = io.BytesIO()
    torch.save(
        {"a": [x, x[2:], x.view(2, 3).t()], "b": torch.nn.Parameter(x), "c": 3},
        saved,
        _use_new_zipfile_serialization=not legacy,
    )
    saved.seek(0)
    actual = torch.load(saved, map_location=location, weights_only=weights_only)
    whole, part, turned = actual["a"]
    assert whole.is_meta and whole.dtype == torch.float32 and whole.shape == (6,)
    assert part.storage_offset() == 2 and part.untyped_storage().nbytes() == 24
    assert turned.stride() == (1, 3) and actual["c"] == 3
    assert type(actual["b"]) is torch.nn.Parameter and actual["b"].is_meta


def test_tensors_of_the_meta_device_are_saved():
    saved = io.BytesIO()
    torch.save(torch.empty(2, 3, dtype=torch.int64, device="meta").t(), saved)
    for location in (None, "cpu"):
        saved.seek(0)
        actual = torch.load(saved, map_location=location)
        assert actual.is_meta and actual.shape == (3, 2) and actual.stride() == (1, 3)
        assert actual.dtype == torch.int64


def test_a_map_location_of_another_type_is_refused():
    saved = io.BytesIO()
    torch.save(torch.ones(2), saved)
    saved.seek(0)
    with pytest.raises(TypeError, match="map_location"):
        torch.load(saved, map_location=3)


@pytest.mark.parametrize("store", [torch.save, pickle.dump])
def test_hooks_that_are_not_stored_are_warned_of(store):
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="not stored with it"):
        store(x, io.BytesIO())
    handle.remove()
    x.register_hook(torch.utils.hooks.unserializable_hook(lambda grad: grad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = io.BytesIO()
        store(x, file)
    assert file.tell()
