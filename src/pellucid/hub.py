"""``torch.hub``: downloads of weights, and models of local folders with a hubconf.py.

A file is downloaded once and cached under ``get_dir()``. Repositories are loaded from
local folders (``source="local"``); repositories on GitHub are not downloaded: running
code that was just downloaded is a decision for the user.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import pellucid

try:
    from tqdm import tqdm as tqdm
except ImportError:
    from pellucid._functions.progress import tqdm as tqdm

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

# The first digits of a file's hash, in its name.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_BLOCK = 1 << 17
_CONFIG = "hubconf.py"

_chosen: list[str] = []


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder of downloads: ``$TORCH_HOME/hub`` unless ``set_dir`` chose
    otherwise.
    """
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of downloads."""
    _chosen[:] = [os.path.expanduser(d)]


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Downloads a file; RuntimeError if its SHA-256 does not begin with
    ``hash_prefix``.

    ``dst`` is created when the download is complete; a progress bar is shown if tqdm
    is installed.
    """
    folder = os.path.dirname(os.path.abspath(os.path.expanduser(dst)))
    digest = hashlib.sha256()
    request = Request(url, headers={"User-Agent": "pellucid.hub"})
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as partial:
        try:
            with urlopen(request) as source, _bar(source, progress) as bar:
                while block := source.read(_BLOCK):
                    partial.write(block)
                    digest.update(block)
                    bar.update(len(block))
            found = digest.hexdigest()
            if hash_prefix is not None and not found.startswith(hash_prefix):
                raise RuntimeError(
                    f"{url}: invalid hash value (expected {hash_prefix!r}, got "
                    f"{found!r})"
                )
            partial.close()
            shutil.move(partial.name, dst)
        finally:
            if os.path.exists(partial.name):
                os.remove(partial.name)


def _bar(source: Any, is_shown: bool) -> Any:
    size = source.headers.get("Content-Length")
    total = int(size) if size else None
    return tqdm(total=total, disable=not is_shown, unit="B", unit_scale=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Loads a file by ``torch.load``, after downloading it unless it is cached.

    With ``check_hash`` the file's name contains the first digits of its SHA-256
    (``resnet18-f37072fd.pth``). Nothing in the file is executed, for any
    ``weights_only``.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        told = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, told and told.group(1), progress)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) == 1 and not members[0].is_dir():
                path = archive.extract(members[0], folder)
    found: dict[str, Any] = pellucid.load(path, map_location=map_location)
    return found


# ---------------------------------------------------------------- folders of models


def _entries(repo: str | os.PathLike[str], source: str) -> ModuleType:
    """Imports a folder's hubconf module, with the folder on ``sys.path`` meanwhile."""
    if source not in ("github", "local"):
        raise ValueError(
            f'Unknown source: "{source}". Allowed values: "github" | "local".'
        )
    if source == "github":
        raise NotImplementedError(
            f"repositories of GitHub are not fetched: get {repo!r} (git clone), look "
            'at it, and name the folder with source="local"'
        )
    folder = os.path.abspath(os.path.expanduser(repo))
    path = os.path.join(folder, _CONFIG)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no {_CONFIG} in {folder}")
    spec = importlib.util.spec_from_file_location(_CONFIG, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    needed = getattr(module, "dependencies", [])
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if not isinstance(name, str) or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found  # type: ignore[no-any-return]


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls the function ``model`` of a folder's ``hubconf.py``.

    Example::

        model = torch.hub.load("checkouts/models", "small", source="local", width=8)
    """
    return _entry(_entries(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
) -> Any:
    """The names of the functions of a folder's ``hubconf.py``."""
    source = "local" if os.path.isdir(github) else "github"
    module = _entries(github, source)
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_")
    ]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
) -> str | None:
    """The docstring of a function of a folder's ``hubconf.py``."""
    source = "local" if os.path.isdir(github) else "github"
    return _entry(_entries(github, source), model).__doc__
