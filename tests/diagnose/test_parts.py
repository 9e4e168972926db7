"""What rules are made of: patterns, independent loops, imports, claimed gains."""

import ast
import importlib
import sys
import time

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.diagnose import leaving
from pellucid.diagnose.batches import Batches
from pellucid.diagnose.budget import Budget
from pellucid.diagnose.edits import replaced_nodes
from pellucid.diagnose.experiments import Program, Trials, measure
from pellucid.diagnose.findings import Finding, Patch, Report
from pellucid.diagnose.imports import Imports
from pellucid.diagnose.independence import is_independent
from pellucid.diagnose.judging import ratios_of
from pellucid.diagnose.patterns import Scope, filled, matches, pattern
from pellucid.diagnose.rules import pairwise


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("y = torch.linalg.inv(K) @ b", "torch.linalg.solve(K, b)"),
        ("y = K.inverse().mv(b)", "torch.linalg.solve(K, b)"),
        ("k = torch.inverse(K)\ny = k @ b", "torch.linalg.solve(K, b)"),
        ("k = torch.inverse(K)\nk = 2 * k\ny = k @ b", None),
        ("y = torch.exp(K) @ b", None),
    ],
)
def test_patterns_match_one_meaning_in_every_spelling(text, replacement):
    tree = ast.parse(text)
    match = matches(pattern("inv(_a) @ _b"), tree.body[-1].value, Scope(tree))
    if replacement is None:
        assert match is None
    else:
        found = filled("torch.linalg.solve(_a, _b)", match)
        assert ast.unparse(found) == replacement


def test_a_replaced_expression_within_another_is_left_to_that(tmp_path):
    file = tmp_path / "lines.py"
    file.write_text("x = f(\n    g(1)\n)\ny = 2\n")
    outer = ast.parse(file.read_text()).body[0].value
    patch = replaced_nodes(str(file), [(outer.args[0], "0"), (outer, "h(1)")])
    assert patch.apply(file.read_text()) == "x = h(1)\ny = 2\n"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for i in range(n):\n    out[i] = f(x[i])", True),
        ("for i in range(n):\n    d = f(x[i])\n    total = total + d", True),
        ("for a, b in zip(x, y):\n    if a > b:\n        hits += 1", True),
        ("for i in range(n):\n    out.append(f(x[i]))", True),
        ("for i in range(n):\n    h = f(x[i], h)", False),
        ("for i in range(n):\n    loss = loss + 1 - f(x[i]) / g(y[i])", True),
        ("for i in range(n):\n    loss = 1 - loss", False),
        ("for i in range(n):\n    loss = loss + 1 - f(loss)", False),
        ("for i in range(n):\n    out[i] = out[i - 1] + x[i]", False),
        ("for i in range(n):\n    total += x[i]\n    y.append(total)", False),
        ("for i in range(n):\n    state.mul_(x[i])", False),
        ("for i in range(n):\n    x = order.pop()", False),
        ("for i in range(0, n, 64):\n    out.append(f(x[i : i + 64]))", False),
        ("while n:\n    n = f(n)", False),
        (
            "out = []\nwhile not q.empty():\n x = q.get()\n out.append(torch.sin(x))",
            True,
        ),
        ("while todo:\n x = todo.pop(0) + my_todo[0]\n y = x @ w", True),
        ("while not q.empty():\n x = q.get()\n f(x)", False),
        ("while not q.empty():\n x = q.get()\n out.append(x.sin())", False),
        ("other = todo\nwhile todo:\n x = todo.pop()\n y = x + 1", False),
        ("put = todo.append\nwhile todo:\n x = todo.pop()\n y = x + 1", False),
        ("while len(todo):\n x = todo.pop()\n offer(torch.cos(x))", False),
        ("while self.stack:\n x = self.stack.pop()\n self.visit(x)", False),
        ("while d:\n x = d.get('key')\n y = x.sin()", False),
        ("while n > d.get('k'):\n x = d.get('k')\n y = x.sin()", False),
        ("while todo:\n x = todo.pop()\n y = my_todo.pop() + x", False),
        ("while todo and best < 3:\n x = todo.pop()\n best = min(best, x)", False),
        ("while todo:\n x = todo.pop()\n todo.extend(near(x))", False),
        ("while todo:\n x = todo.pop()\n total = f(total, x)", False),
        ("while error > 1:\n x = f(x)", False),
    ],
)
def test_iterations_are_independent_if_none_needs_another(loop, expected):
    tree = ast.parse(loop)
    assert is_independent(tree.body[-1], tree) is expected


