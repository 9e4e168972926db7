"""The rule of tests/conftest.py: a test that has checked nothing fails."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SETTINGS = "[pytest]\nenable_assertion_pass_hook = true\n"


def outcomes(folder, text, *options):
    """Name to "PASSED" or "FAILED" of the tests in a module."""
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "test_given.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if "::" in line]
    return {
        line[0].split("::")[1]: line[1]
        for line in lines
        if line[-1] != "FAILED" and len(line) > 1 and line[1] in ("PASSED", "FAILED")
    }


BODIES = [
    ("assert True", "PASSED"),
    ("np.testing.assert_array_equal([1], [1])", "PASSED"),
    ("with pytest.raises(KeyError): {}[1]", "PASSED"),
    ("torch.testing.assert_close(torch.ones(2), torch.ones(2))", "PASSED"),
    ("for x in (): assert x", "FAILED"),
    ("torch.testing.assert_close([], [])", "FAILED"),
    ("torch.ones(2)", "FAILED"),
]


def test_a_test_without_a_check_fails(tmp_path):
    text = "import numpy as np, pytest\nimport pellucid as torch\n"
    expected = {}
    for number, (body, outcome) in enumerate(BODIES):
        text += f"def test_{number}():\n {body}\n"
        expected[f"test_{number}"] = outcome
    assert outcomes(tmp_path, text) == expected


def test_one_that_need_only_complete_is_marked(tmp_path):
    text = """
        import pytest
        @pytest.mark.completes
        def test_it():
            pass
    """
    assert outcomes(tmp_path, text) == {"test_it": "PASSED"}


def test_a_sample_has_some_cases_of_every_test(tmp_path):
    text = """
        import pytest
        @pytest.mark.parametrize("x", range(5))
        def test_many(x):
            assert x % 2 == 0
        def test_one():
            assert True
    """
    actual = outcomes(tmp_path, text, "--sample", "2")
    assert set(actual) == {"test_many[0]", "test_many[2]", "test_many[4]", "test_one"}
