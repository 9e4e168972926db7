"""Random programs of modules, optimizers and state agree with eager (everyday.py)."""

import pytest

from tests.compile.everyday import differences

pytestmark = [
    pytest.mark.usefixtures("untraced"),
    pytest.mark.filterwarnings("ignore:.*lr_scheduler.*"),
    pytest.mark.filterwarnings("ignore:scheduler.step"),
]


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_programs_agree(first):
    replayed = 0
    for seed in range(first, first + 10):
        wrong, runs = differences(seed)
        assert not wrong, (seed, wrong)
        replayed += runs
    assert replayed > 5
