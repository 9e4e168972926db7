"""Operands that several mesh dims shard, and routines whose examples are shared:
values, gradients and collectives beside one process.
"""

import math
import pickle

import pytest

import pellucid as torch
import pellucid.distributed as dist
import pellucid.nn.functional as F
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.tensor import (
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)
from pellucid.distributed.tensor.debug import CommDebugMode
from tests.distributed.placements import PARTS, comparable, rank_compares
from tests.distributed.ranks import run_ranks

R, S = Replicate(), Shard
DOUBLE = torch.float64


def compared(function, operands, placements, mesh):
    """The result on DTensors, after its values and gradients are compared, and how
    often each collective ran.
    """
    plain = [x.clone().requires_grad_(x.is_floating_point()) for x in operands]
    pairs = zip(operands, placements, strict=True)
    parts = [distribute_tensor(x, mesh, placed) for x, placed in pairs]
    parts = [x.detach().requires_grad_(x.is_floating_point()) for x in parts]
    expected = function(*plain)
    with CommDebugMode() as comm:
        actual = function(*parts)
    counts = {str(op).rpartition(".")[2]: n for op, n in comm.get_comm_counts().items()}
    torch.testing.assert_close(actual.full_tensor().detach(), expected.detach())
    if expected.requires_grad:
        (expected**2).sum().backward()
        (actual**2).sum().backward()
        for whole, part in zip(plain, parts, strict=True):
            if whole.requires_grad:
                torch.testing.assert_close(part.grad.full_tensor(), whole.grad)
    return actual, counts


def rank_shares_along_two_dims(rank, size):
    mesh = init_device_mesh("cpu", (2, 2))
    torch.manual_seed(0)
    image = torch.randn(2, 3, 9, 8, dtype=DOUBLE)
    weight, bias = torch.randn(4, 3, 3, 3, dtype=DOUBLE), torch.randn(4, dtype=DOUBLE)

    def conv(x, w, b):
        return F.conv2d(x, w, b, padding=1)

    given = image, weight, bias
    found, counts = compared(conv, given, [[S(2), S(3)], [R, R], [R, R]], mesh)
    assert found.placements == (S(2), S(3)) and counts == {"all_to_all_single": 2}
    found, counts = compared(conv, given, [[S(0), S(3)], [R, R], [R, R]], mesh)
    assert found.placements == (S(0), S(3)) and counts == {"all_to_all_single": 1}
    found, _ = compared(lambda x: F.avg_pool2d(x, 2), [image], [[S(2), S(3)]], mesh)
    assert found.placements == (S(2), S(3))

    rows, labels = torch.randn(6, 8, dtype=DOUBLE), torch.randint(0, 8, (6,))
    for placed in ([S(0), S(1)], [S(1), S(0)]):
        found, counts = compared(lambda x: x.softmax(1), [rows], [placed], mesh)
        assert list(found.placements) == placed and counts == {"all_reduce": 2}
    compared(lambda x: x.softmax(1), [rows], [[S(1), S(1)]], mesh)
    # Processes with one row would gather it, and those with two would not.
    uneven = torch.randn(3, 5, dtype=DOUBLE)
    found, _ = compared(lambda x: x.softmax(1), [uneven], [[S(0), S(1)]], mesh)
    placements = [None] * size
    dist.all_gather_object(placements, found.placements)
    assert placements == [found.placements] * size
    _, counts = compared(
        F.cross_entropy, [rows, labels], [[S(0), S(1)], [S(0), R]], mesh
    )
    assert counts == {"all_reduce": 3}
    found, _ = compared(lambda x: x.var(1), [rows], [[S(1), S(1)]], mesh)
    assert all(isinstance(p, Partial) for p in found.placements)
    compared(lambda x: x.argmax(), [rows], [[S(0), S(1)]], mesh)

    heads = torch.randn(2, 2, 16, 32, dtype=DOUBLE)
    keys = [[S(0), R], [S(0), S(2)], [S(0), S(2)]]
    for causal in (False, True):
        given = heads, heads.flip(2), heads.flip(1)
        expected = F.scaled_dot_product_attention(*given, is_causal=causal)
        parts = [
            distribute_tensor(x, mesh, p) for x, p in zip(given, keys, strict=True)
        ]
        with CommDebugMode() as comm:
            found = F.scaled_dot_product_attention(*parts, is_causal=causal)
        torch.testing.assert_close(found.full_tensor(), expected)
        names = {str(op).rpartition(".")[2] for op in comm.get_comm_counts()}
        assert names == {"all_reduce"}


