"""explain.quantized, exported: what layers lose, what a program leaves out."""

import copy
import re

import pellucid as torch
from pellucid import explain, nn
from pellucid.ao.quantization import Int8WeightOnlyConfig, quantize_


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.calls = nn.Linear(4, 4), 0

    def forward(self, x, unread):
        x.exp()
        self.calls += 1
        print(end="")
        if x.shape[0] > 2:
            x = x + 1
        return self.linear(x)


def test_what_an_exported_program_leaves_out_is_listed():
    x = torch.zeros(3, 4)
    text = explain.exported(Counts(), (x, torch.ones(1)))
    head, *rows = text.splitlines()
    assert head == "3 ops in the program; not in it, or fixed:"
    assert re.match(r"attribute calls: 0 -> \d while traced;", rows[0])
    assert re.match(r"test_explain_parts.py:\d+ `print\(end=\"\"\)`: Python's", rows[1])
    assert rows[2].endswith("`: was True for this example; the other case is not in it")
    assert "if x.shape[0] > 2" in rows[2]
    assert rows[3] == "unread: nothing reads it"
    assert re.match(r"exp at .*`x.exp\(\)`: nothing reads it", rows[4])
    assert rows[5:] == ["input x: dim 0 is 3, dim 1 is 4", "input unread: dim 0 is 1"]
    batch = ({0: torch.export.Dim("batch")},)
    text = explain.exported(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (x,), batch)
    assert text.splitlines()[1:] == ["input input_1: dim 1 is 4"]
    whole = explain.exported(nn.ReLU(), (torch.tensor(1.0),))
    assert whole == "1 ops in the program; all that the module does is in it"


class Loops(nn.Module):
    def forward(self, x):
        for k in range(2):
            if k > 0:
                x = x + 1
        return x


def test_a_condition_that_was_both_is_not_listed():
    text = explain.exported(Loops(), (torch.tensor(1.0),))
    assert text == "1 ops in the program; all that the module does is in it"


def test_the_layer_that_loses_most_and_its_input_are_named():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    with torch.no_grad():
        model[2].weight[0, 0] = 40.0  # its scale leaves few steps to the others
    narrow = copy.deepcopy(model)
    quantize_(narrow, Int8WeightOnlyConfig(), measures=False)
    inputs = [torch.randn(2, 64) for _ in range(4)]
    head, worst, columns, *rows = explain.quantized(model, narrow, inputs).splitlines()
    assert head.startswith("2 of 2 layers differ; after the last, 2, the error is ")
    assert re.match(r"2 loses most by itself: \d+\.\d+%", worst)
    assert columns.split() == ["by", "itself", "in", "all", "input"]
    assert [row.split()[-2] for row in rows] == ["2", "0"]
    assert all(0 <= int(row.split()[2]) < 4 for row in rows)
    same = explain.quantized(model, copy.deepcopy(model), inputs)
    assert same.startswith(
        "0 of 2 layers differ; after the last, 2, the error is 0.00%"
    )
    other = explain.quantized(model, nn.ReLU(), inputs)
    assert other == "no layer of the one is a layer of the other: compared by name"
