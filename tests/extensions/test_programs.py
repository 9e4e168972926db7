"""Extensions as their authors write them, compiled unchanged: what they print."""

from pathlib import Path

import pytest

import pellucid as torch
from tests.extensions.record import NAMES, PROGRAMS, printed

BUILD = Path(__file__).resolve().parents[2] / "build" / "tests-extensions"


@pytest.mark.parametrize("name", NAMES)
def test_an_extension_prints_what_is_recorded(name):
    BUILD.mkdir(parents=True, exist_ok=True)
    text, _ = printed(torch, name, BUILD, ["-O0", "-w"])
    assert text == (PROGRAMS / f"{name}.txt").read_text()
