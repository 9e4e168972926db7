"""What DTensors send, functions of local parts, shardings of custom ops, meshes."""

import io
import json
import os
from contextlib import redirect_stdout

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed import _functional_collectives as funcol
from pellucid.distributed.device_mesh import DeviceMesh, init_device_mesh
from pellucid.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from pellucid.distributed.tensor.debug import CommDebugMode, visualize_sharding
from pellucid.distributed.tensor.experimental import local_map, register_sharding
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from tests.distributed.ranks import run_ranks


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.second(self.first(x).relu())


def rank_counts(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    plan = {"first": ColwiseParallel(), "second": RowwiseParallel()}
    net = parallelize_module(Net(), mesh, plan)
    with CommDebugMode() as mode:
        net(torch.ones(3, 4)).sum().backward()
    functional = torch.ops.c10d_functional
    assert mode.get_comm_counts() == {functional.all_reduce: 1}
    assert mode.get_sharding_info()["Net.second.weight"] == (Shard(1),)
    lines = mode.generate_comm_debug_tracing_table(noise_level=0).splitlines()
    assert lines[:3] == [
        *("Global", "  FORWARD PASS", "    *c10d_functional.all_reduce: 1"),
    ]
    assert "**aten.addmm.default" in mode.generate_comm_debug_tracing_table()
    x = distribute_tensor(torch.arange(16.0).view(4, 4), mesh, [Shard(0)])
    with CommDebugMode() as mode:
        x.redistribute(mesh, [Shard(1)])
        x.sum().full_tensor()
        dist.barrier()
    counts = mode.get_comm_counts()
    assert counts[functional.all_to_all_single] == counts[functional.all_reduce] == 1
    assert counts["barrier"] == 1 and mode.get_total_counts() == 3
    with CommDebugMode() as mode:
        x.redistribute(mesh, [Replicate()]).sum()
    assert mode.get_comm_counts() == {functional.all_gather_into_tensor: 1}


def rank_writes(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    plan = {"first": ColwiseParallel(), "second": RowwiseParallel()}
    net = parallelize_module(Net(), mesh, plan)
    with CommDebugMode() as mode:
        net(torch.ones(3, 4))
    path = f"{os.environ['FOLDER']}/{rank}.json"
    mode.generate_json_dump(path)
    with open(path) as file:
        node = json.load(file)
    (root,) = node["children"]
    assert [child["fqn"] for child in root["children"]] == ["Net.first", "Net.second"]
    assert root["children"][0]["operations_forward"]


def rank_shows(rank, size):
    mesh = init_device_mesh("cpu", (2, 2))
    text = io.StringIO()
    with redirect_stdout(text):
        for placements in ([Shard(0), Shard(1)], [Shard(1), Replicate()]):
            x = distribute_tensor(torch.ones(5, 4), mesh, placements)
            visualize_sharding(x, header="x")
    expected = """x
         Col 0-1  Col 2-3
-------  -------  -------
Row 0-2  cpu:0    cpu:1
Row 3-4  cpu:2    cpu:3
x
         Col 0-1       Col 2-3
-------  ------------  ------------
Row 0-4  cpu:0, cpu:1  cpu:2, cpu:3
"""
    assert text.getvalue() == ("" if rank else expected)


def rank_maps(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    a, b = torch.arange(8.0).view(2, 4), torch.arange(8.0).view(4, 2)
    left = distribute_tensor(a, mesh, [Shard(1)]).requires_grad_()
    right = distribute_tensor(b, mesh, [Shard(0)])
    inner = ([Shard(1)], [Shard(0)])
    product = local_map(torch.mm, [Partial()], inner, device_mesh=mesh)(left, right)
    assert product.placements == (Partial(),)
    assert torch.equal(product.full_tensor(), a @ b)
    product.full_tensor().sum().backward()
    assert torch.equal(left.grad.full_tensor(), torch.ones(2, 2) @ b.t())
    by_rows = ([Shard(0)], [Replicate()])
    with pytest.raises(ValueError, match="redistribute_inputs=True"):
        local_map(torch.mm, [Shard(0)], by_rows, device_mesh=mesh)(left, right)
    options = {"device_mesh": mesh, "redistribute_inputs": True}
    product = local_map(torch.mm, [Shard(0)], by_rows, **options)(left, right)
    assert product.placements == (Shard(0),)

    @local_map(out_placements=([Shard(0)], None), in_placements=([Shard(0)], None))
    def scaled(x, n):
        return x * n, n + 1

    x = distribute_tensor(a, mesh, [Shard(0)])
    result, number = scaled(x, 3)
    assert torch.equal(result.full_tensor(), a * 3) and number == 4
    with pytest.raises(AssertionError, match="received 1 out_placements but 2"):
        local_map(lambda x: (x, x), [Shard(0)], device_mesh=mesh)(x)


@torch.library.custom_op("test_debug::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


@scaled.register_fake
def _(x, by):
    return torch.empty_like(x)


@register_sharding(torch.ops.test_debug.scaled.default)
def scaled_sharding(x, by):
    splits = [([Shard(dim)], [Shard(dim), None]) for dim in range(x.ndim)]
    assert x.shape == (4, 4) and x.tensor_meta.dtype is torch.float32
    return [([Replicate()], [Replicate(), None]), *splits]


def rank_registers(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(16.0).view(4, 4)
    for placements in ([Shard(0)], [Shard(1)], [Replicate()]):
        x = distribute_tensor(whole, mesh, placements)
        with CommDebugMode() as mode:
            result = torch.ops.test_debug.scaled(x, 2.0)
        assert mode.get_total_counts() == 0
        assert result.placements == tuple(placements)
        assert torch.equal(result.full_tensor(), whole * 2)


def rank_calls_functions(rank, size):
    group, mesh = dist.group.WORLD, init_device_mesh("cpu", (size,))
    x = torch.arange(4.0).view(2, 2) + rank
    total = 2 * torch.arange(4.0).view(2, 2) + 1
    for place in (group, mesh, (mesh, 0), [0, 1], group.group_name):
        assert torch.equal(funcol.all_reduce(x, "sum", place), total)
    both = [torch.arange(4.0).view(2, 2) + r for r in range(2)]
    for dim in (0, 1):
        whole = funcol.all_gather_tensor(x, dim, group)
        assert torch.equal(whole, torch.cat(both, dim))
        part = funcol.reduce_scatter_tensor(x, "avg", dim, group)
        assert torch.equal(part, total.chunk(2, dim)[rank] / 2)
    with pytest.raises(RuntimeError, match=r"a group is a ProcessGroup .*, not int"):
        funcol.all_reduce(x, "sum", 3)
    assert torch.equal(funcol.broadcast(x, 1, group), both[1])
    assert torch.equal(funcol.permute_tensor(x, [1, 0], group), both[1 - rank])
    rows = funcol.all_to_all_single(x, None, None, group)
    assert torch.equal(rows, torch.stack([both[r][rank] for r in range(2)]))
    assert torch.equal(
        torch.ops.c10d_functional.all_reduce(x, "max", "", [0, 1], 2), both[1]
    )
    # The derivative of each is another.
    leaf = x.clone().requires_grad_()
    weights = torch.arange(8.0).view(2, 4) * (rank + 1)
    (funcol.all_gather_tensor(leaf, 1, group) * weights).sum().backward()
    expected = 3 * torch.arange(8.0).view(2, 4).chunk(2, 1)[rank]
    assert torch.equal(leaf.grad, expected)
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(
        funcol.all_reduce(leaf, "sum", group).square().sum(), leaf, create_graph=True
    )
    assert torch.equal(gradient, 2 * 2 * total)
    gradient.sum().backward()
    assert torch.equal(leaf.grad, torch.full((2, 2), 8.0))
    with pytest.raises(RuntimeError, match="'max' have no gradient"):
        funcol.all_reduce(leaf, "max", group).sum().backward()
    for dim in (2, -3):
        with pytest.raises(IndexError, match=rf"\[-2, 1\], but got {dim}"):
            funcol.all_gather_tensor(x, dim, group)
        with pytest.raises(IndexError, match=rf"\[-2, 1\], but got {dim}"):
            funcol.reduce_scatter_tensor(x, "sum", dim, group)
    scalar, functional = torch.tensor(1.0), torch.ops._c10d_functional
    for call in (
        lambda: funcol.all_gather_tensor(scalar, 0, group),
        lambda: funcol.reduce_scatter_tensor(scalar, "sum", 0, group),
        lambda: funcol.all_to_all_single(scalar, None, None, group),
        lambda: functional.all_gather_into_tensor(scalar, size, group.group_name),
    ):
        with pytest.raises(IndexError, match=r"0-dimensional|one dim, not 0"):
            call()
    with pytest.raises(ValueError, match="no group with the tag 'mine'"):
        funcol.all_gather_into_tensor_coalesced([x], [0, 1], "mine")
    with pytest.raises(ValueError, match="no group with the tag 'mine'"):
        torch.ops.c10d_functional.all_reduce(x, "max", "mine", [0, 1], 2)
    assert functional.wait_tensor(x) is x
    every_other = x[:, ::2]
    waited = torch.compile(lambda x: functional.wait_tensor(x) * 2)(every_other)
    assert torch.equal(waited, every_other * 2)


def rank_makes_meshes(rank, size):
    mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("dp", "cp", "tp"))
    flat = mesh["dp", "cp"]._flatten("dp_cp")
    assert repr(flat) == "DeviceMesh((dp_cp=2), 'cpu', stride=(2,))"
    assert flat.get_local_rank() == rank // 2 and mesh["dp_cp"] == flat
    assert mesh["dp_cp", "tp"].shape == (2, 2)
    total = funcol.all_reduce(torch.tensor(rank), "sum", (mesh["dp_cp", "tp"], 0))
    assert total == 2 + 2 * (rank % 2)
    whole = mesh._flatten()
    assert whole.mesh_dim_names == ("dp_cp_tp",)
    again = whole._unflatten(0, (2, 2), ("a", "b"))
    assert again["b"].mesh.tolist() == [rank - rank % 2, rank - rank % 2 + 1]
    inner = mesh["tp"]._unflatten("tp", (1, 2), ("x", "y"))
    assert inner.mesh_dim_names == ("x", "y") and inner.shape == (1, 2)
    joined = DeviceMesh._concatenate([mesh["dp"], mesh["tp"]])
    assert joined.mesh.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="ascending"):
        mesh["tp", "dp"]
    with pytest.raises(KeyError, match="Valid mesh_dim_names are"):
        mesh["none"]
    groups = [mesh.get_group("dp"), mesh.get_group("tp")]
    made = DeviceMesh.from_group(groups, "cpu", torch.arange(4).view(2, 2))
    assert made.get_group(1) is groups[1]


PAIRS = [rank_counts, rank_writes, rank_maps, rank_registers, rank_calls_functions]


@pytest.mark.parametrize(
    ("functions", "size"), [(PAIRS, 2), ([rank_shows, rank_makes_meshes], 4)]
)
def test_on_ranks(functions, size, tmp_path):
    run_ranks(functions, size, tmp_path, FOLDER=str(tmp_path))
