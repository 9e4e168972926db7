"""Tables that loops of Python's build, and loaders with workers, as rules see them."""

from types import SimpleNamespace

import pytest

from pellucid.diagnose.rules import (
    cached_samples,
    constants,
    double_precision,
    loader,
    tiny_batch,
)

TABLE = """
import math
made = []
class Positions:
    def __init__(self, width):
        self.width = width
    def forward(self, x):
        table = []
        for place in range(len(x)):
            row = []
            for k in range(0, self.width, 2):
                row.append(math.sin(place / 10 ** k))
            table.append(row)
        made.append(table)
        return table
"""
LOADERS = """
test = DataLoader(held_out, 8)
loader = DataLoader(data, batch_size=8{options})
for epoch in range(9):
    for batch in loader:
        step(batch)
"""


@pytest.fixture
def facts_of(tmp_path):
    """What rules read of a program that spends its time at some lines."""

    def facts(text, **others):
        path = tmp_path / "program.py"
        path.write_text(text)
        known = {"files": [str(path)], "lines": {}, "shares": {}, **others}
        return str(path), SimpleNamespace(**known)

    return facts


def test_a_table_that_a_loop_builds_is_kept_for_each_size(facts_of):
    path, facts = facts_of(TABLE)
    line = 1 + TABLE.split("\n").index(
        "                row.append(math.sin(place / 10 ** k))"
    )
    facts.sampled = {row: [((path, line),)] for row in range(6)}
    facts.share_within = lambda file, node: 0.3
    (finding,) = constants.find(facts)
    assert finding.line == line and "6 times" in finding.evidence
    scope = {}
    exec(finding.patch.apply(TABLE), scope)
    first, second = scope["Positions"](4), scope["Positions"](8)
    tables = [
        p.forward([0] * n) for p, n in [(first, 3), (first, 3), (second, 3), (first, 5)]
    ]
    assert tables[0] is tables[1] and [len(t) for t in tables] == [3, 3, 3, 5]
    assert [len(t[0]) for t in tables] == [2, 2, 4, 2]


def test_a_table_that_reads_its_argument_is_no_constant(facts_of):
    path, facts = facts_of(TABLE.replace("sin(place", "sin(x[place]"))
    facts.sampled = {row: [((path, 12),)] for row in range(6)}
    facts.share_within = lambda file, node: 0.3
    assert constants.find(facts) == []


@pytest.mark.parametrize(
    ("change", "drawn"),
    [
        ("self.seen.append(x)", "sum(math.sqrt(v) for v in self.seen)"),
        ("self.seen[0] = x", "sum(math.sqrt(v) for v in self.seen)"),
        ("pass", "torch.normal(0.0, 1.0, (9, 9))"),
        ("pass", "torch.bernoulli(torch.full((9, 9), 0.5))"),
    ],
)
def test_what_changes_or_is_drawn_is_no_constant(facts_of, change, drawn):
    text = (
        "class Window:\n    def __init__(self):\n        self.seen = [0.0]\n"
        f"    def add(self, x):\n        {change}\n"
        f"    def forward(self):\n        kept = {drawn}\n        return kept\n"
    )
    path, facts = facts_of(text)
    facts.sampled = {row: [((path, 7),)] for row in range(6)}
    facts.share_within = lambda file, node: 0.3
    assert constants.find(facts) == []
    facts.files = [
        facts_of(text.replace(change, "pass").replace(drawn, "sum(self.seen)"))[0]
    ]
    assert len(constants.find(facts)) == 1


def test_only_float64_arrays_become_float32(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        'x = {"größe": torch.from_numpy(a), "b": torch.from_numpy(b[rows])}\n'
        "loss = f(net(torch.tensor(a)), torch.from_numpy(labels[rows]))\n"
    )
    patched = double_precision._patch(str(path), {"a", "b"}).apply(path.read_text())
    assert '{"größe": torch.from_numpy(a).float(), "b": ' in patched
    assert "from_numpy(b[rows]).float()}" in patched
    assert "net(torch.tensor(a).float()), torch.from_numpy(labels[rows]))" in patched


def test_only_names_of_the_program_become_float32(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        'print("größe: call x.double(), torch.float64")  # x.double()\n'
        'y = f("é", x.double().to(torch.float64)); "torch.double"\n'
        "z = (x\n     .double())\n"
    )
    patched = double_precision._patch(str(path), ()).apply(path.read_text())
    first = path.read_text().splitlines()[0]
    new = 'y = f("é", x.float().to(torch.float32)); "torch.double"'
    assert patched.splitlines() == [first, new, "z = (x", "     .float())"]


@pytest.mark.parametrize(("size", "is_found"), [("64", False), ("chosen()", True)])
def test_samples_one_by_one_are_no_small_batches(facts_of, size, is_found):
    text = f"loader = DataLoader(data, batch_size={size})\n"
    path, facts = facts_of(text, own_share=lambda *names: 0.9)
    facts.settings = {"files": [path], "rows": [1, 1]}
    facts.ranges = lambda name: {(path, 1): (2.0, 9)}
    assert bool(tiny_batch.find(facts)) is is_found


def test_workers_are_kept_only_for_several_epochs(facts_of):
    text = (
        "loader = DataLoader(data, num_workers=2)\nfor batch in loader:\n    f(batch)\n"
    )
    path, facts = facts_of(text, data_share=0.8, sampled_in_loader=[])
    facts.ranges = lambda name: {(path, 2): (2.0, 9)}
    (finding,) = loader.find(facts)
    assert finding.is_guess and "num_workers=0" in finding.fix


@pytest.mark.parametrize(
    ("options", "added"),
    [
        (", num_workers=2", ["num_workers=0", "persistent_workers=True"]),
        (", num_workers=4, persistent_workers=True", ["num_workers=0"]),
        (", num_workers=0", ["num_workers=2"]),
        ("", ["num_workers=2"]),
    ],
)
def test_settings_of_the_loader_that_takes_the_time_are_tried(facts_of, options, added):
    text = LOADERS.format(options=options)
    path, facts = facts_of(text, data_share=0.8, sampled_in_loader=[])
    facts.ranges = lambda name: {(path, 5): (2.0, 9), (path, 2): (0.1, 1)}
    facts.matching = lambda pattern: [(path, 3, text.split("\n")[2])]
    findings = loader.find(facts)
    assert [f.line for f in findings] == [3] * len(added)
    for finding, setting in zip(findings, added, strict=True):
        patched = finding.patch.apply(text)
        assert (
            setting in patched
            and setting.partition("=")[0] not in patched.split("\n")[1]
        )
        compile(patched, path, "exec")
    has_workers = "workers=2" in options or "workers=4" in options
    assert loader.has_workers(facts) is has_workers
    assert not has_workers or cached_samples.find(facts) == []