def rank_shares_examples(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    a = torch.randn(5, 3, 3, dtype=DOUBLE)
    a = a @ a.mT + 3 * torch.eye(3, dtype=DOUBLE)
    b = torch.randn(5, 3, 2, dtype=DOUBLE)
    linalg = torch.linalg
    for function in (
        *(linalg.inv, linalg.cholesky, linalg.matrix_exp, linalg.det, linalg.svdvals),
        *(linalg.eigvalsh, linalg.pinv, torch.matrix_exp, torch.cholesky_inverse),
        lambda x: linalg.qr(x)[1],
        lambda x: linalg.lu(x)[2],
        lambda x: linalg.lu_factor(x)[0],
        lambda x: linalg.eigvals(x).abs(),
        lambda x: linalg.eigvals(x).real,
        lambda x: torch.view_as_complex(torch.view_as_real(linalg.eigvals(x))).abs(),
        lambda x: torch.orgqr(x, x[..., 0]),
    ):
        found, _ = compared(function, [a], [[S(0)]], mesh)
        assert found.placements == (S(0),)
    for function in (
        linalg.solve,
        lambda x, y: linalg.lstsq(x, y).solution,
        lambda x, y: torch.cholesky_solve(y, x),
        lambda x, y: linalg.solve_triangular(x, y, upper=True),
        lambda x, y: linalg.lu_solve(*linalg.lu_factor(x), y),
    ):
        found, _ = compared(function, [a, b], [[S(0)], [S(0)]], mesh)
        assert found.placements == (S(0),)
    singular = a * (torch.arange(5) < 4)[:, None, None]
    with pytest.raises(linalg.LinAlgError, match="Batch element 4"):
        linalg.inv(distribute_tensor(singular, mesh, [S(0)]))


def test_two_mesh_dims_share_windows_rows_and_reductions(tmp_path):
    run_ranks(rank_shares_along_two_dims, 4, tmp_path)


def test_examples_of_routines_stay_split(tmp_path):
    run_ranks(rank_shares_examples, 2, tmp_path)


def test_what_can_be_decomposed_is_a_function_of_ops():
    ops, x = torch.ops.aten, torch.eye(2) * 4
    assert torch.equal(ops.linalg_cholesky.default.decompose(x), torch.eye(2) * 2)
    lower, info = ops.linalg_cholesky_ex.default.decompose(x, upper=True)
    assert torch.equal(lower, torch.eye(2) * 2) and info == 0
    assert ops.add.Tensor.decompose(x, x) is NotImplemented
    with pytest.raises(TypeError, match="linalg_cholesky"):
        ops.linalg_cholesky.default.decompose("x")


# One for each reason why calls differed once, at seed 0.
DIFFERED = [
    "avg_pool1d",  # a part without channels, which the op refuses
    "conv1d",  # groups that two mesh dims shared together, though not each
    "copy",  # an operand that is not read: not the reason for a sum of gradients
    "pellucid::_batch_norm_with_statistics",  # a sum read before it is combined
    "pellucid::_ps_roi_pool",  # a stage that reads no operand, along one of two dims
]


def test_calls_with_random_placements_agree(tmp_path):
    names = dict.fromkeys(DIFFERED)
    for part in range(4):
        names |= dict.fromkeys(comparable()[part::PARTS])
    run_ranks(rank_compares, 4, tmp_path, NAMES=" ".join(names), SEED="0")


def sizes_sent(function):
    """The operands' sizes of each collective that a function calls, and its result."""
    dump = torch._C._distributed_c10d._dump_fr_trace
    before = len(pickle.loads(dump())["entries"])
    made = function()
    entries = pickle.loads(dump())["entries"][before:]
    sizes = [sum(map(math.prod, entry["input_sizes"])) for entry in entries]
    return sizes, made


def rank_attends_to_split_keys(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 2, n, 8, dtype=DOUBLE) for n in (6, 10, 10))
    mask = torch.randn(6, 10, dtype=DOUBLE)
    slope = torch.randn_like(query)
    num_rows = 2 * 2 * 6
    for settings in ({}, {"is_causal": True}, {"attn_mask": mask}):
        plain = [x.clone().requires_grad_() for x in (query, key, value)]
        expected = F.scaled_dot_product_attention(*plain, **settings)
        gradients = torch.autograd.grad(expected, plain, slope)
        operands = zip((query, key, value), (R, S(2), S(2)), strict=True)
        parts = [distribute_tensor(x, mesh, [p]).requires_grad_() for x, p in operands]
        if "attn_mask" in settings:
            settings["attn_mask"] = distribute_tensor(mask, mesh, [S(1)])
        sent, found = sizes_sent(
            lambda parts=parts, settings=settings: F.scaled_dot_product_attention(
                *parts, **settings
            )
        )
        assert set(sent) == {num_rows}  # greatest scores, and sums of weights
        assert found.placements == (Partial(),)
        given = distribute_tensor(slope, mesh, [R])
        sent, actual = sizes_sent(
            lambda found=found, parts=parts, given=given: torch.autograd.grad(
                found, parts, given
            )
        )
        # The gradients of the rows' sums, and the queries', which all keys' add to.
        assert sorted(sent) == [num_rows, query.numel()]
        torch.testing.assert_close(found.full_tensor(), expected)
        assert [x.placements[0] for x in actual] == [R, S(2), S(2)]
        for got, want in zip(actual, gradients, strict=True):
            torch.testing.assert_close(got.full_tensor(), want)


@pytest.mark.parametrize("size", [2, 4])
def test_attention_to_split_keys_sends_a_number_a_row(size, tmp_path):
    run_ranks(rank_attends_to_split_keys, size, tmp_path, TORCH_FR_BUFFER_SIZE="1000")
