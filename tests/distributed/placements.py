"""Random calls of every op on DTensors beside the same calls on tensors: samples of the
ops, with random placements on a mesh of two dims, partial sums among them.

    python -m tests.distributed.placements --seed 0 --names softmax.int conv2d
"""

import argparse
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy
from tools.op_samples import samples

import pellucid as torch
import pellucid.distributed as dist
from pellucid import _C
from pellucid.distributed.tensor import DTensor, Partial, Replicate, Shard
from pellucid.utils import _pytree as pytree
from pellucid_compiler.declare import REGISTRY
from tests.declarations.refusals import NAMES
from tests.distributed.ranks import run_ranks

MESH = 2, 2


def part_of(whole, placements, mesh):
    """This process's part, without communication: all processes have the whole."""
    for mesh_dim, placement in enumerate(placements):
        place = mesh.get_local_rank(mesh_dim)
        if isinstance(placement, Shard):
            size, first = Shard.local_shard_size_and_offset(
                whole.shape[placement.dim], mesh.size(mesh_dim), place
            )
            whole = whole.narrow(placement.dim, first, size)
        elif isinstance(placement, Partial):
            noise = torch.full_like(whole, 0.5)
            whole = noise if place else whole - noise * (mesh.size(mesh_dim) - 1)
    return whole.contiguous()


def drawn_placements(tensor, draw, mesh):
    kinds = [Replicate()]
    kinds += [Shard(d) for d in range(tensor.dim()) if tensor.shape[d] > 1]
    if tensor.is_floating_point() or tensor.is_complex():
        kinds.append(Partial())
    return [draw.choice(kinds) for _ in range(mesh.ndim)]


def distributed(tensor, draw, mesh):
    placements = drawn_placements(tensor, draw, mesh)
    local = part_of(tensor, placements, mesh)
    strides = tensor.contiguous().stride()
    return DTensor.from_local(
        local, mesh, placements, run_check=False, shape=tensor.shape, stride=strides
    )


def as_tensors(values):
    def convert(x):
        return torch.from_numpy(numpy.ascontiguousarray(x)) if is_array(x) else x

    return pytree.tree_map(convert, values)


def is_array(x):
    return isinstance(x, (numpy.ndarray, numpy.generic))


def whole_of(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def difference(name, args, draw, mesh):
    """What differs in one call; empty if nothing does."""
    call = _C._op_named(name)
    plain = as_tensors(args)
    try:
        expected = call(*plain)
    except Exception:
        return ""
    shards = pytree.tree_map(
        lambda x: distributed(x, draw, mesh) if isinstance(x, torch.Tensor) else x,
        as_tensors(args),
    )
    given = [x.placements for x in pytree.tree_leaves(shards) if isinstance(x, DTensor)]
    if not given:
        return ""
    try:
        actual = pytree.tree_map(whole_of, call(*shards))
    except Exception as error:
        return f"{given}: {type(error).__name__}: {str(error)[:300]}"
    pairs = zip(pytree.tree_leaves(expected), pytree.tree_leaves(actual), strict=True)
    for want, got in pairs:
        if not isinstance(want, torch.Tensor):
            continue
        if want.shape != got.shape or want.dtype != got.dtype:
            types = [f"{x.dtype}{tuple(x.shape)}" for x in (got, want)]
            return f"{given}: {' instead of '.join(types)}"
        if not torch.allclose(got, want, 1e-6, 1e-6, equal_nan=True):
            return f"{given}: {got} instead of {want}"
    return ""


# Errors that a call on DTensors has by design.
REFUSED = "require placement changes", "larger than the shard"


def rank_compares(rank, size):
    """Compares the calls that the environment names; what differs fails the rank."""
    warnings.simplefilter("ignore")
    seed, names = int(os.environ["SEED"]), os.environ["NAMES"].split()
    mesh = dist.init_device_mesh("cpu", MESH)
    found = []
    for name in names:
        draw = random.Random(f"{name} {seed}")  # alike on all processes
        for args, *_ in samples(name):
            text = difference(name, args, draw, mesh)
            if text and not any(refused in text for refused in REFUSED):
                found.append(f"{name} {text}")
                if rank == 0:
                    print(found[-1], flush=True)
    assert not found


def comparable():
    """The ops whose results are determined by their operands."""
    return [name for name in NAMES if REGISTRY[name].kind != "random"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--names", nargs="+", default=None)
    given = parser.parse_args()
    environment = {"SEED": str(given.seed)}
    names = " ".join(given.names or comparable())
    with tempfile.TemporaryDirectory() as folder:
        for text in run_ranks(
            rank_compares, 4, Path(folder), NAMES=names, **environment
        ):
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
