"""Samples of Python's own time: which statement they name, what becomes of it."""

import json
import signal
import time
from types import SimpleNamespace

import pytest

import pellucid as torch
from pellucid import run
from pellucid.diagnose import budget, child, diagnose, samples
from pellucid.diagnose.experiments import Program
from pellucid.diagnose.findings import Report
from pellucid.diagnose.instrument import Probes
from pellucid.diagnose.leaving import Leaving
from pellucid.diagnose.rules import all_answers, python_time
from pellucid.diagnose.samples import Samples, hottest

_LONG = 300.0  # seconds of a test that would not end

PROGRAM = """\
import re

import numpy as np
import torch


def tokens(text):
    text = re.sub("<[^>]+>", " ", text)
    text = re.sub("[^a-z ]", "", text)
    return text.split()


def collate(texts):
    rows = [torch.tensor([len(t) for t in tokens(text)][:8]) for text in texts]
    return torch.stack(rows)


def weights(values):
    return np.array([v / values.mean() for v in values])


def train(loader):
    for rows in loader:
        spread = weights(rows.float().numpy().ravel().repeat(20))
        total = torch.from_numpy(spread).sum()
    return total


texts = [f"<b>{k % 20 * chr(119)}</b>{k // 20 * chr(118)} it " * 9 for k in range(400)]
loader = torch.utils.data.DataLoader(texts, batch_size=20, collate_fn=collate)
print(train(loader) > 0)
"""


def test_the_hottest_statement_is_the_innermost_that_most_samples_are_in(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    file, texts, collating, spreading = str(path), 8, 14, 24
    in_two = [((file, 8 + k % 2), (file, collating)) for k in range(10)]
    assert hottest(in_two)[1] in (texts, texts + 1)
    in_three = [((file, 8 + k % 3), (file, collating)) for k in range(12)]
    assert hottest(in_three) == (file, collating)
    in_loop = [((file, spreading + k % 2), (file, 31)) for k in range(9)]
    assert hottest(in_loop) == (file, spreading)
    assert hottest(in_two[:2]) is None and hottest([()] * 9) is None


def test_samples_are_taken_while_python_computes_and_the_handler_is_restored():
    before, taken = signal.getsignal(signal.SIGPROF), Samples()
    taken.start()
    end = time.monotonic() + _LONG
    while len(taken.stacks) < 10 and time.monotonic() < end:
        sum(range(100))
    taken.stop()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert len(taken.stacks) == len(taken.moments) >= 10
    assert hottest(taken.stacks)[0] == __file__


def test_the_lines_of_loading_and_of_loops_in_python_are_found(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    program = Program(str(path), [])
    report = Report.unpickled(program.run("record")["report"])
    lines = PROGRAM.splitlines()
    found = {lines[one.line - 1].strip(): one for one in report.findings}
    by_items = next(one for text, one in found.items() if "values.mean()" in text)
    assert "not item by item" in by_items.fix
    probes = Probes([(one.file, one.line) for one in report.questions])
    values = program.run("values", probes.texts)
    (again,) = all_answers(probes.places, values, report.questions)
    assert "values.mean() have inputs and results as before" in again.evidence


def test_numbers_that_are_equal_by_chance_are_no_repetition(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import random\nimport torch\n\ndef roll(n):\n    return sum("
        "random.randrange(2) for _ in range(n)) % 3\n\nfor k in range(300):\n"
        "    number = roll(2000)\n    torch.ones(3)\nprint(k)\n"
    )
    program = Program(str(path), [])
    values = program.run("values", (probes := Probes([(str(path), 8)])).texts)
    assert values["answers"]["0"]["again"] > 200
    assert all_answers(probes.places, values, []) == []


def test_what_python_computes_at_once_is_not_worth_keeping(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nvalues = [0.0] * 500\nfor k in range(3):\n"
        "    scaled = torch.tensor([v / 2.0 for v in values])\nprint(k)\n"
    )
    program = Program(str(path), [])
    probes = Probes([(str(path), 4)])
    values = program.run("values", probes.texts, seconds=_LONG)
    answer = values["answers"]["0"]
    assert answer["again"] > 1000
    for each, is_worth_it in [(50e-9, False), (1e-3, True)]:
        total = each * answer["calls"]
        timed = answer | {"total": total, "seconds": total, "outer": []}
        known = values | {"answers": {"0": timed}, "seconds": total}
        found = all_answers(probes.places, known, [])
        is_found = any("v / 2.0 have" in one.evidence for one in found)
        assert is_found == is_worth_it, each


def test_a_block_outside_of_the_main_thread_is_diagnosed_without_samples():
    from threading import Thread

    contexts = []

    def work():
        with diagnose() as context:
            sum(range(1000))
        contexts.append(context)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert contexts[0].report is not None


def test_a_full_recording_ends_the_program_and_knows_what_it_holds(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(samples, "_FULL", 2000)
    path = tmp_path / "program.py"
    path.write_text(
        "import itertools, time, torch\nkept = []\nx = torch.ones(64, 64)\n"
        f"end = time.monotonic() + {_LONG}\nfor k in itertools.count():\n"
        "    kept.append(x + k) if k < 400 else x + k\n"
        "    assert time.monotonic() < end\n"
    )
    run.install()
    code, module = child.main_module(str(path), {}, leaving := Leaving())
    report = Report.unpickled(
        json.loads(child.recorded(code, module, leaving))["report"]
    )
    assert report.is_part and "then the recording was full" in report.text()
    assert report.calls > 600 and not torch._C._timeline_is_on()


def test_a_search_in_a_list_and_frames_without_a_line_are_known(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("words = list(range(9))\nplace = words.index(3)\nfirst = 1\n")
    assert "a dict or a set" in python_time._fix(str(path), 2, [])
    assert python_time._fix(str(path), 3, [(str(path), 3)]) is None
    code = SimpleNamespace(co_filename=str(path))
    outer = SimpleNamespace(f_code=code, f_lineno=2, f_back=None)
    taken = Samples()
    taken._take(0, SimpleNamespace(f_code=code, f_lineno=None, f_back=outer))
    assert taken.stacks == [((str(path), 2),)]


def test_a_budget_is_three_times_the_program_and_some_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(budget.time, "process_time", lambda: now[0])
    left = budget.Budget()
    left.recorded(8.0)
    now[0] = 101.0  # of this process
    left.spend(9.0, wall=36.0)
    assert left.left == pytest.approx(3 * 8 + 4 - 10)
    assert left.patience == pytest.approx(3 * 18 * 4)  # others have the cores
    left.timed(2.0)  # the recording took longer than the program does
    left.timed(3.0)
    assert left.left == pytest.approx(3 * 2 + 4 - 10)
