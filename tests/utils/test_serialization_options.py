"""What ``torch.serialization`` lets a program register and set."""

import io
import mmap
import os
import pickle
import zipfile

import pytest

import pellucid as torch
from pellucid import serialization
from pellucid.serialization import LoadEndianness
from pellucid.serialization._format import locations
from pellucid.utils.serialization import config


class Opaque:
    def __init__(self):
        self.number = 1


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


@pytest.fixture
def packages(monkeypatch):
    monkeypatch.setattr(locations, "_registered", list(locations._registered))


def test_the_names_that_a_file_would_be_refused_for():
    file = saved({"a": torch.ones(3), "b": Opaque(), "c": os.getcwd})
    actual = serialization.get_unsafe_globals_in_checkpoint(file)
    assert sorted(actual) == [f"{os.getcwd.__module__}.getcwd", f"{__name__}.Opaque"]
    with serialization.safe_globals([Opaque]):
        assert len(serialization.get_unsafe_globals_in_checkpoint(file)) == 1
    harmless = saved(torch.nn.Linear(2, 2).state_dict())
    assert serialization.get_unsafe_globals_in_checkpoint(harmless) == []


@pytest.mark.parametrize("data", [b"", b"abc"])
def test_what_is_no_checkpoint(data):
    with pytest.raises(ValueError, match="checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))


def test_a_package_names_and_restores_locations(packages):
    asked = []

    def tag(storage):
        return "shelf" if storage.nbytes() == 12 else None

    def restore(storage, location):
        asked.append(location)
        return storage if location == "shelf" else None

    serialization.register_package(5, tag, restore)
    file = saved(torch.arange(3.0))
    assert torch.load(file).tolist() == [0, 1, 2]
    assert asked == ["shelf"]
    assert serialization.location_tag(torch.ones(3).untyped_storage()) == "shelf"
    assert serialization.location_tag(torch.ones(2).untyped_storage()) == "cpu"
    file.seek(0)
    assert torch.load(file, map_location={"shelf": "cpu"}).sum() == 3
    with pytest.raises(RuntimeError, match="restore"):
        storage = torch.ones(2).untyped_storage()
        serialization.default_restore_location(storage, "cellar")


def test_data_left_out():
    with serialization.skip_data():
        file = saved({"a": torch.ones(2, 3)})
    assert torch.load(file)["a"].tolist() == [[0, 0, 0]] * 2
    with serialization.skip_data():
        file.seek(0)
        assert torch.load(file)["a"].shape == (2, 3)


def test_the_byte_order_of_files_that_name_none(monkeypatch):
    monkeypatch.setattr(config.load, "endianness", None)
    file = saved(torch.ones(2), _disable_byteorder_record=True)
    assert "archive/byteorder" not in zipfile.ZipFile(file).namelist()
    serialization.set_default_load_endianness(LoadEndianness.BIG)
    with pytest.raises(pickle.UnpicklingError, match="byte order"):
        torch.load(file)
    serialization.set_default_load_endianness(LoadEndianness.LITTLE)
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1]
    with pytest.raises(TypeError, match="LoadEndianness"):
        serialization.set_default_load_endianness("little")


def test_records_without_checksums_are_read():
    """As PyTorch writes them after ``set_crc32_options(False)``."""
    file = saved(torch.arange(4))
    whole = bytearray(file.getvalue())
    archive = zipfile.ZipFile(file)
    place = archive.start_dir
    for entry in archive.infolist():
        whole[entry.header_offset + 14 : entry.header_offset + 18] = bytes(4)
        whole[place + 16 : place + 20] = bytes(4)
        place += 46 + len(entry.filename) + len(entry.extra) + len(entry.comment)
    assert torch.load(io.BytesIO(whole)).tolist() == [0, 1, 2, 3]


def test_flags_of_mapped_files(monkeypatch):
    monkeypatch.setattr(config.load, "mmap_flags", mmap.MAP_PRIVATE)
    with serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
        assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(NotImplementedError, match="MAP_PRIVATE"):
        serialization.set_default_mmap_options(mmap.MAP_SHARED)
    with pytest.raises(ValueError, match="not 5"):
        serialization.set_default_mmap_options(5)
