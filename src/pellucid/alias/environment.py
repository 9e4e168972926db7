"""Installs and removes the alias in an environment: its files, listed in RECORD.

Called by ``__main__.py``.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.machinery
import os
import shutil
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

from pellucid.version import api

SITE = Path(__file__).parent / "site"
_MARK = "pellucid"  # what INSTALLER says
_INFO = f"torch-{api}.dist-info"


class Refused(Exception):
    """The reason why nothing was done."""


def place() -> Path:
    """The site-packages folder of the environment."""
    return Path(sysconfig.get_paths()["purelib"])


def is_alias(found: Distribution) -> bool:
    """Whether a distribution is one that ``install`` has written."""
    return (found.read_text("INSTALLER") or "").strip() == _MARK


def torch_distributions() -> list[Distribution]:
    """All distributions of torch that this interpreter sees, the one that counts first;
    without the copy under which ``pellucid.run`` runs programs.
    """
    places = [entry for entry in sys.path if entry and Path(entry) != SITE]
    return [*distributions(name="torch", path=places)]


def real_torch() -> str | None:
    """The folder of PyTorch itself, if it is installed."""
    places = [entry for entry in sys.path if entry and Path(entry) != SITE]
    for found in torch_distributions():
        if not is_alias(found):
            return str(found.locate_file("torch"))
    spec = importlib.machinery.PathFinder.find_spec("torch", places)
    if spec is None or spec.origin is None or torch_distributions():
        return None
    return os.path.dirname(spec.origin)


def install() -> Path:
    """Writes the distribution; returns where. Refused beside PyTorch itself."""
    there = real_torch()
    if there is not None:
        raise Refused(
            f"PyTorch itself is installed, at {there}\n"
            "Remove it (pip uninstall torch) or take another environment; a single "
            "program runs on Pellucid by python -m pellucid.run."
        )
    target = place()
    if not os.access(target, os.W_OK):
        raise Refused(f"{target} cannot be written; make an environment of your own")
    remove()
    shutil.copytree(
        SITE, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    record = target / _INFO / "RECORD"
    written = [path for path in SITE.rglob("*") if path.is_file()]
    names = [path.relative_to(SITE) for path in written if path.suffix != ".pyc"]
    lines = [_recorded(target, name) for name in sorted(names)]
    record.write_text("\n".join([*lines, f"{_INFO}/RECORD,,", ""]))
    return target


def _recorded(target: Path, name: Path) -> str:
    """A line of RECORD: the file, its digest and size (PEP 376, PEP 427)."""
    content = (target / name).read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"{name.as_posix()},sha256={digest.decode()},{len(content)}"


def remove() -> list[Path]:
    """Removes every alias of this environment; returns the folders that went."""
    gone = []
    for found in distributions(name="torch", path=[str(place())]):
        if is_alias(found):
            info = Path(str(found.locate_file(f"torch-{found.version}.dist-info")))
            for folder in (info.parent / "torch", info):
                shutil.rmtree(folder)
                gone.append(folder)
    return gone
