"""``BlockMask``: counts and indices of blocks, slices, pictures, as in PyTorch."""

import pytest

import pellucid as torch
from pellucid.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    flex_attention,
)


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q >= kv) & (q - kv < 6) & ((q + kv) % 5 != 3)


@pytest.fixture
def mask():
    return create_block_mask(causal, 1, 2, 300, 520)


def test_full_blocks_are_listed_separately(mask):
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1, 3]
    assert mask.kv_indices[0, 0, 1].tolist() == [1, 0, 2, 3, 4]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1, 0]
    assert mask.q_num_blocks[0, 1].tolist() == [2, 2, 1, 0, 0]
    assert mask.q_indices[0, 1, :3].tolist() == [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    assert mask.full_q_num_blocks[0, 1].tolist() == [1, 0, 0, 0, 0]
    assert mask.sparsity() == pytest.approx(36.98461538461538)
    together = create_block_mask(
        causal, None, None, 300, 300, separate_full_blocks=False
    )
    assert together.full_kv_num_blocks is None
    assert together.sparsity() == pytest.approx(-9.2266666)


def test_orders_of_writes_to_gradients():
    orders = {
        descending: create_block_mask(
            near, 1, 1, 12, 16, None, (3, 2), False, True, True, descending
        )
        for descending in (True, False)
    }
    assert orders[True].dq_write_order[0, 0, :4].tolist() == [
        *([1, 2, 4, 3], [0, 1, 3, 3], [0, 2, 3, -1], [1, 2, -1, -1])
    ]
    assert orders[False].dq_write_order[0, 0, :4].tolist() == [
        *([0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 0, 2], [3, 1, 2, 3])
    ]
    assert orders[True].dq_write_order_full[0, 0, 2].tolist() == [-1, 0, 2, 3]


def test_pictures(mask):
    rows = "██        \n████      \n██████    \n"
    assert mask.to_string() == f"(0, 0)\n{rows}\n(0, 1)\n{rows}"
    assert str(mask).startswith("BlockMask(shape=(1, 2, 300, 520), sparsity=36.98%, \n")
    assert mask.to_string(grid_size=(1, 2), limit=1).splitlines()[:4] == [
        *("(0, 0)", "░░  ", "", "...")
    ]
    assert "kv_indices=torch.Size([1, 2, 3, 5])" in repr(mask).replace(
        "pellucid", "torch"
    )
    large = create_block_mask(causal, 1, 1, 8192, 8192).to_string((10, 10))
    assert large.splitlines()[1:3] == ["░░" + " " * 18, "██░░" + " " * 16]


def test_slices_keep_four_dims_and_lose_the_function(mask):
    assert mask[:, 1].shape == mask[0, -1].shape == (1, 1, 300, 520)
    assert mask[5].shape == (0, 2, 300, 520)
    rows = mask[:, :, torch.tensor([0, 2])]
    assert rows.kv_num_blocks.tolist() == [[[1, 3]] * 2]
    assert rows.q_indices.shape == (1, 2, 5, 2)
    with pytest.raises(RuntimeError, match="sliced"):
        rows.mask_mod(0, 0, 0, 0)


def test_masks_of_counts_and_indices(mask):
    parts = mask.kv_num_blocks, mask.kv_indices
    result = BlockMask.from_kv_blocks(*parts, BLOCK_SIZE=(64, 128))
    assert result.seq_lengths == (192, 640)
    assert result.q_num_blocks[0, 0].tolist() == [2, 2, 1, 0, 0]
    assert result.to_dense()[0, 0, 1].tolist() == [0, 1, 0, 0, 0]
    bare = BlockMask.from_kv_blocks(*parts, compute_q_blocks=False)
    assert bare.q_indices is None
    assert len(bare.to("cpu").as_tuple()) == 17
    with pytest.raises(AssertionError, match="full_kv_num_blocks"):
        BlockMask.from_kv_blocks(*parts, mask.kv_num_blocks)
    with pytest.raises(RuntimeError, match="2 dim"):
        BlockMask.from_kv_blocks(parts[0], parts[1][0, 0, 0])


def test_a_mask_is_cropped(mask):
    cropped = mask._adjust(256, 256)
    assert cropped.shape == (1, 2, 256, 256)
    assert cropped.kv_indices[0, 0].tolist() == [[0, 1], [1, 0]]
    assert cropped.sparsity() == 25


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: create_block_mask(3, 1, 1, 2, 2), TypeError, "not a callable"),
        (
            lambda: create_block_mask(lambda q, kv: q > kv, 1, 1, 2, 2),
            *(AssertionError, "takes 2"),
        ),
        (lambda: and_masks(causal, 3), RuntimeError, "callable mask_mods"),
    ],
)
def test_functions_that_are_not_masks(call, error, message):
    with pytest.raises(error, match=message):
        call()


def attend(mask=None, **options):
    return flex_attention(*torch.ones(3, 1, 2, 30, 8), block_mask=mask, **options)


@pytest.mark.parametrize(
    ("lengths", "advice"), [((30, 40), "_adjust"), ((20, 20), "for these lengths")]
)
def test_masks_of_other_lengths(lengths, advice):
    with pytest.raises(ValueError, match=advice):
        attend(create_block_mask(causal, 1, 1, *lengths))


def test_options_that_exclude_each_other():
    with pytest.raises(ValueError, match="return_aux"):
        attend(return_lse=True, return_aux=AuxRequest(lse=True))
    with pytest.raises(AssertionError, match="OUTPUT_LOGSUMEXP"):
        attend(kernel_options={"OUTPUT_LOGSUMEXP": True})
    assert attend(kernel_options={"BLOCK_M": 16}).shape == (1, 2, 30, 8)
