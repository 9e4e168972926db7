"""Numbers that a program computes from dynamic sizes, and ``draft_export``."""

import io
import logging

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.export import Dim, draft_export, export, load, save


class Program(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.run = forward

    def forward(self, x):
        return self.run(x)


def of_batch(forward, **limits):
    sizes = {"x": {0: Dim("batch", **limits)}}
    return export(Program(forward), (torch.ones(4, 3),), dynamic_shapes=sizes)


def scaled(x):
    n = x.shape[0]
    return x / n**0.5 + x * (1 / n) + x * (n / 3) + x * (n / (n - 1)) + x * (n * 1.0)


def part(x):
    return x[: int(x.shape[0] * 0.5 + 1)] * 2


@pytest.mark.parametrize("forward", [scaled, part])
def test_floats_are_computed_of_the_sizes(forward):
    file = io.BytesIO()
    save(of_batch(forward, min=2, max=4000), file)
    file.seek(0)
    program = load(file).module()
    for rows in (2, 7, 3999):
        x = torch.randn(rows, 3)
        assert torch.equal(program(x), forward(x))


def test_floats_that_no_expression_gives_are_refused():
    with pytest.raises(RuntimeError, match=r"x \* torch\.tensor"):
        of_batch(lambda x: x * torch.tensor(2.0).item() ** x.shape[0], max=9)
    with pytest.raises(RuntimeError, match="No expression of the sizes gives this"):
        of_batch(lambda x: x * 1.5 ** x.shape[0], max=9)


def test_running_statistics_of_every_batch():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    other = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    other.load_state_dict(model.state_dict())
    sizes = {"input": {0: Dim("batch", min=2, max=99)}}
    program = export(model, (torch.randn(4, 3),), dynamic_shapes=sizes).module()
    for rows in (9, 31):
        x = torch.randn(rows, 3)
        assert torch.equal(program(x), other(x))
    for name, value in other.named_buffers():
        assert torch.equal(dict(program.named_buffers())[name], value)


def hidden_branch(x):
    n = int(x.shape[0])
    return x + 1 if 200 < n < 400 else x - 1


def test_a_path_that_a_plain_number_decides_is_found():
    with pytest.raises(RuntimeError, match=r"plain number at\n.*n = int\(x\.shape"):
        of_batch(hidden_branch, max=4000)
    assert of_batch(hidden_branch, max=200).module()(torch.ones(99, 3)).sum() == 0


def test_every_size_of_a_small_range_is_traced_where_a_plain_number_decides():
    def one_size_differs(x):
        return x + 1 if int(x.shape[0]) == 37 else x - 1

    for greatest in (37, 65):
        with pytest.raises(RuntimeError, match="batch = 37"):
            of_batch(one_size_differs, max=greatest)
    assert of_batch(one_size_differs, max=36).module()(torch.ones(36, 3)).sum() == 0


def test_a_draft_takes_the_examples_values_and_says_so(caplog):
    def decided(x):
        return x * 2 if x.sum().item() > 0 else x

    with caplog.at_level(logging.WARNING):
        program = draft_export(Program(decided), (torch.ones(4, 3),))
    assert "if x.sum().item() > 0" in caplog.text
    assert not program._report.successful()
    assert program.module()(torch.ones(4, 3)).sum() == 24


def test_a_draft_narrows_ranges_and_gives_sizes_up():
    def limited(x):
        return x[:, 0] + 1 if x.shape[0] <= 100 else x[:, 0]

    def halved(x):
        return x.view(2, -1)

    sizes = {"x": {0: Dim("batch", max=999)}}
    inputs = (torch.ones(4, 3),)
    program = draft_export(Program(limited), inputs, dynamic_shapes=sizes)
    assert program.ranges[0].upper == 100
    assert "batch <= 100" in str(program._report)
    program = draft_export(Program(halved), inputs, dynamic_shapes=sizes)
    assert not program.range_constraints and len(program._report.failures) == 1
    plain = draft_export(Program(torch.relu), inputs, dynamic_shapes=sizes)
    assert plain._report.successful() and "batch" in str(plain.range_constraints)
