"""Separate processes: numbers of threads, and kernels that several request first."""

import os
import subprocess
import sys
import textwrap

import pytest

# No pack has this kernel, and the call is large enough to be split across threads.
LARGE = """
    import pellucid as torch

    torch.set_num_threads(2)
    x = torch.arange(4.0 * 4**8).reshape(4, 4, 4, 4, 4, 4, 4, 4, 4)
    index = torch.zeros(x.shape, dtype=torch.int64)
    print(torch.equal(x.gather(3, index), x[:, :, :, :1].expand_as(x)))
"""


def run(script, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
        check=True,
    ).stdout.strip()


def test_kernels_are_compiled_before_work_is_shared(tmp_path):
    assert run(LARGE, PELLUCID_CACHE=str(tmp_path)) == "True"


@pytest.mark.parametrize(
    ("given", "threads"),
    [("1", "1"), ("3", "3"), ("2,4", "2"), ("3x", None), ("0", None)],
)
def test_openmp_s_variable_gives_the_number_of_threads(given, threads):
    script = "import pellucid; print(pellucid.get_num_threads())"
    expected = threads or str(len(os.sched_getaffinity(0)))
    assert run(script, OMP_NUM_THREADS=given) == expected
