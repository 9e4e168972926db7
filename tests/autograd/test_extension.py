"""An autograd function in C++, in an extension module of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import pellucid as torch

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "extension_module.cpp"
INCLUDE = Path(torch.__file__).parent / "include"
BUILD = HERE.parents[1] / "build" / "tests-extension"


@pytest.fixture(scope="module")
def extension() -> Any:
    """The module, compiled when its source or the header is newer."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or "clang++"
    target = BUILD / f"extension_module{sysconfig.get_config_var('EXT_SUFFIX')}"
    header = INCLUDE / "pellucid" / "extension.h"
    newest = max(p.stat().st_mtime for p in (SOURCE, header))
    if not target.exists() or target.stat().st_mtime < newest:
        BUILD.mkdir(parents=True, exist_ok=True)
        python = sysconfig.get_paths()["include"]
        flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden"]
        includes = [f"-I{INCLUDE}", f"-I{python}"]
        command = [compiler, *flags, *includes, str(SOURCE), "-o", str(target)]
        subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("extension_module", target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gradients_of_any_order(extension: Any) -> None:
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    y = extension.cube(x)
    assert y.grad_fn.name() == "CubeBackward"
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (y.item(), first.item(), second.item()) == (8.0, 12.0, 12.0)
    assert torch.autograd.gradcheck(extension.cube, x)


def test_constants_and_no_grad_record_nothing(extension: Any) -> None:
    assert not extension.cube(torch.ones(1)).requires_grad
    with torch.no_grad():
        assert not extension.cube(torch.ones(1, requires_grad=True)).requires_grad


def test_what_is_saved_is_checked_and_freed(extension: Any) -> None:
    x = torch.ones(1, requires_grad=True).clone()
    y = extension.cube(x)
    x.add_(1.0)
    with pytest.raises(RuntimeError, match=r"(?s)inplace.*CubeBackward saved"):
        y.backward()
    y = extension.cube(torch.ones(1, requires_grad=True))
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_errors_arrive_in_python(extension: Any) -> None:
    with pytest.raises(RuntimeError, match="no op aten::no_such_op"):
        extension.unknown_op(torch.ones(1))
    with pytest.raises(TypeError, match="expected a Tensor, not int"):
        extension.cube(3)
    with pytest.raises(RuntimeError, match="returned 0 gradients for 1 inputs"):
        extension.wrong(torch.ones(1, requires_grad=True)).backward()
