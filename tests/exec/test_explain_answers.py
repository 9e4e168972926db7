"""explain.view, gradient, dtype and saved: one question each, with short answers."""

import pellucid as torch
from pellucid import explain


def test_a_view_names_what_it_shares():
    table = torch.zeros(4, 64)
    columns = table[:, 8:16]
    text = explain.view(columns)
    assert "float32 [4, 8], strides [64, 1], in a storage of 1.0 KiB" in text
    assert "a view of float32 [4, 64], from element 8: 12% of the storage" in text
    assert "table" in text and "columns" in text
    assert (
        "reshape(-1) copies: dims 0 and 1 do not merge (strides 64, 1, size 8)" in text
    )
    own = explain.view(table.clone())
    assert "not a view" in own and "reshape(-1) is a view" in own


def test_a_missing_gradient_has_its_reason():
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    loss = (h.exp() * torch.ones(2)).sum()
    assert "requires_grad is False" in explain.gradient(torch.ones(2), loss)
    assert "the output has no graph" in explain.gradient(w, loss.detach())
    other = torch.ones(2, requires_grad=True)
    assert "does not depend on it" in explain.gradient(other, loss)
    assert "not a leaf: call retain_grad()" in explain.gradient(h, loss)
    assert "backward() was not called" in explain.gradient(w, loss)
    loss.backward()
    text = explain.gradient(w, loss)
    assert text.startswith("reached by SumBackward0 -> ") and ".grad has a norm" in text


def test_the_line_that_widened_is_named():
    shift = torch.zeros(3, dtype=torch.float64)

    def scores(x):
        return (x * 2 - shift).exp()

    text = explain.dtype(scores, torch.ones(3))
    assert text.startswith("the result is float64; 3 calls")
    (line,) = text.splitlines()[1:]
    assert line.startswith("float64 since ") and "test_explain_answers.py(" in line
    assert "sub.Tensor of float32, float64" in line
    assert "float32 throughout" in explain.dtype(torch.exp, torch.ones(3))


def test_saved_storages_count_once():
    x = torch.ones(256, requires_grad=True)
    y = x.exp()
    text = explain.saved((y * y).sum())
    assert text.startswith("1.0 KiB saved for backward")
    assert len(text.splitlines()) == 2


def test_lines_that_make_views_or_end_graphs_are_named():
    w = torch.ones(4, 3, requires_grad=True)

    def columns():
        return w.detach().t()[1:]

    text = explain.view(columns)
    assert "float32 [2, 4], strides [1, 3]" in text
    last = text.splitlines()[-1]
    assert last.startswith("views were made by ") and "t at " in last
    assert last.count("test_explain_answers.py(") >= 2 and last.endswith(": columns")

    def loss():
        return (w.detach() * w.sum().item()).sum()

    text = explain.gradient(w, loss)
    assert "the output has no graph" in text
    last = text.splitlines()[-1]
    assert last.startswith("the graph ends at detach at ") and "item at " in last
    assert explain.gradient(w, lambda: w.sum()).startswith("reached by")
