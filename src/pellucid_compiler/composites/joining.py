"""Tensors side by side: blocks along a diagonal."""

from pellucid_compiler.composites import api, composite, require


@composite("block_diag(Tensor[] tensors) -> Tensor", variadic=True, method=False)
def block_diag(tensors):
    """The matrices along the diagonal of one matrix of zeros."""
    blocks = [t.reshape(1, -1) if t.dim() < 2 else t for t in tensors]
    for number, block in enumerate(blocks):
        require(
            block.dim() == 2,
            f"block_diag: tensor {number} has {block.dim()} dimensions; expected 2 or "
            "fewer",
        )
    width = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(api.nn.functional.pad(block, (before, after)))
        before += block.shape[1]
    return api.cat(rows) if rows else api.empty(1, 0)
