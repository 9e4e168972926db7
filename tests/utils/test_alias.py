"""``python -m pellucid.alias``: an environment whose torch is Pellucid, and back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid import version
from pellucid.alias.environment import SITE

SOURCES = str(Path(version.__file__).parents[1])
FOUND = """
import importlib.metadata, importlib.util, torch.nn as nn, torch, pellucid
assert importlib.util.find_spec("torch") is not None
assert torch is pellucid and nn is pellucid.nn
print(importlib.metadata.version("torch"))
"""


@pytest.fixture
def python(tmp_path):
    """Calls the interpreter of a new environment that sees this Pellucid."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")]
    subprocess.run(command, check=True)
    (packages(tmp_path) / "sources.pth").write_text(SOURCES + "\n")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def call(*arguments):
        return subprocess.run(
            [str(tmp_path / "venv" / "bin" / "python"), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            cwd=tmp_path,
        )

    return call


def packages(tmp_path):
    (actual,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    return actual


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_alias_is_torch_until_it_is_removed(python, tmp_path):
    before = files(packages(tmp_path))
    assert python("-m", "pellucid.alias", "status").stdout == "there is no torch here\n"
    installed = python("-m", "pellucid.alias", "install")
    assert installed.returncode == 0, installed.stderr
    assert "alias of Pellucid" in python("-m", "pellucid.alias", "status").stdout
    actual = python("-c", FOUND)
    assert actual.stdout == f"{version.api}\n", actual.stderr
    again = python("-m", "pellucid.alias", "install")
    assert again.returncode == 0, again.stderr
    record = next(packages(tmp_path).glob("torch-*.dist-info/RECORD")).read_text()
    listed = {line.split(",")[0] for line in record.splitlines()}
    written = set(files(packages(tmp_path))) - set(before)
    names = {path.relative_to(packages(tmp_path)).as_posix() for path in written}
    assert {n for n in names if not n.endswith(".pyc")} == listed
    removed = python("-m", "pellucid.alias", "remove")
    assert removed.returncode == 0, removed.stderr
    assert files(packages(tmp_path)) == before
    assert "there is no alias" in python("-m", "pellucid.alias", "remove").stdout


@pytest.mark.parametrize("with_metadata", [True, False])
def test_it_refuses_an_environment_with_pytorch(python, tmp_path, with_metadata):
    real = packages(tmp_path) / "torch"
    real.mkdir()
    (real / "__init__.py").write_text("")
    if with_metadata:
        info = packages(tmp_path) / "torch-2.9.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: torch\nVersion: 2.9.0\n")
        (info / "INSTALLER").write_text("pip\n")
    before = files(packages(tmp_path))
    refused = python("-m", "pellucid.alias", "install")
    assert refused.returncode == 1 and str(real) in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "PyTorch itself" in python("-m", "pellucid.alias", "status").stdout
    python("-m", "pellucid.alias", "remove")
    assert files(packages(tmp_path)) == before


def test_without_pellucid_the_alias_says_what_to_do(python, tmp_path):
    assert python("-m", "pellucid.alias", "install").returncode == 0
    (packages(tmp_path) / "sources.pth").unlink()
    failed = python("-c", "import torch")
    assert "pip install pellucid" in failed.stderr


def test_its_version_is_the_one_that_is_followed():
    (info,) = SITE.glob("*.dist-info")
    assert info.name == f"torch-{version.api}.dist-info"
    assert f"\nVersion: {version.api}\n" in (info / "METADATA").read_text()


def test_bad_command_lines_are_explained(python):
    assert python("-m", "pellucid.alias").returncode == 2
    assert "status" in python("-m", "pellucid.alias", "uninstall").stderr
    assert "status" in python("-m", "pellucid.alias", "--help").stdout
