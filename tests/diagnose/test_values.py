"""Expressions that compute the same values again are found by comparing their bits."""

import ast
import builtins
from itertools import count
from types import SimpleNamespace

import pytest
from tests.diagnose import clock
from tests.diagnose.asking import PROGRAMS, answers_of, counted, executed, found_in

import pellucid as torch
from pellucid.diagnose import values as values_module
from pellucid.diagnose.findings import Finding
from pellucid.diagnose.instrument import AGAIN, Place, Probes
from pellucid.diagnose.rows import Rows
from pellucid.diagnose.rules import (
    conversions,
    factored,
    growing_metric,
    mostly_zeros,
    rows_used,
)
from pellucid.diagnose.values import Values


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
        ("zeros", "table.to_dense()", "5 of 6 calls", ", table.to_dense())"),
    ],
)
def test_what_is_computed_again_is_found_with_its_line(name, line, words, added):
    script = PROGRAMS / f"repeating_{name}.py"
    probes, answers = answers_of(script)
    findings = found_in(probes, counted(answers))
    found = {finding.text: finding for finding in findings}
    (text,) = [text for text in found if line in text]
    assert words in found[text].evidence and found[text].is_certain
    assert (found[text].patch is None) == (added is None)
    if added is not None:
        patched = found[text].patch.apply(script.read_text())
        assert added in patched
        executed(script, patched)


def asked_about(script, start, evidence=""):
    """A question about the line that starts so."""
    lines = script.read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.strip().startswith(start)]
    kind = "waste" if evidence else "compute"
    return Finding.question(str(script), number, kind, 0.6, evidence)


def test_systems_with_one_matrix_are_factored_once_instead():
    script = PROGRAMS / "repeating_system.py"
    probes, answers = answers_of(script)
    question = asked_about(script, "state = torch.linalg.solve(")
    (finding,) = factored.answer(probes.places, {"answers": answers}, [question])
    assert "8 systems are solved with the same system" in finding.evidence
    patched = executed(script, finding.patch.apply(script.read_text()))
    expected = executed(script)
    torch.testing.assert_close(patched.source.grad, expected.source.grad)
    for known in answers.values():
        known["distinct"] = [2] * len(known["distinct"])
    assert factored.answer(probes.places, {"answers": answers}, [question]) == []


def test_kept_factors_are_those_of_a_matrix_as_it_is():
    scope = {"torch": torch}
    exec("\n".join(factored._SOLVER), scope)
    solve, kept = scope["_solve_again"], scope["_solve_again"].__defaults__[0]
    matrix, right = torch.eye(3) * 2, torch.ones(3, 2)
    for _ in range(3):
        matrix.mul_(2)  # as an optimizer does
        for b in (right, right[:, 0]):
            expected = torch.linalg.solve(matrix, b)
            torch.testing.assert_close(solve(matrix, b), expected)
    factors = kept[2]
    solve(matrix, right)
    assert kept[2] is factors  # once for each state of the matrix
    batch = torch.stack([matrix, matrix])
    expected = torch.linalg.solve(batch, right.T)
    torch.testing.assert_close(solve(batch, right.T.contiguous()), expected)
    assert len(kept) == 3 and kept[0] is batch


@pytest.mark.parametrize(
    ("text", "inputs", "nonzero", "shape"),
    [
        ("a @ b", ("a", "b"), [0.01, 1.0], "a, 300x400"),
        ("b @ a.t()", ("b", "a"), [1.0, 0.01], "a, 400x20"),
        ("F.linear(a, b)", ("a", "b"), [0.01, 1.0], "a, 300x400"),
        ("F.linear(b, self.a)", ("b", "self.a"), [1.0, 0.01], "self.a, 20x400"),
        ("b.matmul(a)", ("b", "a"), [1.0, 0.01], "a, 400x20"),
        ("torch.addmm(c, b, a)", ("c", "b", "a"), [1.0, 1.0, 0.01], "a, 400x20"),
    ],
)
def test_products_are_replayed_with_the_zeros_on_their_side(
    text, inputs, nonzero, shape
):
    place = Place("f.py", ast.parse(text).body[0].value, None, inputs)
    question = Finding.question("f.py", 1, "waste", 0.6, "300 400 20")
    shapes = [[int(n) for n in shape.split()[1].split("x")]] * 3
    known = {"nonzero": nonzero, "one_hot": [False] * 3, "shapes": shapes}
    values = {"answers": {"0": known}}
    (finding,) = mostly_zeros.answer([place], values, [question])
    assert f"{shape}, of which" in finding.evidence
    setup, plain, better = vars(finding.replay).values()
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(setup, scope)
    torch.testing.assert_close(eval(better, scope), eval(plain, scope))
    assert eval(plain, scope).shape == (300, 20)
    # Another product of the line took the time, or the matrix needs a gradient.
    for other in ([300, 401], []):
        known["shapes"] = [other] * 3
        assert mostly_zeros.answer([place], values, [question]) == []


