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
from tests.distributed.ranks import failures, run_ranks

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


def tensors_of(values):
    return [x for x in pytree.tree_leaves(values) if isinstance(x, torch.Tensor)]


def wanting_gradients(values):
    """The same values, of whose tensors those that may have gradients want them."""
    for x in tensors_of(values):
        if x.is_floating_point() or x.is_complex():
            x.requires_grad_()
    return values


def gradients(results, operands):
    """The gradients of a sum of results, each element of which has its own weight."""
    total = 0
    for x in results:
        if x.requires_grad:
            x = torch.view_as_real(x) if x.is_complex() else x
            weights = torch.arange(1, x.numel() + 1, dtype=x.dtype).sin()
            total = total + (x * weights.reshape(x.shape)).sum()
    wanted = [x for x in operands if x.requires_grad]
    return torch.autograd.grad(total, wanted, allow_unused=True)


def unlike(got, want):
    """How a value differs from the one expected; empty if it does not."""
    if want is None or got is None:
        nothing = all(x is None or not x.any() for x in (got, want))
        return "" if nothing else f"{got} instead of {want}"
    if want.shape != got.shape or want.dtype != got.dtype:
        types = [f"{x.dtype}{tuple(x.shape)}" for x in (got, want)]
        return " instead of ".join(types)
    if not torch.allclose(got, want, 1e-6, 1e-6, equal_nan=True):
        return f"{got} instead of {want}"
    return ""


def expectation(call, args):
    """What one process gives: results and, where the call has them, gradients; None if
    it raises.
    """
    try:
        operands = wanting_gradients(as_tensors(args))
        results = tensors_of(call(*operands))
        if any(x.requires_grad for x in results):
            return results, gradients(results, tensors_of(operands))
    except Exception:
        pass
    try:
        return tensors_of(call(*as_tensors(args))), None
    except Exception:
        return None


def difference(name, args, draw, mesh, seen):
    """What differs in one call; empty if nothing does. Adds how results are placed."""
    call = _C._op_named(name)
    if (expected := expectation(call, args)) is None:
        return ""
    shards = pytree.tree_map(
        lambda x: distributed(x, draw, mesh) if isinstance(x, torch.Tensor) else x,
        as_tensors(args),
    )
    given = [x.placements for x in tensors_of(shards)]
    if not given:
        return ""
    if expected[1] is not None:
        shards = wanting_gradients(shards)
    try:
        made = call(*shards)
        seen.append((name, [getattr(x, "placements", 0) for x in tensors_of(made)]))
        actual = tensors_of(pytree.tree_map(whole_of, made))
        for want, got in zip(expected[0], actual, strict=True):
            if text := unlike(got, want):
                return f"{given}: {text}"
        if expected[1] is not None:
            found = map(whole_of, gradients(actual, tensors_of(shards)))
            for want, got in zip(expected[1], found, strict=True):
                if text := unlike(got, want):
                    return f"{given}: gradient {text}"
    except Exception as error:
        return f"{given}: {type(error).__name__}: {str(error)[:300]}"
    return ""


# Errors that a call on DTensors has by design.
REFUSED = "require placement changes", "larger than the shard"


def rank_compares(rank, size):
    """Compares the calls that the environment names; what differs fails the rank."""
    warnings.simplefilter("ignore")
    seed, names = int(os.environ["SEED"]), os.environ["NAMES"].split()
    mesh = dist.init_device_mesh("cpu", MESH)
    found, seen = [], []
    for name in names:
        draw = random.Random(f"{name} {seed}")  # alike on all processes
        for args, *_ in samples(name):
            text = difference(name, args, draw, mesh, seen)
            if text and not any(refused in text for refused in REFUSED):
                found.append(f"{name} {text}")
    if not found:
        others = [None] * size
        dist.all_gather_object(others, repr(seen))
        assert others == [repr(seen)] * size, "results are placed differently"
        return
    print("\n".join(found))
    sys.exit(1)


def comparable():
    """The ops whose results are determined by their operands."""
    return [name for name in NAMES if REGISTRY[name].kind != "random"]


PARTS = 37  # of the ops, each compared in one run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", type=int, default=range(PARTS))
    parser.add_argument("--names", nargs="+", default=None)
    given = parser.parse_args()
    parts = [comparable()[part::PARTS] for part in given.parts]
    for names in [given.names] if given.names else parts:
        text = "\n".join(failures(names, lambda names: compare(names, given.seed)))
        print(text or f"{len(names)} ops, from {names[0]}: none differs", flush=True)


def compare(names, seed):
    """Fails if a call of one of the ops differs."""
    from tests.distributed.placements import rank_compares  # not __main__'s

    with tempfile.TemporaryDirectory() as folder:
        environment = {"NAMES": " ".join(names), "SEED": str(seed)}
        run_ranks(rank_compares, 4, Path(folder), **environment)


if __name__ == "__main__":
    main()
