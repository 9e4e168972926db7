"""Random training programs, a few of those of programs.py: one of each kind."""

import pytest

from tests.distributed.program_parts import KINDS, drawn
from tests.distributed.programs import rank_compares_programs
from tests.distributed.ranks import run_ranks


@pytest.mark.parametrize("size", [2, 4])
def test_programs_train_as_in_one_process(size, tmp_path):
    first = {drawn(seed, size).kind: seed for seed in range(80, -1, -1)}
    assert set(first) == set(KINDS[size])
    seeds = " ".join(map(str, first.values()))
    run_ranks(rank_compares_programs, size, tmp_path, SEEDS=seeds, FOLDER=str(tmp_path))
