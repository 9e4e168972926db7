"""Where warnings are errors, objects compiled with warnings are not reused."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """tools/build.py, for the one source file of a project of its own."""
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location("build", TOOLS / "build.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "build", module)
    spec.loader.exec_module(module)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / "standard.h").touch()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RUNTIME", runtime)
    return module


def compiled(build, *, werror):
    """Whether the file was compiled, which may raise."""
    (is_new,) = build.compile_runtime(build.MODES["debug"], werror=werror).values()
    return is_new


def test_an_object_with_warnings_is_compiled_again(build):
    source = build.RUNTIME / "source.cpp"
    source.write_text("int twice(int unused) { return 2; }\n")
    assert compiled(build, werror=False)
    assert not compiled(build, werror=False)
    with pytest.raises(build.BuildError, match="unused"):
        compiled(build, werror=True)


def test_an_object_without_warnings_is_reused(build):
    source = build.RUNTIME / "source.cpp"
    source.write_text("int twice(int n) { return 2 * n; }\n")
    assert compiled(build, werror=False)
    assert not compiled(build, werror=True)
