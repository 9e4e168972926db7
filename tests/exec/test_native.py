"""Every op of the registry on the runtime gives what the interpreter gives."""

import pytest
from tools.op_samples import calls

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare.op import REGISTRY
from tests.exec.support import CHOSEN, assert_same, native_arguments, run_native

TOLERANCE = {"float64": 1e-12, "float32": 2e-5}
NAMES = [n for n, op in REGISTRY.items() if op.kind not in ("random", "foreach")]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", NAMES)
def test_op_gives_what_the_interpreter_gives(name, dtype):
    for call, _, _, outputs in calls(name, dtype):
        results = run_native(name, native_arguments(REGISTRY[name], call))
        decided = [k for k in range(len(outputs)) if k not in CHOSEN.get(name, ())]
        actual, expected = [[of[k] for k in decided] for of in (results, outputs)]
        assert_same(actual, expected, TOLERANCE[dtype])
