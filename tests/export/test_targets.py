"""Exports call the same ops as PyTorch's: ``targets.json``, written by
``tools/compare_exports.py --record``.
"""

import json
import warnings
from pathlib import Path

import pytest

import pellucid
from tests.export.programs import PROGRAMS, targets_of

RECORDED = json.loads((Path(__file__).parent / "targets.json").read_text())["targets"]

_HEADS = "heads are split and joined by other views; dropped attention is an op apart"
DIFFERENT = {
    "nn.MultiheadAttention": _HEADS,
    "nn.TransformerEncoderLayer": _HEADS,
    "nn.TransformerDecoderLayer": _HEADS,
    "split of sizes": "split with a list is an overload of split",
    "comparisons": "`&` of tensors is bitwise_and",
    "set item": "a number that is assigned stays a number",
    "GPT block": "attention gives contiguous heads, which contiguous() then copies",
}


def test_every_program_is_recorded():
    assert set(PROGRAMS) == set(RECORDED)
    assert set(DIFFERENT) < set(RECORDED)


@pytest.mark.parametrize("part", range(5))
def test_programs_call_what_pytorch_exports(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual = {n: targets_of(pellucid, n) for n in list(PROGRAMS)[part::5]}
    differing = {n for n, targets in actual.items() if targets != RECORDED[n]}
    assert differing == set(DIFFERENT) & set(actual)
