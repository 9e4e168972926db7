"""Which folder of the engine may import which, and what tracing an op imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "src" / "pellucid_compiler"
# Every folder; what it may import of the project beside itself.
MAY_IMPORT = {
    "abi": set(),
    "ir": set(),
    "transforms": {"ir"},
    "passes": {"ir"},
    "composites": set(),
    "declare": {"ir", "transforms", "passes", "composites"},
    "catalogue": {"ir", "declare"},
    "codegen": {"abi", "ir"},
    "pack": {"abi", "ir", "codegen"},
    "lower": {"abi", "ir", "passes", "codegen"},
    "specialise": {
        *("abi", "ir", "transforms", "passes", "declare", "codegen", "lower"),
    },
}


def imported_names(path):
    """Full names of what a module imports of the project."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (n for n in names if n.split(".")[0].startswith("pellucid"))


def test_every_folder_has_a_rule():
    folders = {p.name for p in ENGINE.iterdir() if p.is_dir()} - {"__pycache__"}
    assert folders == set(MAY_IMPORT)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folder_imports_only_what_it_may(folder):
    allowed = {f"pellucid_compiler.{name}" for name in (folder, *MAY_IMPORT[folder])}
    for path in (ENGINE / folder).rglob("*.py"):
        for name in imported_names(path):
            layer = ".".join(name.split(".")[:2])
            assert layer in allowed, f"{path.name} imports {name}"


TRACE = """
import sys
sys.path.insert(0, sys.argv[1])
from pellucid_compiler import catalogue
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import NumberKey, StaticKey, TensorKey
op = REGISTRY["softmax.int"]
key = (TensorKey("float32", 2), StaticKey(1), StaticKey(None))
traced = op.trace(key, {"self.0": 3, "self.1": 4})
traced.backward([True]).graph
REGISTRY["softplus"].scalar_function(
    (TensorKey("float32", 0), NumberKey("weakint"), NumberKey("weakint"))
)
heavy = {"numpy", "llvmlite", "dataclasses", "inspect", "pellucid"} & set(sys.modules)
assert not heavy, heavy
"""


def test_tracing_and_differentiating_import_nothing_heavy():
    command = [sys.executable, "-c", TRACE, str(ENGINE.parent)]
    subprocess.run(command, check=True, timeout=60)
