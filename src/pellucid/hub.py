"""``torch.hub``: models from the network are not fetched; their files can be loaded.

Libraries import the functions by name; calling one says what there is to do.
"""

from __future__ import annotations

import os
import re
from typing import Any, NoReturn

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

# The first digits of a file's hash in its name.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

_chosen: list[str] = []


def get_dir() -> str:
    """The folder of downloaded models."""
    if _chosen:
        return _chosen[-1]
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(home, "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep them elsewhere."""
    _chosen[:] = [os.path.expanduser(d)]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not fetched: download it, and read it by torch.load or "
        "pellucid.safetensors"
    )


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Refuses."""
    _refuse(url)


def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Refuses."""
    _refuse(url)


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    """Refuses."""
    _refuse(f"{model} of {repo_or_dir}")


def list(github: str, *args: Any, **kwargs: Any) -> Any:
    """Refuses."""
    _refuse(f"the list of the models of {github}")


def help(github: str, model: str, *args: Any, **kwargs: Any) -> Any:
    """Refuses."""
    _refuse(f"the description of {model} of {github}")
