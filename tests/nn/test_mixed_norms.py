"""Norms of half precision whose weights and statistics are float32 keep the input's
dtype, and give the weights gradients of theirs.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional

NORMS = {
    "layer": lambda x, w, b: functional.layer_norm(x, (4,), w, b),
    "group": lambda x, w, b: functional.group_norm(x, 2, w, b),
    "rms": lambda x, w, b: functional.rms_norm(x, (4,), w),
    "batch": lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True),
    "given": lambda x, w, b: functional.batch_norm(
        x, torch.zeros(4), torch.ones(4), w, b
    ),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_the_result_has_the_dtype_of_the_input(name, dtype):
    x = torch.tensor([[1.0, 2, -3, 4], [0.5, -1, 2, 8], [3, 3, 1, -2]])
    weight = torch.tensor([1.0, 2, 3, 4])
    leaves = {}
    for kind, inputs in (("float32", x), ("half", x.to(dtype))):
        leaf = inputs.requires_grad_()
        w, b = (weight.clone().requires_grad_() for _ in range(2))
        y = NORMS[name](leaf, w, b)
        assert y.dtype == leaf.dtype
        (y.float() * torch.arange(12.0).reshape(3, 4)).sum().backward()
        leaves[kind] = (leaf.grad, w.grad, b.grad)
    for wide, half in zip(leaves["float32"], leaves["half"], strict=True):
        if wide is not None:
            torch.testing.assert_close(half.float(), wide, rtol=0.1, atol=0.6)
    assert leaves["half"][0].dtype == dtype
    assert leaves["half"][1].dtype == torch.float32


@pytest.mark.parametrize("norm", [functional.layer_norm, functional.rms_norm])
def test_weights_have_the_normalized_shape(norm):
    with pytest.raises(RuntimeError, match="rank 2"):
        norm(torch.ones(2, 4), (4,), weight=torch.ones(2, 4))
