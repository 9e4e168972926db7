"""Values that cannot be compared, or have no elements: the run goes on."""

import pytest
from tests.diagnose.asking import answers_of

import pellucid as torch
from pellucid.diagnose.rows import Rows


@pytest.mark.parametrize(
    "text",
    [
        "f, table = torch.relu, torch.ones(300, 300, device='meta')",
        "f, table = torch.nn.Identity(), torch.ones(300, 300).to(torch.float8_e4m3fn)",
        "f, table = torch.vmap(lambda row: row.sum()), torch.ones(300, 300)",
        "def each(x):\n    return g(x)\n"
        "f, g, table = torch.vmap(each), torch.sin, torch.ones(3, 300, 300)",
        "f, table = torch.dequantize, "
        "torch.quantize_per_tensor(torch.ones(300, 300), 1.0, 0, torch.quint8)",
        "f, table = len, [10**400, 1]",
    ],
)
def test_values_that_cannot_be_compared_do_not_end_the_run(text, tmp_path):
    script = tmp_path / "program.py"
    lines = f"import torch\n{text}\nfor _ in range(4):\n    y = f(table)\n"
    script.write_text(f"{lines}    z = torch.ones(3) + 1\n")
    _, answers = answers_of(script)
    assert [a["again"] for a in answers.values() if a["calls"] == 4][-1] == 3


def test_indices_without_values_are_not_looked_at(monkeypatch):
    for name in ("embedding", "cross_entropy"):
        function = getattr(torch.nn.functional, name)
        monkeypatch.setattr(torch.nn.functional, name, function)
    rows, table = Rows(), torch.ones(2000, 2)
    rows.watch()
    look_up = torch.nn.functional.embedding
    torch.vmap(lambda k: look_up(k, table))(torch.arange(6).reshape(2, 3))
    look_up(torch.ones(3, dtype=torch.long, device="meta"), table.to("meta"))
    assert rows.answer() == {}
    look_up(torch.arange(3), table)
    assert rows.answer() == {"2000": (3, 3, 3)}
