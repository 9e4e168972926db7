"""Which statements of a loop read what they computed in an earlier round."""

import ast

import pytest

from pellucid.diagnose.carried import carried


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state = cell(x, state)", [0]),
        ("with torch.no_grad():\n    low = torch.minimum(low, f(x))", [0]),
        ("h = cell(x, state)\nstate = h.detach()", [0, 1]),
        ("mean.mul_(0.9).add_(x)\nlog(mean)", [0]),
        ("self.state = cell(x, self.state)", [0]),
        ("sums[0] += f(x)", [0]),
        ("if f(x) > best:\n    best = f(x)", [0]),
        ("step += 1\nlog(step, f(x))", [0]),
        ("right = 0\nfor v in held:\n    right += f(v)\nlog(right)", []),
        ("with torch.no_grad():\n    out = net(x)\n    score = out.mean()", []),
        ("score = f(net)\ncurve.append(score)", []),
    ],
)
def test_a_carried_statement_reads_its_own_earlier_result(text, expected):
    body = ast.parse(text).body
    assert [k for k, one in enumerate(body) if one in carried(body)] == expected
