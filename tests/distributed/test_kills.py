"""Ranks killed at random moments; ``kills.py`` says what is checked."""

import pytest

from tests.distributed.kills import kill_one
from tests.distributed.ranks import has_gloo


@pytest.mark.parametrize("seed", [1000, 1002, 1003, 1005, 1086, 1097])
def test_survivors_learn_who_was_killed_and_nothing_stays(seed, tmp_path):
    kill_one(seed, tmp_path)


@pytest.mark.skipif(not has_gloo(), reason="no system Gloo: libgloo-dev")
@pytest.mark.parametrize("seed", [1000, 1001])
def test_so_they_do_over_gloo(seed, tmp_path):
    kill_one(seed, tmp_path, ["gloo"])
