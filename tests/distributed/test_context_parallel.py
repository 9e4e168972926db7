"""Attention over a distributed sequence, against the whole sequence in one process."""

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor.experimental import _ring, context_parallel
from pellucid.distributed.tensor.experimental._attention import (
    _cp_options,
    context_parallel_unshard,
    set_rotate_method,
)
from pellucid.nn import functional as F
from tests.distributed.ranks import run_ranks


def operands(heads, groups, dtype=torch.float32, length=24):
    torch.manual_seed(2)
    q, grad = (torch.randn(2, heads, length, 8).to(dtype) for _ in range(2))
    k = torch.randn(2, groups, length, 8).to(dtype)
    return q, k, torch.randn(2, groups, length, 4).to(dtype), grad[..., :4]


def attend(q, k, v, grad, **options):
    """The result and the gradients."""
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    result = F.scaled_dot_product_attention(q, k, v, **options)
    result.backward(grad)
    return [result.detach(), q.grad, k.grad, v.grad]


def check(mesh, arguments, atol=1e-5, **options):
    whole = attend(*arguments, **options)
    parts = [x.clone() for x in arguments]
    with context_parallel(mesh, buffers=parts, buffer_seq_dims=[2] * 4):
        assert parts[0].shape[2] * mesh.size() == arguments[0].shape[2]
        actual = attend(*parts, **options)
    assert all(map(torch.equal, parts, arguments))
    assert actual[0].dtype == arguments[0].dtype
    for part, expected in zip(
        context_parallel_unshard(mesh, actual, [2] * 4), whole, strict=True
    ):
        torch.testing.assert_close(part, expected, atol=atol, rtol=atol)


def rank_attends(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    for method in ("allgather", "alltoall"):
        set_rotate_method(method)
        for balances in (False, True):
            _cp_options.enable_load_balance = balances
            for is_causal in (True, False):
                check(mesh, operands(3, 3), is_causal=is_causal)
                check(mesh, operands(4, 2), is_causal=is_causal, enable_gqa=True)
            half = operands(2, 2, torch.bfloat16)
            check(mesh, half, 3e-2, is_causal=True, scale=0.3)
    _ring._TILE_ELEMENTS = 64  # several tiles per chunk
    check(mesh, operands(2, 1, length=80 * size), is_causal=True, enable_gqa=True)
    refuses(mesh)


def refuses(mesh):
    q, k, v, _ = operands(2, 2)
    with pytest.raises(ValueError, match="1 buffers and 0 dims"):
        context_parallel(mesh, buffers=[q]).__enter__()
    with pytest.raises(ValueError, match="must be a subset"):
        context_parallel(mesh, no_restore_buffers=[q]).__enter__()
    with pytest.raises(ValueError, match="a sequence of 2 does not divide"):
        context_parallel(mesh, buffers=[q], buffer_seq_dims=[0]).__enter__()
    with context_parallel(
        mesh, buffers=[q], buffer_seq_dims=[2], no_restore_buffers={q}
    ):
        for arguments, options, message in (
            ((q, k, v), {"dropout_p": 0.1}, "no dropout_p"),
            ((q[0], k[0], v[0]), {}, "not of 3 dims"),
            ((q, k, v), {"is_causal": True}, "the same query and context"),
        ):
            with pytest.raises(NotImplementedError, match=message):
                F.scaled_dot_product_attention(*arguments, **options)
        with pytest.raises(ValueError, match="need enable_gqa"):
            F.scaled_dot_product_attention(q, k[:, :1], v[:, :1])
    assert q.shape[2] == k.shape[2] // mesh.size()
    with pytest.raises(NotImplementedError, match="using broadcast for kv"):
        set_rotate_method("broadcast")
    dist.barrier()


def test_parts_attend_to_the_whole_sequence(tmp_path):
    assert len(run_ranks(rank_attends, 3, tmp_path)) == 3


def test_at_most_a_tile_of_scores_is_stored(monkeypatch):
    monkeypatch.setattr(_ring, "_TILE_ELEMENTS", 1 << 12)
    sizes = []
    scores = _ring._Tile._scores
    monkeypatch.setattr(
        _ring._Tile,
        "_scores",
        lambda tile, queries: (
            sizes.append(scores(tile, queries).numel()) or scores(tile, queries)
        ),
    )
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        check(init_device_mesh("cpu", (1,)), operands(2, 2, length=128), is_causal=True)
    finally:
        dist.destroy_process_group()
    assert 1 << 10 <= max(sizes) <= 1 << 12
