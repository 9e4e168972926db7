"""What ops read of each other, and repeat: by elements and values. No time is measured:
an op takes a second for each element of its result.
"""

import gc
import json
from pathlib import Path

import pytest
from tests.diagnose.test_values import executed

import pellucid as torch
from pellucid.diagnose.flow import Enough, Flow, Reads, size_of
from pellucid.diagnose.needed import answered, repeated, wasted
from pellucid.diagnose.rules import all_of_flow, repeated_work, unread

PROGRAMS = Path(__file__).parent / "programs"
F = torch.nn.functional


def followed(work):
    """The flow of a function, and what it returns."""
    flow = Flow(1e9)
    with Reads(flow), flow:
        kept = work()
    for node in flow.nodes:
        node.seconds = float(sum(size_of(view) for view in node.results))
    gc.collect()
    return flow, kept


def parts(work):
    """{op: the part of its result that is needed}, where that is not all."""
    flow, _ = followed(work)
    for place, node in enumerate(flow.nodes):
        node.stack = (("", place),)
    return {waste.op: round(waste.part, 4) for waste in wasted(flow)}


x = torch.randn(64, 40)
w = torch.randn(40, 50)
y = torch.randn(4, 400)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: (x @ w)[:, -1].sum().item(), {"mm": 0.02}),
        (
            lambda: (x @ w).exp()[:16].sum().item(),
            {"mm": 0.25, "exp": 0.25},
        ),
        (
            lambda: (x @ w).gather(1, torch.zeros(64, 1).long()).sum().item(),
            {"mm": 0.02},
        ),
        (lambda: (x @ w)[torch.tensor([3, 3, 5])].sum().item(), {"mm": 0.0312}),
        (lambda: F.embedding(torch.tensor([2]), x + 1).tolist(), {"add": 0.0156}),
        (
            # A softmax needs its rows, the product those of its left operand.
            lambda: ((x + 1) @ w).softmax(1)[:8, :3].tolist(),
            {"add": 0.125, "mm": 0.125, "_softmax": 0.0075},
        ),
        (
            # What is broadcast is needed whole.
            lambda: ((x + 1) * (x.sum(0) + torch.ones(40)))[:8].tolist(),
            {"add": 0.125, "mul": 0.125},
        ),
        (
            lambda: ((y + 1).mean(0, keepdim=True) * 2)[:, :40].tolist(),
            {"add": 0.1, "mean": 0.1, "mul": 0.1},
        ),
        (lambda: ((x + 1).t().contiguous())[:4].tolist(), {"add": 0.1, "clone": 0.1}),
        (lambda: ((x + 1) @ w, (x + 2).sum().item())[1], {"add": 0.0, "mm": 0.0}),
        (lambda: (x @ w)[:4].numpy().sum(), {"mm": 0.0625}),
        (
            # A line's first element of a cumulative sum: all along the line, before it.
            lambda: (x + 1).sort(1).values.cumsum(1)[:, :1].tolist(),
            {"cumsum": 0.025},
        ),
        # All of it: read by Python, held, read by an op of which nothing is known.
        (lambda: (x @ w).tolist(), {}),
        (lambda: x @ w, {}),
        (lambda: torch.linalg.qr(x + 1)[0][:2].tolist(), {}),
    ],
)
def test_what_is_needed_of_a_result(work, expected):
    assert parts(work) == expected


def test_what_is_written_into_is_needed():
    def work():
        sums = torch.zeros(64, 50)
        for row in range(4):
            sums[row] += (x @ w)[row]
        return sums[0].tolist()

    assert parts(work) == {"mm": pytest.approx(1 / 64, abs=1e-3)}