def test_imports_are_recorded_and_modules_keep_their_loaders(tmp_path, monkeypatch):
    (tmp_path / "recorded_outer.py").write_text("import recorded_inner\n")
    (tmp_path / "recorded_inner.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    imports = Imports()
    imports.start()
    begin = time.perf_counter_ns()
    outer = importlib.import_module("recorded_outer")
    end = time.perf_counter_ns()
    imports.stop()
    assert imports not in sys.meta_path
    assert outer.recorded_inner.value == 3
    assert outer.__spec__.loader is outer.__loader__
    assert type(outer.__loader__) is importlib.machinery.SourceFileLoader
    (inside,) = imports.within(np.array([float(begin)]), np.array([float(end)]))
    assert 0 < inside <= end - begin
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("recorded_nowhere")


def test_a_claimed_gain_is_that_of_the_patched_copy_within_a_fifth(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text("a = 1\n")

    class Disturbed(Program):
        """Runs of 2 s and, patched, of 0.8 s; some take longer, as others compute."""

        calls = 0

        def run(self, mode, patched=None, limit=None, seconds=0.0):
            self.calls += 1
            extra = 0.5 if self.calls in (2, 5) else 0.03 * (self.calls % 3)
            own = 0.8 if patched else 2.0
            return {
                "seconds": own + extra,
                "peak": 1,
                "output": "",
                "spent": 0.01,
                "wall": 0.01,
            }

    patch = Patch(str(script), ((1, 1, ("a = 2",)),))
    finding = Finding("waste", str(script), 1, "a = 1", "", "", 0.6, patch)
    report = Report("waste", {"waste": 1.0}, 2.0, 1, "", 1.0, [finding])
    measure(Disturbed(str(script), []), report, Budget())
    (kept,) = report.findings
    assert 3 <= kept.pairs <= 9
    assert kept.measured_gain[0] == pytest.approx(2.0 / 0.8, rel=0.2)


def test_pairs_end_once_their_ratios_agree_and_the_steadier_clock_decides():
    def runs(seconds, cpu):
        return [{"seconds": s, "cpu": c} for s, c in zip(seconds, cpu, strict=True)]

    plain, patched = runs([2.0, 3.1, 2.4], [2.0, 2.0, 2.0]), runs([1, 1, 1], [1, 1, 1])
    assert ratios_of(plain, patched) == [2, 2, 2]
    on_more_cores = runs([1, 1, 1], [2, 2, 2])
    assert ratios_of(plain, on_more_cores) == [2.0, 2.4, 3.1]
    assert ratios_of([], []) == []


def test_runs_alternate_and_end_once_the_gain_is_certain(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text("a = 1\n")
    ran = []

    class Steady(Program):
        def run(self, mode, patched=None, limit=None, seconds=0.0):
            ran.append("patched" if patched else "plain")
            return {"seconds": 1.0 if patched else 2.0, "spent": 2.0, "wall": 2.0}

    patch = Patch(str(script), ((1, 1, ("a = 2",)),))
    finding = Finding("waste", str(script), 1, "a = 1", "", "", 0.6, patch)
    trials = Trials(Steady(str(script), []), Budget())
    assert trials.turn([finding], is_reversed=False)
    assert trials.turn([finding], is_reversed=True)
    assert not trials.turn([finding], is_reversed=False)
    assert ran == ["plain", "patched", "patched", "plain"]


def test_only_what_ran_for_long_keeps_its_variables(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(leaving.time, "perf_counter", lambda: now[0])
    source = """
def brief():
    data = 1
    for _ in range(1):
        wait(1)
def long():
    data = 2
    for _ in range(1):
        wait(60)
brief()
assert len(kept.kept) == 1
long()
"""
    own = leaving.Leaving()
    own.start()
    variables = {"kept": own, "wait": lambda s: now.append(now.pop() + s)}
    variables |= own.names()
    exec(own.compiled(source, "script.py"), variables)
    assert [kept.data for _, kept in own.kept] == [2]
    variables["wait"] = lambda s: own.kept and 1 / 0  # its variables are new ones
    variables["long"]()
    now[0] += 1000
    own.stop()
    assert own.kept == []


def test_positions_are_those_of_indices():
    counts = torch.zeros(8, 64)
    counts[torch.arange(8), torch.arange(8)] = 1
    words, sums = nn.Embedding(9, 4, padding_idx=0), nn.Linear(64, 4)
    seen = Batches()
    seen.start()
    sums(counts)
    words(counts.long())
    seen.stop()
    (padded,) = seen.padded
    assert padded.longest == 8 and padded.names == () and padded.is_declared


def test_why_programs_cannot_be_started_is_said(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(RuntimeError, match=r"starts a\.py has ended:\nno such module"):
        Program("a.py", []).run("time")


def test_an_import_that_exits_ends_the_program_only(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy.f2py.__main__\n")
    assert Program(str(script), []).run("time")["seconds"] > 0


def test_what_a_program_has_started_ends_with_it_at_the_limit(tmp_path):
    script, noted = tmp_path / "script.py", tmp_path / "process"
    script.write_text(
        "import subprocess\nstarted = subprocess.Popen(['sleep', '999'])\n"
        f"open({str(noted)!r}, 'w').write(str(started.pid))\nstarted.wait()\n"
    )
    limit = 1.0
    while not noted.exists() or not noted.read_text():  # the limit came before it
        limit *= 2
        assert limit < 300
        with pytest.raises(RuntimeError, match=rf"took {limit:.1f} s"):
            Program(str(script), []).run("time", limit=limit)
    end = time.monotonic() + 300
    while is_running(int(noted.read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(int(noted.read_text()))


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_replayed_gain_is_that_of_the_whole_program():
    finding = Finding("waste", "a.py", 1, "", "", "", 0.8)
    finding.replayed_gain = 4.0, 3.9, 4.1
    lines = "\n".join(finding.lines(1, 10.0, 0.5))
    assert "4.00x on the line" in lines and "about 1.43x in all" in lines
    finding.replayed_once = 3.0  # as much as it saves
    assert "about 1.00x in all" in "\n".join(finding.lines(1, 10.0, 0.5))


def distances(text, tmp_path):
    """The patched lines, run; None without a patch."""
    path = tmp_path / "program.py"
    path.write_text(f"import torch\n{text}\n")
    lines = path.read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if "None] - " in line]
    patch = pairwise._patch(str(path), number)
    return patch and patch.apply(path.read_text())


@pytest.mark.parametrize(
    ("text", "is_patched"),
    [
        ("diff = a[:, None] - b[None]\nd = (diff**2).sum(-1)", True),
        ("d = (a[:, None] - b[None]).pow(2).sum(dim=-1)", True),
        ("diff = f(a)[:, None] - b[None]\nd = (diff**2).sum(-1)", False),
        ("diff = a[:, None] - b[None]\na = a + 1\nd = (diff**2).sum(-1)", False),
        ("diff = a[:, None] - b[None]\nd = (diff**2).sum(-1) + diff[0, 0]", False),
    ],
)
def test_distances_without_differences_are_as_accurate(text, is_patched, tmp_path):
    patched = distances(text, tmp_path)
    assert (patched is not None) == is_patched
    if patched is not None:
        near = 3000 + 0.01 * torch.arange(24.0).reshape(8, 3)
        scope = {"a": near, "b": near.clone()}
        exec(text, scope)
        expected = scope["d"]
        exec(patched.replace("import torch", "import pellucid as torch"), scope)
        torch.testing.assert_close(scope["d"], expected)
        assert "diff = a" not in patched
