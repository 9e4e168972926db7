"""What single rules name, and what they leave alone, in programs of a few lines."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.diagnose import clock

import pellucid as torch
from pellucid import diagnose
from pellucid.diagnose.rules import all_rules, checkpointed

PROGRAMS = Path(__file__).parent / "programs"
SETTING = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X, Y = torch.randn(512, 256), torch.randint(0, 10, (512,))
"""
LOOP = """
for _ in range(8):
{body}
    opt.zero_grad()
    loss.backward({options})
    opt.step()
"""


@pytest.fixture
def findings_of(report_of, tmp_path):
    """A function that gives what is found in a loop of steps; ``text`` before it."""

    def findings(body, text="", options=""):
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        body = "".join(f"    {line}\n" for line in body)
        path.write_text(SETTING + text + LOOP.format(body=body, options=options))
        return report_of(path).findings

    return findings


def test_a_second_pass_that_is_a_sample_or_reaches_the_loss_is_kept(findings_of):
    both = "loss = nn.functional.cross_entropy(a, Y) + (a - b).square().mean()"
    passes = ["a = net(X)", "b = net(X)", both]
    noisy = "net.insert(1, nn.Dropout(0.2))\n"
    assert not [f for f in findings_of(passes, noisy) if "again" in f.evidence]
    (finding,) = [f for f in findings_of(passes) if "again" in f.evidence]
    assert finding.keeps_output
    assert finding.patch.edits[0][2] == ("    b = a",)
    sums = ["c = sum(rows)", "d = sum(rows)", "loss = net(X).mean()"]
    found = findings_of(sums, "rows = list(X)\n")
    assert not [f for f in found if "again" in f.evidence]


def test_only_what_slept_is_named(findings_of):
    text = """
import time
def unused():
    time.sleep(9)
def pause():
    time.sleep(0.02)
"""
    (finding,) = findings_of(["pause()", "loss = net(X).mean()"], text)
    assert finding.kind == "wait" and finding.text == "time.sleep(0.02)"


def test_what_an_iteration_binds_first_is_not_carried(findings_of):
    body = ["x = X * 2", "x = net(x)", "loss = x.square().mean()"]
    (finding,) = [
        f for f in findings_of(body, options="retain_graph=True") if "retain" in f.text
    ]
    assert finding.kind == "peak" and not finding.is_certain


def test_a_graph_that_a_second_pass_needs_is_kept_without_one_of_gradients(findings_of):
    grads = (
        "grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)"
    )
    found = findings_of(["loss = net(X).mean()", grads, "size = grads[0].norm()"])
    (finding,) = [f for f in found if "create_graph" in f.text]
    ((_, _, (line,)),) = finding.patch.edits
    assert "list(net.parameters()), retain_graph=True)" in line


def test_sums_over_rows_are_no_cross_entropy(findings_of):
    rows = "rows = nn.functional.one_hot(Y, 10).float()"
    loss = "loss = -(rows * torch.log(torch.softmax(net(X), -1) + 1e-9)).sum({}).mean()"
    found = findings_of([rows, loss.format(0)])
    assert not [f for f in found if "cross entropy" in f.evidence]


def test_positions_of_which_all_are_read_elsewhere_are_computed(findings_of):
    text = (PROGRAMS / "faulty_last_position.py").read_text().partition('"""\n')[2]
    text += "\nall = model(ids)\n"
    found = findings_of(["loss = net(X).mean()"], text)
    assert not [f for f in found if "of which the program reads the last" in f.evidence]


