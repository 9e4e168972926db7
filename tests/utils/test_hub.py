"""``torch.hub``: files that are fetched once, models of a folder."""

import hashlib
import zipfile

import pytest

import pellucid as torch
from pellucid import hub

CONFIG = '''
"""Two models."""
dependencies = ["math"]
from layers import width

def small(scale=1):
    """A list of one width."""
    return [width * scale]

def _hidden():
    return None
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layers.py").write_text("width = 7\n")
    (tmp_path / "hubconf.py").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_chosen", [])
    hub.set_dir(tmp_path / "home")
    return tmp_path


def test_a_folder_offers_its_functions(folder):
    assert hub.load(folder, "small", source="local", scale=3) == [21]
    assert hub.list(folder) == ["small"]
    assert hub.help(folder, "small") == "A list of one width."
    with pytest.raises(RuntimeError, match="Cannot find callable large in hubconf"):
        hub.load(folder, "large", source="local")


def test_bad_folders_say_what_is_missing(folder):
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(folder, "small", source="web")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py"):
        hub.load(folder / "empty", "small", source="local")
    (folder / "hubconf.py").write_text('dependencies = ["no_such_module"]')
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module"):
        hub.list(folder)
    with pytest.raises(NotImplementedError, match='source="local"'):
        hub.load("owner/repository", "small")


def stored(home, name):
    state = {"weight": torch.arange(3.0)}
    path = home / name
    torch.save(state, path)
    return state, path


def test_a_file_is_fetched_once(home):
    state, path = stored(home, "weights.pth")
    actual = hub.load_state_dict_from_url(path.as_uri(), progress=False)
    assert torch.equal(actual["weight"], state["weight"])
    path.unlink()
    again = hub.load_state_dict_from_url(path.as_uri(), progress=False)
    assert torch.equal(again["weight"], state["weight"])
    assert (home / "home" / "checkpoints" / "weights.pth").exists()


def test_a_file_has_the_hash_in_its_name(home):
    _, path = stored(home, "weights.pth")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    good = path.rename(home / f"weights-{digest[:8]}.pth")
    hub.load_state_dict_from_url(good.as_uri(), check_hash=True, progress=False)
    bad = good.rename(home / "weights-00000000.pth")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(bad.as_uri(), check_hash=True, progress=False)
    assert sorted(p.name for p in (home / "home" / "checkpoints").iterdir()) == [
        good.name
    ]


def test_an_archive_of_one_file_is_opened(home):
    state, path = stored(home, "inner.pth")
    with zipfile.ZipFile(home / "outer.zip", "w") as archive:
        archive.write(path, "inner.pth")
    url = (home / "outer.zip").as_uri()
    actual = hub.load_state_dict_from_url(url, progress=False)
    assert torch.equal(actual["weight"], state["weight"])
