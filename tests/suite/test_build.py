"""Where warnings are errors, objects compiled with warnings are not reused."""

import pytest
from tests.sanitizers.program import load_build


@pytest.fixture
def build(tmp_path, monkeypatch):
    """tools/build.py, for the one source file of a project of its own."""
    module = load_build()
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / "standard.h").touch()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RUNTIME", runtime)
    return module


def is_compiled(build, *, werror):
    """Whether the file is compiled, which may raise."""
    mode, sources = build.MODES["debug"], build.runtime_sources()
    (is_new,) = build.compile_sources(mode, sources, werror=werror).values()
    return is_new


def test_an_object_with_warnings_is_compiled_again(build):
    source = build.RUNTIME / "source.cpp"
    source.write_text("int twice(int unused) { return 2; }\n")
    assert is_compiled(build, werror=False)
    assert not is_compiled(build, werror=False)
    with pytest.raises(build.BuildError, match="unused"):
        is_compiled(build, werror=True)


def test_an_object_without_warnings_is_reused(build):
    source = build.RUNTIME / "source.cpp"
    source.write_text("int twice(int n) { return 2 * n; }\n")
    assert is_compiled(build, werror=False)
    assert not is_compiled(build, werror=True)
