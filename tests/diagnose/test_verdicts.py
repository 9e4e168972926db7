"""Programs with a planted fault get its verdict, line and fix; sound ones get none.

Nothing here asserts a time: verdicts use `clock.py`, and the gain of a fix is measured
only by the command.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.devices.programs import run
from tests.diagnose import clock

import pellucid as torch
from pellucid import diagnose
from pellucid.diagnose import experiments, trials
from pellucid.diagnose.budget import Budget
from pellucid.diagnose.findings import KINDS, Finding, Patch, Replay, Report
from pellucid.diagnose.judging import best_of_each_line, is_proved, is_worth, judge

PROGRAMS = Path(__file__).parent / "programs"
CORES = len(os.sched_getaffinity(0))
# The kind, a part of the line, and a part that the patch adds.
FAULTY = {
    "second_graph": ("waste", "create_graph=True", "create_graph=False"),
    "returned_view": ("bandwidth", "return stored.t()", "stored.t().contiguous()"),
    "checkpointed": ("waste", "x = checkpoint(", "x = self.block(layer, x)"),
    "module_again": ("waste", "model = Scorer()", None),
    "every_step": ("compute", "e = self.embed(x[:, t])", None),
    "moving_window": ("copy", "self.items = torch.cat([keys, ", None),
    "einsum_order": ("compute", "weights = torch.einsum(", '"bhja,bhjd->bhad"'),
    "remade": ("waste", "opt = torch.optim.Adam(", None),
    "one_by_one": ("overhead", "foreach=False", "lr=0.01)"),
    "uncached": ("waste", "scores = model(ids)", None),
    "last_position": ("compute", "self.scores(states)", "self.scores(states[:, -1:])"),
    "repeated_calls": ("waste", "(net(x).argmax(1)", "(kept.detach().argmax(1)"),
    "undetached": ("waste", "judge(drawn)", "judge(drawn.detach())"),
    "carried": ("leak", "retain_graph=True", "state = state.detach()"),
    "polling": ("wait", "time.sleep(0.01)", None),
    "cross_entropy": ("waste", "torch.log(chances", "cross_entropy(logits, wanted, "),
    "reduced": ("leak", "self.seen[name].append(out)", None),
    "scatter_loop": ("overhead", "sums[t] = sums[t] + states[s]", None),
    "config_batch": ("overhead", "DataLoader(data, batch_size=", "batch_size=64"),
    "padding": ("waste", "net(ids, mask)", "ids, mask = ids[:, :used], mask[:, :used]"),
    "deep_copies": ("copy", "copy.deepcopy(net)", "target.load_state_dict(net.state_"),
    "validation": ("waste", "curve.append(", "if i // 50 % 10 == 0:"),
    "singular_values": ("waste", "_, s, _ = ", "s = torch.linalg.svdvals("),
    "diagonal": ("compute", "scale @ w", "[:, None] * w * deg"),
    "standardised": ("waste", "z = ", 'z = kept[0]["z"]'),
    "lstm_cell": ("overhead", "hx, cx = self.cell(", None),
    "parsing": ("overhead", "in batches(50)", None),
    "int8": ("compute", "quantize_dynamic(", None),
    "cat_again": ("copy", "trajectory = torch.cat(", "trajectory_parts.append("),
    "default_batch": ("overhead", "train = DataLoader(", "batch_size=64"),
    "double_expression": ("compute", "X = torch.as_tensor(", "/ std).float()"),
    "eval_graph": ("waste", "out = model(test_x", "@torch.no_grad()"),
    "inverse_name": ("compute", "Kinv = ", "torch.linalg.solve(K, y)"),
    "product_order": ("compute", "U @ V.T @ xs", "U @ (V.T @ xs)"),
    "range_index": ("copy", "w = sig[idx]", "sig[start:start + W]"),
    "repeat": ("copy", ".repeat(", ".expand(-1, M, -1)"),
    "rows": ("overhead", "score", None),
    "shards": ("wait", "torch.load(", "_load_once = functools.cache(torch.load)"),
    "sparse_rows": ("waste", "center = nn.Embedding(", "sparse=True"),
    "unread_head": ("waste", "self.decode(h)", None),
    "window_mask": ("waste", "decay = torch.exp(", "@functools.cache"),
    "hook_leak": ("leak", "self.seen.append(out)", "seen.append(out.detach())"),
    "running_loss": ("leak", "running = 0.9", "(0.1 * loss).detach()"),
    "backbone": ("waste", "optim.SGD(head", "backbone.requires_grad_(False)"),
    "constants": ("waste", "pe[:, ", "if self.d not in _kept_positions_"),
    "checkpoints": ("wait", "torch.save(", "if it % 10 == 0:"),
    "logged_tensors": ("overhead", "log.write(", "if it % 10 == 0:"),
    "sort": ("waste", "torch.argsort(", "torch.topk(scores, k, dim=1"),
    "one_hot": ("waste", "hot @ table", "h = table[ids]"),
    "attention": ("bandwidth", "scores = q @ k", None),
    "double_data": ("compute", "standard_normal(", "(4096, 256))).float()"),
    "cache": ("leak", "cache[key] = ", "cache.pop(next(iter(cache)))"),
    "layouts": ("copy", ".contiguous()", "x.permute(0, 3, 1, 2)\n"),
    "own_adam": ("overhead", "(b / (1 - 0.999**it))", None),
    "pairwise": ("bandwidth", "diff = pts[", "torch.cdist(pts, centers, "),
    "closures": ("leak", "callbacks.append(report(x))", None),
    "cell": ("overhead", "f = torch.sigmoid", None),
    "fused_cell": ("overhead", "gates = self.of_input(x[:, t])", None),
    "samples_again": ("data", "re.sub(", "@functools.cache"),
    "anomaly_context": ("overhead", "detect_anomaly()", "set_detect_anomaly(False)"),
    "numpy": ("compute", "torch.from_numpy(", "standard_normal((256, 256))).float()"),
    "pairs": ("overhead", "[", None),
    "samples": ("overhead", "float(image[c, x])", None),
    "bfloat16": ("compute", "y = model(x)", "torch.autocast('cpu'"),
    "break": ("overhead", "if y.max().item() > 50:", None),
    "channels_last": ("bandwidth", "y = model(x)", "memory_format=torch.channels_last"),
    "frozen": ("waste", "torch.optim.Adam(net.head", "net.requires_grad_(False)"),
    "in_place": ("bandwidth", "state = state + pull", "state += pull"),
    "recompiles": ("first-time", "def decayed(x):", None),
    "anomaly": ("overhead", "set_detect_anomaly(True)", "set_detect_anomaly(False"),
    "cat": ("copy", "rows = torch.cat([rows, x])", "rows_parts.append(x)"),
    "checkpoint": ("peak", "x = block(x)", "checkpoint(block, x, use_reentrant=False)"),
    "clone": ("copy", "table.clone()", "table[k]"),
    "compile": ("overhead", "x = x + 0.01 * force(x)", "force = torch.compile(force)"),
    "denormals": ("waste", "    state = state", "torch.set_flush_denormal(True)"),
    "double_numpy": ("compute", "torch.tensor(X)", "torch.tensor(X).float()"),
    "hoist_function": ("waste", "pe[:, 1::2] = torch.cos(", "@functools.cache"),
    "kept_losses": ("leak", 'history["loss"].append(loss)', "append(loss.detach())"),
    "nograd_module": ("waste", "out = model(images)", "with torch.no_grad():"),
    "reads": ("overhead", "pred[i].item() == labels[step][i].item()", None),
    "retained_function": ("peak", "backward(retain_graph=True)", "loss.backward()"),
    "tiny_batch": ("overhead", "DataLoader(", "batch_size=64"),
    "zero_grad": ("waste", "loss.backward()", None),
    "double": ("compute", ".double()", ".float()"),
    "elements": ("overhead", "out[k] = x[k] * 2 + 1", None),
    "hoist": ("waste", "    table = torch.softmax(A @ B, -1)", "pass"),
    "inverse": ("compute", "torch.inverse(A) @ b", "torch.linalg.solve(A, b)"),
    "leak": ("leak", "total = total + scores", "total + scores.detach()"),
    "loader": ("data", "DataLoader(Slow()", "num_workers=2"),
    "log_softmax": ("waste", "torch.log(torch.softmax(", "log_softmax(scores, -1)"),
    "nograd": ("waste", "y = model(x)", "with torch.no_grad():"),
    "retained": ("peak", "loss.backward(retain_graph=True)", "loss.backward()"),
    "sleep": ("wait", "time.sleep(0.01)", None),
    "strides": ("bandwidth", "wide = base.t()", "base.t().contiguous()"),
    "threads": ("compute", "set_num_threads(1)", f"set_num_threads({CORES})"),
}
OPTIONS = (
    "bfloat16",
    "channels_last",
    "checkpoint",
    "compile",
    "in_place",
)  # no faults
SOUND = (
    *("accumulate", "cnn", "eval", "gan", "gpt", "kmeans", "matmul", "server"),
    *("train", "transformer", "vector", "dqn", "contrastive", "decode", "graph"),
    *("penalty", "rare_penalty", "transposed", "channels_last", "warm_up"),
    *("latency", "sweep", "hooks", "best", "average", "memory", "state", "search"),
    *("carried", "unpacked", "inner_steps", "held_out", "line_search", "online"),
    "decoder",
)


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_found_at_its_line(name, report_of):
    if name == "threads" and CORES < 2:
        pytest.skip("one core: one thread is all there is")
    kind, text, added = FAULTY[name]
    report = report_of(f"faulty_{name}")
    assert sum(report.shares.values()) == pytest.approx(1, abs=0.01)
    actual = report.options if name in OPTIONS else report.findings
    assert actual, report.text()
    (finding, *_) = [f for f in actual if f.kind == kind]
    source = Path(finding.file).read_text()
    assert text in source.splitlines()[finding.line - 1]
    assert len(report.text().splitlines()) <= 25
    assert (finding.patch is None) == (added is None)
    if finding.patch is not None:
        patched = finding.patch.apply(source)
        assert added in patched and added not in source
        compile(patched, finding.file, "exec")
        assert finding.patch.diff().startswith("---")


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_program_has_nothing_to_fix(name, report_of):
    report = report_of(f"sound_{name}")
    assert report.findings == [], report.text()
    assert "nothing to fix" in report.text() and report.roof >= 1
    assert sum(report.shares.values()) == pytest.approx(1, abs=0.01)


def test_the_command_measures_fixes_in_pairs(tmp_path):
    target = tmp_path / "report.json"
    page = tmp_path / "report.html"
    command = [sys.executable, "-m", "pellucid.diagnose", "--json", str(target)]
    command += ["--html", str(page), str(PROGRAMS / "faulty_clone.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    actual = json.loads(target.read_text())
    assert actual["kind"] in (*KINDS, "copy") and set(actual["shares"]) > {"copy"}
    assert "roofline" in done.stdout and page.read_text().startswith("<!doctype")
    patched = [f for f in actual["findings"] if f["patch"] is not None]
    assert [f["fix"] for f in patched if "clone" in f["text"]]
    for finding in patched:
        assert finding["pairs"] >= 1 and finding["patched"].startswith("---")
        assert finding["same_output"]
    failing = tmp_path / "failing.py"
    failing.write_text("raise SystemError('no')")
    done = subprocess.run(
        [*command[:3], str(failing)], capture_output=True, check=False
    )
    assert done.returncode == 1 and b"SystemError" in done.stderr


def runs(*seconds, output="", peak=100):
    return [{"seconds": s, "output": output, "peak": peak} for s in seconds]


def test_a_replay_that_gains_less_than_a_twentieth_is_dropped(monkeypatch):
    gains = {"fast": (3.0, 2.8, 3.2), "equal": (1.02, 1.0, 1.04), "rare": (3, 2.8, 3.2)}
    gains["unsteady"] = 1.3, 1.04, 1.6
    shares = dict.fromkeys(gains, 0.5) | {"rare": 0.05}
    findings = [
        Finding(
            "copy", "a.py", k, text, "", "", shares[text], replay=Replay("", "", "")
        )
        for k, text in enumerate(gains, 1)
    ]
    report = Report("copy", {"copy": 1.0}, 10.0, 1, "", 1.0, findings=findings)

    def replayed(wanted, seconds):
        for finding in wanted:
            finding.replayed_gain = gains[finding.text]

    monkeypatch.setattr(experiments, "replay", replayed)
    experiments.measure(None, report, Budget())
    assert [finding.text for finding in report.findings] == ["fast"]
    assert report.dropped == ["equal", "rare", "unsteady"]


def test_what_measures_nothing_is_dropped(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("a = 1\nb = 2\n")
    patch = Patch(str(path), ((2, 2, ("b = 3",)),))

    def judged(plain, patched):
        finding = Finding("copy", str(path), 2, "b = 2", "", "", 0.5, patch)
        judge(finding, plain, patched)
        return finding

    faster = judged(runs(2, 2.1, 1.9, 2, 2), runs(1, 1, 1, 1, 1))
    assert is_worth(faster) and faster.pairs == 5 and faster.same_output
    assert faster.measured_gain[0] == 2
    assert not is_worth(judged(runs(1, 1, 1), runs(1, 1, 1)))
    assert not is_worth(
        judged(runs(2, 1, 1), runs(1, 1, 1))
    )  # a single occurrence may be chance
    smaller = judged(runs(1, 1), runs(1, 1, peak=50))
    assert is_worth(smaller) and smaller.saved_bytes == 50
    slower = judged(runs(1, 1), runs(2, 2, peak=50))
    assert slower.saved_bytes == 50 and not is_worth(slower)
    alike = judged(runs(2), runs(1.5)), judged(runs(2), runs(1)), judged([], [])
    assert best_of_each_line(list(alike)) == [alike[1]]
    assert judged(runs(2), runs(1, output="x")).same_output is False
    assert not is_worth(judged(runs(1), []))
    once, twice = judged(runs(2), runs(1)), judged(runs(2, 2), runs(1, 1))
    equal = judged(runs(1, 1), runs(1, 1))
    assert all(map(is_proved, (once, twice, equal)))
    for finding in (once, twice, equal):
        finding.is_guess = True
    assert list(map(is_proved, (once, twice, equal))) == [False, True, False]


def test_a_function_and_a_block_are_diagnosed_in_this_process():
    a = torch.ones(64, 64)
    report = diagnose(lambda: a @ a)
    assert report.calls >= 1 and report.text().count("\n") < 25
    with diagnose() as actual:
        (a @ a).relu()
    assert actual.report.calls == 2
    assert sum(actual.report.shares.values()) == pytest.approx(1, abs=0.01)


def fades(x):
    for _ in range(3):
        table = (x @ x).softmax(-1).exp().log().sin()
        x = x + table
    return x


def repeats(x):
    for _ in range(6):
        table = (W @ W).softmax(-1)
        x = x + table
    return x


W = torch.randn(200, 200)
COMPUTE_ONCE = "compute it once, before the loop"


def calls_of(work, repeats):
    """Replaces the clock: the number of op calls of a run."""
    with torch.profiler.profile() as p:
        work()
    calls = sum(row.count for row in p.key_averages())
    return {"seconds": float(calls), "peak": 100, "output": ""}


def test_the_fix_of_a_function_is_measured_in_this_process(monkeypatch):
    monkeypatch.setattr(trials, "_timed", calls_of)
    report = diagnose(repeats, torch.zeros(200, 200))
    (finding,) = [f for f in report.findings if f.fix == COMPUTE_ONCE]
    assert finding.text == "table = (W @ W).softmax(-1)" and finding.same_output
    assert finding.pairs >= 3 and finding.measured_gain[1] > 2
    assert "measured" in report.text() and finding.patched.startswith("---")
    known = [f.fix for f in [*report.findings, *report.options]]
    assert len(known) == len(set(known))
    # Statements that depend on the loop are not hoisted.
    assert not [f for f in diagnose(fades, W).findings if f.fix == COMPUTE_ONCE]


def test_a_waiting_rank_is_reported_with_its_line():
    from pellucid.distributed._group.work import Work

    def work():
        for _ in range(4):
            pending = Work.pending(None)
            threading.Timer(0.05, pending._finish).start()
            pending.wait()
            torch.ones(4).exp()

    (finding,) = clock.diagnosed(work).findings[:1]
    assert finding.kind == "wait" and finding.text == "pending.wait()"
    assert "this rank waits for ranks, 4 times" in finding.evidence


def test_steps_that_a_backend_lacks_are_reported_with_their_line(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        """
import sys
sys.path.insert(0, "examples")
import pellucid as torch
from toy_device import Toy

class Maps(Toy):
    forms = frozenset({"map"})

torch.devices.register(Maps())
x = torch.ones(300, device="toy")
with torch.diagnose() as found:
    for _ in range(20):
        (x + 1).sum()
(finding,) = [f for f in found.report.findings if "on the CPU" in f.evidence]
print(finding.kind, finding.evidence, finding.text)
"""
    )
    output = run(str(path))
    assert "(x + 1).sum()" in output and "copy" in output and "aten::sum 20x" in output


def test_steps_of_a_loop_sum_to_its_time_and_slow_ones_say_why():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def work():
        for k in range(6):
            optimizer.zero_grad()
            model(torch.ones(8, 64)).sum().backward()
            if k == 4:
                time.sleep(0.2)
            optimizer.step()

    report = clock.diagnosed(work)
    assert len(report.steps) == 6
    slowest = max(report.steps, key=lambda step: step.seconds)
    assert slowest.number == 4 and slowest.shares["python"] > 0.19
    for step in report.steps:
        assert sum(step.shares.values()) == pytest.approx(step.seconds, rel=0.1)
    (line,) = [x for x in report.text().splitlines() if "number 4" in x]
    assert "(python +" in line
    assert len(json.loads(report.json())["steps"]) == 6
