"""The main namespaces show PyTorch's names, and beside them only the package's own
modules; ``torch.ops.aten`` shows PyTorch's ops.
"""

import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from tests.structure.test_names import OF_PYTORCH, OWN

import pellucid as torch
from pellucid.fx.experimental.proxy_tensor import make_fx

# What is not PyTorch's name, with the reason.
OTHERS = {
    "torch": {
        **OWN,
        **dict.fromkeys(OF_PYTORCH, "PyTorch shows it once it is imported"),
        "roofline": "the package's own, of diagnose",
    },
    "torch.Tensor": dict.fromkeys(
        ("lengths", "offsets"), "of nested tensors, which have no class of their own"
    ),
}
# Pellucid's own names with an underscore: the rooms of the package, what properties of
# tensors share. May only fall.
MOST_PRIVATE = {"torch": 2, "torch.Tensor": 1, "torch.nn.functional": 0}
# Overloads of ``torch.ops.aten`` that PyTorch does not have, with the reason.
OTHER_OVERLOADS = dict.fromkeys(
    (
        *("divide.Scalar_out", "divide.Scalar_mode_out", "multiply.Scalar_out"),
        *("native_channel_shuffle.out", "subtract.Scalar_out"),
        "true_divide.Scalar_out",
    ),
    "an alias has all forms of the op that it names",
)
# In a process of its own: imports and renamed backends add names.
SHOWN = """
import json, sys
import pellucid as torch
from pellucid import fft, linalg, nn, special
spaces = {title: eval(title) for title in sys.argv[1:]}
print(json.dumps({title: dir(space) for title, space in spaces.items()}))
"""


def recorded():
    """PyTorch's names by namespace (tools/record_names.py)."""
    actual = {}
    for line in (Path(__file__).with_name("names.txt")).read_text().splitlines():
        if line.startswith("torch"):
            names = actual[line.removesuffix(":")] = set()
        else:
            names |= set(line.split())
    return actual


NAMES = recorded()


@pytest.fixture(scope="module")
def shown():
    command = [sys.executable, "-c", SHOWN, *NAMES]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@pytest.mark.parametrize("space", NAMES)
def test_a_namespace_shows_names_of_pytorch(space, shown):
    names = {name for name in shown[space] if not name.startswith("_")}
    public = {name for name in NAMES[space] if not name.startswith("_")}
    assert names - NAMES[space] - OTHERS.get(space, {}).keys() == set()
    assert len(names & NAMES[space]) > 0.8 * len(public)


@pytest.mark.parametrize("space", MOST_PRIVATE)
def test_private_names_are_pytorchs_but_for_a_few(space, shown):
    names = {n for n in shown[space] if n[0] == "_" != n[1]} - NAMES[space]
    names -= OF_PYTORCH  # PyTorch shows these once they are imported
    assert len(names) == MOST_PRIVATE[space], sorted(names)


def ops_of_pytorch():
    """The overloads of PyTorch's aten, as ``add.Tensor`` (tools/record_names.py)."""
    lines = Path(__file__).with_name("aten.txt").read_text().splitlines()
    return {
        f"{name}.{overload}".removesuffix(".default")
        for name, *overloads in map(str.split, lines)
        for overload in overloads
    }


def test_aten_has_pytorchs_ops_alone():
    named = (entry[0].partition("::") for entry in torch._C._list_ops())
    own = {name for space, _, name in named if space == "aten"}
    assert own - ops_of_pytorch() == OTHER_OVERLOADS.keys()


def test_an_op_of_our_own_is_seen_in_its_namespace():
    function = torch._C._pellucid._linalg_pinv
    traced = make_fx(function)(torch.eye(2), torch.tensor(1e-6), False)
    op = torch.ops.pellucid._linalg_pinv.default
    assert op in [node.target for node in traced.graph.nodes]
    assert str(op) == "pellucid._linalg_pinv.default"
    assert pickle.loads(pickle.dumps(op)) is op
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__doc__.startswith("pellucid::_linalg_pinv(Tensor A")


OF_OPS = (
    *("_C._nn", "_C._nn_functional", "_C._pellucid"),
    *("", "nn.functional", "linalg", "fft", "special", "nn"),
)


@pytest.mark.parametrize("name", OF_OPS)
def test_python_can_cache_the_functions_of_a_module_of_ops(name):
    # It caches no attribute of a module that has a __getattr__.
    module = importlib.import_module(f"pellucid.{name}".removesuffix("."))
    assert "__getattr__" not in vars(module)
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = module.absent


def test_functions_of_our_own_ops_are_no_methods():
    own = [entry for entry in torch._C._list_ops() if entry[0].startswith("pellucid::")]
    assert len(own) > 40
    assert not [name for name, _, is_method, *_ in own if is_method]


def test_functional_is_a_module_without_parts(shown):
    assert "__path__" not in shown["torch.nn.functional"]


def test_foreach_functions_are_pytorchs(shown):
    def of_lists(names):
        return {name for name in names if name.startswith("_foreach_")}

    assert of_lists(shown["torch"]) == of_lists(NAMES["torch"])


@pytest.mark.parametrize("space", OTHERS)
def test_other_names_are_not_pytorchs(space):
    assert NAMES[space] & OTHERS[space].keys() <= OF_PYTORCH
