"""Extensions as their authors write them, compiled unchanged: what they print."""

from pathlib import Path

import pytest

import pellucid as torch
from pellucid.utils import cpp_extension
from pellucid.utils._cpp import precompiled
from tests.extensions.record import NAMES, PROGRAMS, printed

BUILD = Path(__file__).resolve().parents[2] / "build" / "tests-extensions"
FLAGS = ["-O0", "-w"]


@pytest.fixture(autouse=True)
def _in_build(monkeypatch):
    BUILD.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(BUILD))


@pytest.mark.parametrize("name", NAMES)
def test_an_extension_prints_what_is_recorded(name):
    source = (PROGRAMS / f"{name}.cpp").read_text()
    has_all = "#include <torch/extension.h>" in source
    parsed = precompiled.flags(FLAGS, []) if has_all else []
    text, _ = printed(torch, name, BUILD, [*FLAGS, *parsed])
    assert text == (PROGRAMS / f"{name}.txt").read_text()


def test_parsed_headers_are_kept():
    source = "at::Tensor twice(at::Tensor x) { return x + x; }"
    made = cpp_extension.load_inline(
        "twice", source, functions="twice", extra_cflags=FLAGS, use_pch=True
    )
    assert made.twice(torch.ones(2)).tolist() == [2, 2]
    parsed = Path(f"{precompiled.flags(FLAGS, [])[-1]}.gch")
    assert parsed.stat().st_mtime < made_at(made) and parsed.stat().st_size > 1 << 20


def made_at(module):
    return Path(module.__file__).stat().st_mtime
