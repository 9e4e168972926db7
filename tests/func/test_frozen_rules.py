"""Frozen rules for tangents and batches: nothing is traced."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import pellucid as torch
from pellucid.func import jvp, vmap

x = torch.ones(3, 4)
jvp(lambda x: x.sin() * x.exp(), (x,), (x,))
jvp(lambda x: x @ x.t(), (x,), (x,))
vmap(lambda v: (v * v).tanh())(x)
assert "pellucid_compiler.catalogue" not in sys.modules
"""


def test_common_rules_are_not_traced() -> None:
    assert subprocess.run([sys.executable, "-c", PROGRAM]).returncode == 0
