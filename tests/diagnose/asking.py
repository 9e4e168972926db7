"""Runs rewritten programs in this process, for tests of what their values show.

Shares are of the calls' times, so tests ask only for what was repeated, never for a
share.
"""

import ast
import builtins
import contextlib
from pathlib import Path

from pellucid import run
from pellucid.diagnose.child import main_module
from pellucid.diagnose.instrument import AGAIN, Probes
from pellucid.diagnose.rules import recomputed
from pellucid.diagnose.values import Enough, Values, answered

PROGRAMS = Path(__file__).parent / "programs"


def executed(script, text=None):
    run.install()
    code, module = main_module(str(script), {str(script): text} if text else {})
    with contextlib.suppress(Enough):
        exec(code, module.__dict__)
    return module


def answers_of(script):
    """What a run says of every statement of a program: [(text, line, answer)]."""
    statements = (n for n in ast.walk(ast.parse(script.read_text())))
    lines = [(str(script), n.lineno) for n in statements if isinstance(n, ast.stmt)]
    probes, values = Probes(lines), Values()
    setattr(builtins, AGAIN, values.again)
    try:
        executed(script, probes.texts[str(script)])
    finally:
        delattr(builtins, AGAIN)
    return probes, answered(values)["answers"]


def counted(answers):
    """The same with a second for each repeated call, however long it took."""
    for known in answers.values():
        known["seconds"] = float(known["again"])
        known["row_seconds"] = known["rows_again"] / 100
    return answers


def found_in(probes, answers):
    values = {"answers": answers, "seconds": 10.0, "rows": {}}
    return recomputed.answer(probes.places, values, [])
