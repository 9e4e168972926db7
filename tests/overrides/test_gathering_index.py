"""Indexing by one number under vmap: a gather instead of a view."""

from __future__ import annotations

import pellucid as torch
from pellucid._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from pellucid.func import vmap


def test_mapped_numbers_index():
    table = torch.arange(12.0).view(3, 4)
    rows, columns = torch.tensor([2, 0, 1]), torch.tensor([1, 3, 0])
    with TransformGetItemToIndex():
        got = vmap(lambda i, j: table[i, j])(rows, columns)
        assert table[1, 2].item() == 6
        assert torch.equal(table[1:], torch.arange(4.0, 12.0).view(2, 4))
    assert got.tolist() == [9.0, 3.0, 4.0]