def test_rows_that_are_one_hot_are_looked_up_also_by_a_module(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import torch\n"
        "net = torch.nn.Linear(400, 20, bias=False)\n"
        "hot = torch.eye(400)[:300].contiguous()\n"
        "y = net(hot)\n"
    )
    probes, answers = answers_of(script)
    question = asked_about(script, "y = net", "300 400 20")
    (finding,) = mostly_zeros.answer(probes.places, {"answers": answers}, [question])
    assert "by their indices" in finding.fix and finding.line == 4
    setup, plain, better = vars(finding.replay).values()
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(setup, scope)
    torch.testing.assert_close(eval(better, scope), eval(plain, scope))


def test_products_with_matrices_of_zeros_are_found_and_replayed():
    script = PROGRAMS / "repeating_zeros.py"
    report = clock.diagnosed(lambda: executed(script), [str(script)])
    asked = [q for q in report.questions if q.evidence == "256 512 8"]
    assert [q.text for q in asked][:1] == ["received = incidence @ message"]
    probes, answers = answers_of(script)
    question = asked_about(script, "received = ", "256 512 8")
    (finding,) = mostly_zeros.answer(probes.places, {"answers": answers}, [question])
    assert "incidence, 256x512, of which 0.39% is not zero" in finding.evidence
    setup, plain, better = vars(finding.replay).values()
    scope = {"torch": torch}
    exec(setup, scope)
    torch.testing.assert_close(eval(better, scope), eval(plain, scope))


def test_what_only_looks_the_same_is_no_finding():
    probes, answers = answers_of(PROGRAMS / "repeating_nothing.py")
    assert found_in(probes, counted(answers)) == []


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
    assert found_in(probes, answers) == []


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


SAMPLES = """
import torch
class Windows(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = [[float(i * j) for j in range(4)] for i in range(64)]
    def __len__(self):
        return 48
    def __getitem__(self, i):
        x = torch.tensor(self.rows[i : i + 16])
        return x, torch.tensor(self.rows[i + 15][0])
loader = torch.utils.data.DataLoader(Windows(), batch_size=16)
total = sum(float(x.sum() + y.sum()) for x, y in loader)
"""


def test_samples_converted_from_lists_are_converted_once_instead(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SAMPLES)
    probes, answers = answers_of(script)
    for known in answers.values():
        known["total"] = 0.1 * known["calls"]
    values = {"answers": answers, "seconds": 10.0}
    (finding,) = conversions.answer(probes.places, values, [])
    assert finding.text == "x = torch.tensor(self.rows[i : i + 16])"
    assert finding.kind == "data" and "48 times" in finding.evidence
    patched = finding.patch.apply(SAMPLES)
    assert ", torch.tensor(self.rows)))[i:i + 16]" in patched
    assert executed(script, patched).total == executed(script, SAMPLES).total
    report = clock.diagnosed(lambda: executed(script), [str(script)])
    assert not [f for f in report.findings if f.is_question]


METRIC = """
import numpy as np
class Median:
    def __init__(self):
        self.seen = np.zeros(0)
    def update(self, x):
        self.seen = np.concatenate([self.seen, x])
    def result(self):
        return np.sort(self.seen)[len(self.seen) // 2]
    def count(self):
        return 3
metric = Median()
for i in range(40):
    metric.update(np.arange(50.0))
    got = metric.result()
    number = metric.count()
"""


