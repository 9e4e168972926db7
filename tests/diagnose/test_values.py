"""Expressions that compute the same values again are found by comparing their bits.

`answers_of` runs a rewritten program in this process; shares are of the calls' times,
so tests ask only for what was repeated, never for a share.
"""

import ast
import builtins
import contextlib
from pathlib import Path

import pytest
from tests.diagnose import clock

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


@pytest.mark.parametrize(
    ("name", "line", "words", "added"),
    [
        ("inverse", "precision = ", "5 of 6 calls", ", torch.linalg.inv(self.cov))"),
        (
            "adjacency",
            "self.normalise(links) @",
            "7 of 8 calls",
            ", self.normalise(links))",
        ),
        ("features", "features = body(x)", "75% of 384 rows", None),
    ],
)
def test_what_is_computed_again_is_found_with_its_line(name, line, words, added):
    script = PROGRAMS / f"repeating_{name}.py"
    probes, answers = answers_of(script)
    findings = recomputed.answer(probes.places, counted(answers), 10.0)
    found = {finding.text: finding for finding in findings}
    (text,) = [text for text in found if line in text]
    assert words in found[text].evidence and found[text].is_certain
    assert (found[text].patch is None) == (added is None)
    if added is not None:
        patched = found[text].patch.apply(script.read_text())
        assert added in patched
        executed(script, patched)


def test_what_only_looks_the_same_is_no_finding():
    probes, answers = answers_of(PROGRAMS / "repeating_nothing.py")
    assert recomputed.answer(probes.places, counted(answers), 10.0) == []


def test_a_loop_that_times_an_expression_repeats_nothing(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import time, torch\n"
        "x = torch.ones(8, 8)\n"
        "def step():\n"
        "    y = x @ x\n"
        "    return (y @ x).sum().item()\n"
        "for _ in range(9):\n"
        "    begin = time.perf_counter()\n"
        "    step()\n"
        "    print(time.perf_counter() - begin)\n"
        "for _ in range(9):\n"
        "    y = (x @ x).exp()\n"
    )
    probes, answers = answers_of(script)
    for known in counted(answers).values():
        known["total"] = float(known["calls"])
    assert sum(known["again"] for known in answers.values()) > 16
    assert recomputed.answer(probes.places, answers, 10.0) == []


def test_questions_are_asked_of_statements_without_a_graph():
    script = PROGRAMS / "repeating_inverse.py"
    report = clock.diagnosed(lambda: executed(script), [str(script)])
    texts = [question.text for question in report.questions]
    assert "precision = torch.linalg.inv(self.cov)" in texts
    assert not any("loss_of(net(x)" in text for text in texts[:1])
    assert not [f for f in report.findings if f.is_question]


def test_a_rewritten_program_computes_what_it_did(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import math\n"
        "class A:\n"
        "    width = math.sqrt(4)\n"
        "    def __init__(self, n):\n"
        "        super().__init__()\n"
        "        self.n = n\n"
        "    def total(self, xs):\n"
        "        return sum(math.pow(x, self.n) + x for x in xs)\n"
        "def later():\n"
        "    got = yield math.floor(2.5)\n"
        "    yield got + 1\n"
        "steps = later()\n"
        "first = next(steps)\n"
        "second = steps.send(5)\n"
        "third = A(2).total([1, 2]) if (k := 3) else math.nan\n"
    )
    plain, rewritten = executed(script), None
    probes, values = Probes([(str(script), n) for n in range(16)]), Values()
    setattr(builtins, AGAIN, values.again)
    try:
        rewritten = executed(script, probes.texts[str(script)])
    finally:
        delattr(builtins, AGAIN)
    for name in ("first", "second", "third"):
        assert getattr(rewritten, name) == getattr(plain, name)
    assert rewritten.A.width == 2.0 and values.answers