TRAINED = """
import torch
W = torch.randn(300, 300, requires_grad=True)
def learn(loss):
    {body}
for _ in range(8):
    table = torch.softmax(W @ W, -1)
    learn(table.square().mean())
"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("W.data -= torch.autograd.grad(loss, W)[0]", False),
        ("loss.backward()", False),
        ("loss.detach().exp()", True),
    ],
)
def test_what_a_called_function_trains_depends_on_the_loop(
    body, is_found, report_of, tmp_path
):
    path = tmp_path / "program.py"
    path.write_text(TRAINED.format(body=body))
    found = [f for f in report_of(path).findings if "once, before" in f.fix]
    assert bool(found) == is_found


def test_a_round_trip_through_lists_is_found_by_its_names(tmp_path):
    from pellucid.diagnose.rules import host_copies

    path = tmp_path / "program.py"
    path.write_text(
        "for _ in range(9):\n"
        "    host = state.tolist()\n"
        "    state = torch.tensor(host)\n"
    )

    def line(number):
        return SimpleNamespace(line=SimpleNamespace(number=number), total=0.3)

    facts = SimpleNamespace(
        files=[str(path)],
        lines={(str(path), number): line(number) for number in (2, 3)},
        share_of=lambda seconds: seconds,
    )
    (finding,) = host_copies.find(facts)
    assert finding.line == 3 and finding.share == 0.6
    assert "state = (state).detach()" in finding.patch.apply(path.read_text())


def test_collections_that_a_loop_asks_for_are_found(tmp_path):
    from pellucid.diagnose.recording import record_once
    from pellucid.diagnose.rules import garbage
    from pellucid.profiler._timeline.log import Watch

    path = tmp_path / "program.py"
    path.write_text("import gc\nfor _ in range(6):\n    gc.collect()\ngc.collect()\n")
    code = compile(path.read_text(), str(path), "exec")
    log = record_once(lambda: exec(code), (), {}, Watch.CALLS)
    facts = SimpleNamespace(
        log=log,
        share_of=lambda seconds: 0.5,
        matching=lambda pattern: [(str(path), n, "gc.collect()") for n in (3, 4)],
    )
    (finding,) = garbage.find(facts)
    assert finding.line == 3 and finding.kind == "overhead"
    assert "    None\n" in finding.patch.apply(path.read_text())
    facts.share_of = lambda seconds: 0.0
    assert garbage.find(facts) == []


def test_a_rule_that_fails_is_a_line_and_the_others_report(monkeypatch):
    from pellucid.diagnose.rules import saves, small_calls

    def broken(facts):
        raise KeyError("no such line")

    broken.__module__ = saves.__name__
    monkeypatch.setattr(saves, "find", broken)
    x = torch.zeros(400)
    report = clock.diagnosed(lambda: [float(x[k]) for k in range(400)], [__file__])
    assert [f for f in report.findings if f.fix.startswith("compute whole tensors")]
    (line,) = report.failures
    assert line.startswith("rule saves failed: KeyError: 'no such line' (test_rules")
    assert line in report.text() and line in json.loads(report.json())["failures"]
    assert small_calls.find.__module__ in {rule.__module__ for rule in all_rules()}


def test_every_rule_is_a_file():
    names = {rule.__module__.rpartition(".")[2] for rule in all_rules()}
    files = (Path(diagnose.__file__).parent / "rules").glob("[a-z]*.py")
    assert names == {path.stem for path in files} and len(names) >= 40


UNIT = """
class Unit(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Linear(256, 256), nn.Linear(256, 256)
        self.drop, self.norm = nn.Dropout(0.1), nn.BatchNorm1d(256)
    def embedded(self, x):
        return self.embed(x + self.state)
    def forward(self, x):
        h = self.state = torch.zeros(8, 256)
        rows = torch.zeros(41, 8, 256)
        for t in range(40):
            {body}
        return h + self.state + e
unit = Unit()
for _ in range(3):
    unit(torch.randn(8, 40, 256)).square().mean().backward()
"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("e = self.embed(x[:, t]); h = self.cell(e + h)", True),
        ("e = self.embed(x[:, t] + self.state); self.state = self.cell(e)", False),
        ("e = self.embedded(x[:, t]); self.state = self.cell(e)", False),
        ("e = self.embed(rows[t].clone()); rows[t + 1] = self.cell(e).data", False),
        ("e = self.embed(x[:, t] + rows[0]); rows[0].add_(self.cell(e).data)", False),
        ("e = self.drop(self.embed(x[:, t])); h = self.cell(e + h)", False),
        ("e = self.norm(self.embed(x[:, t])); h = self.cell(e + h)", False),
    ],
)
def test_only_steps_that_need_no_other_are_computed_at_once(
    body, is_found, report_of, tmp_path
):
    path = tmp_path / "program.py"
    path.write_text(f"import torch\nfrom torch import nn\n{UNIT.format(body=body)}")
    found = [f for f in report_of(path).findings if "at once, before" in f.fix]
    assert bool(found) == is_found


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("import torch\ntorch.utils.checkpoint.checkpoint(f, x, debug=True)", "f(x)"),
        ("import torch.utils.checkpoint as c\nc.checkpoint(f, *x, m=y)", "f(*x, m=y)"),
        ("from torch.utils import checkpoint\ncheckpoint.checkpoint(f, x)", "f(x)"),
        (
            "from torch.utils.checkpoint import checkpoint as again\n"
            "again(lambda x: x + 1, x, early_stop=False)",
            "(lambda x: x + 1)(x)",
        ),
        ("import torch\nmanager.checkpoint(epoch, model)", None),
        ("from tools import checkpoint\ncheckpoint(epoch, model)", None),
    ],
)
def test_checkpoints_are_known_by_what_their_name_is_bound_to(text, plain):
    found = [text for _, text in checkpointed._checkpoints(ast.parse(text))]
    assert found == ([] if plain is None else [plain])
