"""Means of parameters over groups of several sizes."""

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed.algorithms.model_averaging import hierarchical_model_averager
from pellucid.distributed.algorithms.model_averaging import utils as averaging
from tests.distributed.ranks import run_ranks

Averager = hierarchical_model_averager.HierarchicalModelAverager


def rank_averages(rank, size):
    parameter = torch.nn.Parameter(torch.tensor([float(rank)]))
    parameter.grad = torch.zeros(1)
    averager = Averager({1: 2, 2: 4}, warmup_steps=1)
    seen = []
    for _ in range(3):
        averager.average_parameters([{"params": [parameter]}])
        seen.append(parameter.item())
        parameter.data.fill_(float(rank))
    # None in the first step, then of all ranks, then of pairs.
    assert seen == [rank, 1.5, 0.5 if rank < 2 else 2.5]
    frozen = torch.nn.Parameter(torch.tensor([float(rank)]))
    assert averaging.get_params_to_average([parameter, frozen])[0] is parameter
    averaging.average_parameters_or_parameter_groups([frozen], dist.group.WORLD)
    assert frozen.item() == rank
    for sizes in ({}, {2: 2, 1: 4}, {1: 2, 2: 2}, {1: 2}):
        with pytest.raises(ValueError, match=r"must|increase"):
            Averager(sizes)


def test_large_groups_average_seldom(tmp_path):
    run_ranks(rank_averages, 4, tmp_path)