def test_a_metric_over_all_that_was_seen_is_found_by_its_growing_time(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(METRIC)
    probes, answers = answers_of(script)
    for known in answers.values():
        known["total"], known["parts"] = 4.0, [1.0 + k for k in range(8)]
    values = {"answers": answers, "seconds": 10.0}
    (finding,) = growing_metric.answer(probes.places, values, [])
    assert finding.text == "got = metric.result()" and "5.0x" in finding.evidence
    for known in answers.values():
        known["parts"] = [1.0] * 8
    assert growing_metric.answer(probes.places, values, []) == []


TABLE = """
import torch
NAMES = 5000
table = torch.nn.Embedding(NAMES, 4)
score = torch.nn.Linear(4, NAMES)
for step in range(8):
    ids = torch.arange(step % 2, 300 + step % 2)
    loss = torch.nn.functional.cross_entropy(score(table(ids)), ids)
    loss.backward()
"""


def test_rows_that_no_index_uses_are_counted(tmp_path, monkeypatch):
    script = tmp_path / "program.py"
    script.write_text(TABLE)
    report = clock.diagnosed(lambda: executed(script), [str(script)])
    (question,) = [one for one in report.questions if one.evidence == "5000"]
    assert question.text == "NAMES = 5000"
    functional = torch.nn.functional
    for name in ("embedding", "cross_entropy"):
        monkeypatch.setattr(functional, name, getattr(functional, name))
    rows = Rows()
    rows.watch()
    executed(script)
    values = {"rows": rows.answer()}
    assert values["rows"] == {"5000": (4800, 301, 301)}
    (finding,) = rows_used.answer([], values, [question])
    assert "all 4800 indices use 301" in finding.evidence and finding.is_certain
    values["rows"]["5000"] = (4800, 301, 150)  # and more with every batch
    assert rows_used.answer([], values, [question]) == []


REPLAY = """
import numpy as np, torch
class Frames:
    def observation(self):
        return np.stack([np.zeros((40, 1100), dtype=np.uint8)]) / 255.0
frames = Frames()
seen = [(frames.observation(), 0) for _ in range(60)]
total = sum(torch.from_numpy(a).float().sum() for a, _ in seen)
"""


def test_float64_arrays_that_are_kept_are_found_where_they_are_made(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(REPLAY)
    kept = []
    report = clock.diagnosed(lambda: kept.append(executed(script)), [str(script)])
    (finding,) = [f for f in report.findings if f.kind == "peak"]
    assert (
        finding.text.startswith("return np.stack(") and "60 arrays" in finding.evidence
    )
    assert "/ 255.0).astype('float32')" in finding.patch.apply(REPLAY)
    script.write_text(REPLAY.replace(" / 255.0", ""))
    report = clock.diagnosed(lambda: kept.append(executed(script)), [str(script)])
    assert not [f for f in report.findings if f.kind == "peak"]


ADJACENCY = torch.rand(60, 60, generator=torch.Generator().manual_seed(0))


def normalised(adjacency):
    degree = adjacency.sum(1)
    return torch.linalg.inv(torch.diag(degree)) @ adjacency


def propagate(x):
    for _ in range(8):
        x = torch.tanh(normalised(ADJACENCY) @ x)
    return x


def test_a_function_is_asked_within_one_run_and_left_as_it_was():
    before = propagate.__code__, normalised.__code__
    report = torch.diagnose(propagate, torch.ones(60, 4))
    assert (propagate.__code__, normalised.__code__) == before
    found = [f.evidence for f in report.findings if "as before" in f.evidence]
    assert len(found) == 1 and "7 of 8 calls of normalised(ADJACENCY)" in found[0]

    def once(x):
        return torch.linalg.inv(x @ x.T + torch.eye(60))

    report = torch.diagnose(once, torch.ones(60, 4))
    assert not [f for f in report.findings if "as before" in f.evidence]


def test_masks_that_are_equal_by_chance_are_no_repetition(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import torch\nties = torch.ones(4, 4)\nfor k in range(6):\n"
        "    scores = torch.arange(16.0).reshape(4, 4) + k\n"
        "    equal = (scores == scores.T + 0.5).float()\n"
        "    total = (0.5 * equal, 0.5 * ties)\n"
    )
    probes, answers = answers_of(script)
    again = {probes.places[int(k)].text: known["again"] for k, known in answers.items()}
    assert again["0.5 * equal"] == 0 and again["0.5 * ties"] == 5


NET = """
import torch
net, zeros, total = torch.nn.Linear(8, 4).requires_grad_(False), torch.zeros(4, 8), 0.0
"""
AGAIN_AND_AGAIN = """
for _ in range(6):
    out = net(zeros)
    total = total / 2 + out
"""
OTHERS = "for k in range(12):\n    out = net(torch.rand(4, 8))\n"


@pytest.mark.parametrize("is_warm_up", [True, False])
def test_what_was_called_to_warm_up_is_not_computed_again(
    is_warm_up, tmp_path, monkeypatch
):
    ticks = count()
    ticking = SimpleNamespace(process_time=lambda: next(ticks) / 1e4)
    monkeypatch.setattr(values_module, "time", ticking)
    parts = (AGAIN_AND_AGAIN, OTHERS) if is_warm_up else (OTHERS, AGAIN_AND_AGAIN)
    script = tmp_path / "program.py"
    script.write_text(NET + "".join(parts))
    probes, answers = answers_of(script)
    found = [finding.text for finding in found_in(probes, counted(answers))]
    assert found == ([] if is_warm_up else ["out = net(zeros)"])
