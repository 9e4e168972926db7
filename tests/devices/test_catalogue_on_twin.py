"""Every op overload on a device whose memory the CPU cannot touch.

A call generated from the schema (``tools/schema_calls.py``) gives the CPU's bits, and
its results are on the device. A read past the backend would end the process.
"""

import pytest
from tools.schema_calls import tensors

import pellucid as torch
from tests.composites.test_whole_catalogue import drawn, names, overload_of

pytestmark = pytest.mark.filterwarnings("ignore")  # some ops are deprecated
# Uninitialised memory.
UNWRITTEN = {
    *("empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    *("empty_permuted.out", "empty.out", "empty_like.out", "resize.out"),
    *("new_empty.out", "new_empty_strided.out", "empty.memory_format"),
    *("empty_strided.out", "empty_permuted", "resize", "resize_as"),
}
TO_THE_CPU = {"cpu"}


def contents(results):
    """Shape, dtype and bytes of every tensor."""
    return [
        (
            tuple(t.shape),
            t.dtype,
            t.cpu().contiguous().clone().untyped_storage()._bytes(),
        )
        for t in tensors(results)
    ]


@pytest.mark.parametrize("name", names())
def test_results_are_the_cpus_bits(twin, name):
    known, overload = drawn(name), overload_of(name)
    torch.manual_seed(0)
    expected = known.run(overload)
    torch.manual_seed(0)
    actual = known.run(overload, lambda tensor: tensor.to(twin))
    if name in UNWRITTEN:
        assert [c[:2] for c in contents(actual)] == [c[:2] for c in contents(expected)]
    else:
        assert contents(actual) == contents(expected)
    inputs = tensors((known.positional, known.named))
    if inputs and name not in TO_THE_CPU:
        assert all(t.device == twin for t in tensors(actual))
