"""``torch.indices_copy`` and its like: the parts of sparse tensors, copied."""

import pytest

import pellucid as torch

DENSE = torch.tensor([[0.0, 2.0], [3.0, 0.0]])


@pytest.mark.parametrize(
    ("sparse", "names"),
    [
        (DENSE.to_sparse().coalesce(), ["indices", "values"]),
        (DENSE.to_sparse_csr(), ["crow_indices", "col_indices", "values"]),
        (DENSE.to_sparse_csc(), ["ccol_indices", "row_indices", "values"]),
    ],
)
def test_parts_are_copied(sparse, names):
    for name in names:
        part = getattr(sparse, name)()
        copied = getattr(torch, f"{name}_copy")(sparse)
        assert torch.equal(part, copied) and part.data_ptr() != copied.data_ptr()
        out = torch.empty(0, dtype=part.dtype)
        getattr(torch, f"{name}_copy")(sparse, out=out)
        assert torch.equal(part, out)
        with pytest.raises(RuntimeError, match="layout but got Strided"):
            getattr(torch, f"{name}_copy")(DENSE)