def test_backward_passes_read_no_more_than_the_forward_pass():
    head = torch.nn.Linear(40, 400)

    def work():
        for _ in range(3):
            scores = head(x.view(8, 8, 40))[:, -1]
            F.cross_entropy(scores, torch.zeros(8).long()).backward()

    flow, _ = followed(work)
    (waste,) = wasted(flow)
    assert (waste.op, waste.part, waste.calls) == ("addmm", 0.125, 3)
    assert waste.place[1] == waste.reader[1] and waste.place[0] == __file__
    read = {"seconds": 1e5, "unread": [vars(waste)]}
    (finding,) = unread.read(read)
    assert "12.5% is used, by line" in finding.evidence and finding.share > 0.2
    assert "scores = head(" in finding.text
    assert unread.read(read | {"seconds": 1e6}) == []


def test_the_root_of_a_backward_pass_is_needed():
    layer = torch.nn.Linear(40, 40)
    assert parts(lambda: layer(x).backward(torch.ones(64, 40))) == {}
    assert parts(lambda: torch.autograd.grad(layer(x).sum(), [layer.weight])) == {}


def again(work):
    """The lines, from the first of the function, whose ops repeat others."""
    flow, _ = followed(work)
    first = work.__code__.co_firstlineno
    return {
        chain[0][1] - first: (own.calls_again, own.calls)
        for chain, own in repeated(flow.nodes).items()
        if own.calls_again
    }


def test_equal_values_are_computed_again_with_a_graph():
    encoder = torch.nn.Linear(40, 40)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)

    def work():
        for _ in range(2):
            for row in range(3):
                query = encoder(x.view(2, 32, 40))
                loss = (query[0, row] - row).square().sum()
            loss.backward()
            optimizer.step()  # the same call has another value then

    calls, total = again(work)[3]
    assert 0 < calls == total * 2 / 3


def test_what_differs_is_not_again():
    state = torch.zeros(40)

    def work():
        for k in range(4):
            torch.dropout(x, 0.5, True).exp()
            state.add_(1).exp()
            (x + k).exp()
            torch.rand(3).exp()

    assert again(work) == {}


def test_rules_name_the_outermost_line():
    file = str(PROGRAMS / "faulty_encoder.py")
    lines = Path(file).read_text().splitlines()
    score, call, inner = (
        next(n for n, line in enumerate(lines, 1) if text in line)
        for text in ("scores = [", "query = self.encode(", "return self.layers(")
    )
    chain = [[file, inner], [file, call], [file, score]]
    one = {"seconds": 8.0, "again": 7.6, "calls": 8, "calls_again": 7}
    both = {"seconds": 16.0, "again": 7.6, "calls": 16, "calls_again": 7}
    lines = [[file, inner, one], [file, call, one], [file, score, both]]
    flow = {"seconds": 20.0, "again": [chain], "lines": lines, "unread": []}
    (finding,) = all_of_flow(flow)
    assert finding.line == call and finding.share == 0.38
    assert "7 of 8 ops of this line" in finding.evidence
    assert repeated_work.read(flow | {"seconds": 70.0}) == []
    # A loop that does nothing else is there to take its time.
    assert repeated_work.read(flow | {"lines": [*lines[:2], [file, score, one]]}) == []


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("encoder", "query = self.encode(", "again"),
        ("picked", "scores = heads @ self.items.t()", "unread"),
        ("crop", "return ((image - gray)", "unread"),
    ],
)
def test_programs_show_it(name, text, rule):
    script = PROGRAMS / f"faulty_{name}.py"
    flow, _ = followed(lambda: executed(script))
    found = json.loads(json.dumps(answered(flow)))
    found["seconds"] = sum(node.seconds for node in flow.nodes)
    reading = {"again": repeated_work.read, "unread": unread.read}[rule]
    assert any(text in finding.text for finding in reading(found))


@pytest.mark.parametrize("name", ["cnn", "dqn", "gpt", "train", "decode", "kmeans"])
def test_sound_programs_show_nothing(name):
    flow, _ = followed(lambda: executed(PROGRAMS / f"sound_{name}.py"))
    found = answered(flow)
    found["seconds"] = sum(node.seconds for node in flow.nodes)
    assert all_of_flow(found) == []


def test_a_flow_ends_after_its_time():
    flow = Flow(0.0)
    with pytest.raises(Enough), flow:
        for _ in range(1000):
            x.exp()
