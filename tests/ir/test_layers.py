"""Who may import whom, and what tracing an op imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "pellucid"
MAY_IMPORT = {
    "ir": {"ir"},
    "transforms": {"ir", "transforms"},
    "lang": {"ir", "transforms", "lang"},
    "ops": {"ir", "lang", "ops", "_ops"},  # _ops: torch.ops has the same name
    "compiler": {"ir", "transforms", "compiler"},
}


def imported_layers(path):
    """The folders of the package that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
            if node.module == "pellucid":
                names = [f"pellucid.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            if first == "pellucid":
                yield rest.partition(".")[0]


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_layer_imports_only_what_it_may(layer):
    for path in (SOURCES / layer).rglob("*.py"):
        found = set(imported_layers(path))
        assert found <= MAY_IMPORT[layer], f"{path.name} imports {found}"


TRACE = """
import sys, types
package = types.ModuleType("pellucid")
package.__path__ = [sys.argv[1]]
sys.modules["pellucid"] = package
from pellucid import ops
from pellucid.lang import REGISTRY
from pellucid.lang.key import NumberKey, StaticKey, TensorKey
op = REGISTRY["softmax.int"]
key = (TensorKey("float32", 2), StaticKey(1), StaticKey(None))
traced = op.trace(key, {"self.0": 3, "self.1": 4})
traced.backward([True]).graph
REGISTRY["softplus"].scalar_function(
    (TensorKey("float32", 0), NumberKey("weakint"), NumberKey("weakint"))
)
heavy = {"numpy", "llvmlite", "dataclasses", "inspect"} & set(sys.modules)
assert not heavy, heavy
"""


def test_tracing_and_differentiating_import_nothing_heavy():
    subprocess.run([sys.executable, "-c", TRACE, str(SOURCES)], check=True, timeout=60)
