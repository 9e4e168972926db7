"""The guide to scalar ops, applied to a copy of the engine, adds one that works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "add-a-scalar-op.md").read_text()
# The file of a step, and its code.
STEP = re.compile(
    r"\(`((?:src|tests)/[\w/]+\.py)`\)(?:(?!```).)*?^```py\n(.*?)^```$", re.M | re.S
)
# The text before which the code of a step is inserted, if not at the end.
BEFORE = {
    "src/pellucid_compiler/codegen/lowerings.py": "def _lowering(",
    "tests/declarations/exact.py": '    "add": ',
}
COMMAND = re.compile(r"`python (tools/show_op\.py positive_difference [^`]*)`")
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.M | re.S)
CHECKED = [
    "tests/compiler/test_map.py::"
    "test_the_compiler_lowers_exactly_the_scalar_ops_of_the_ir",
    "tests/declarations/test_error_bounds.py",
    "tests/declarations/test_elements.py",
]
KERNEL = """
import numpy as np
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.ir.expr import load, make
from tests.compiler.support import RUNNABLE, run_map

a = np.array([[3.0, 1.0, np.nan, 2.0, -1.0] * 9], "float32")
b = np.array([[1.0, 3.0, 1.0, 2.0, -4.0] * 9], "float32")
kernel = Kernel(
    Map((make("fdim", load(0, (), "float32"), load(1, (), "float32")),)),
    ("float32", "float32"),
    ("float32",),
)
for target in RUNNABLE:
    (got,) = run_map(kernel, a, b, target=target)
    np.testing.assert_array_equal(got, np.where(a <= b, 0, a - b))
print(len(RUNNABLE))
"""


def steps():
    """{file: code}, in the order of the guide."""
    return dict(STEP.findall(GUIDE))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the engine and of its tests in which the guide was followed."""
    copy = tmp_path_factory.mktemp("engine")
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("src/pellucid_compiler", "tools", "tests/compiler"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    shutil.copytree(
        ROOT / "tests/declarations", copy / "tests/declarations", ignore=ignored
    )
    for name in ("tests/__init__.py", "tests/conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    for name, code in steps().items():
        path = copy / name
        text = path.read_text() if path.exists() else ""
        if name in BEFORE:
            assert text.count(BEFORE[name]) == 1
            path.write_text(text.replace(BEFORE[name], f"{code}\n{BEFORE[name]}"))
        else:
            path.write_text(f"{text}\n{code}")
    return copy


def run(tree, *command):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), "."])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_guide_names_four_files():
    assert [Path(name).name for name in steps()] == [
        "scalar_ops.py",
        "lowerings.py",
        "exact.py",
        "arithmetic.py",
    ]


def test_the_command_shows_the_derivative(tree):
    (command,) = COMMAND.findall(GUIDE)
    (shown,) = OUTPUT.findall(GUIDE)
    printed = (line.strip() for line in run(tree, *shlex.split(command)).splitlines())
    assert shown in "".join(f"{line}\n" for line in printed)


def test_the_kernel_computes_what_the_row_means(tree):
    assert int(run(tree, "-c", KERNEL)) > 0


def test_the_tests_of_the_guide_pass(tree):
    chosen = ["-k", "positive_difference or exactly_the_scalar_ops"]
    plain = ["-p", "no:cacheprovider", "-n", "0", "-rN"]
    printed = run(tree, "-m", "pytest", "-vv", *plain, *chosen, *CHECKED)
    assert printed.count("PASSED") >= len(CHECKED)
