"""Submodules and functions that are imported when first used: they are what an import
statement gives, and stand in the package's own dict.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import pellucid as torch
from pellucid._package import homes

IDENTITY = """
import sys
import pellucid as torch
assert not {"pellucid.nn", "pellucid.optim", "pellucid.random"} & set(sys.modules)
from pellucid import nn
early = nn
import pellucid.nn.functional as functional
import pellucid.nn
assert early is nn is torch.nn is pellucid.nn is sys.modules["pellucid.nn"]
assert type(nn) is type(sys) and functional is nn.functional
torch.manual_seed(0)
assert torch.manual_seed is sys.modules["pellucid.random"].manual_seed
assert torch.optim.SGD.__module__.startswith("pellucid.optim")
assert "add" in str(torch.explain(torch.add, torch.ones(2), torch.ones(2)))
assert "DataLoader" in dir(torch.utils.data) and "jit" in dir(torch)
"""

THREADS = """
import threading
import pellucid as torch
found = []
start = threading.Barrier(8)
def ask():
    start.wait()
    found.append(torch.optim.Adam)
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 8 and len(set(found)) == 1
"""


@pytest.mark.parametrize("program", [IDENTITY, THREADS])
def test_modules_are_those_that_imports_give(program: str) -> None:
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_values_replace_functions_and_classes() -> None:
    assert list(inspect.signature(torch.get_rng_state).parameters) == []
    assert "seed" in (torch.initial_seed.__doc__ or "").lower()
    assert pickle.loads(pickle.dumps(torch.vmap)) is torch.func.vmap
    assert isinstance(torch.ones(2), torch.FloatTensor)
    assert not isinstance(torch.ones(2), torch.LongTensor)


def test_values_are_what_they_replace() -> None:
    assert isinstance(torch.LongTensor, type) and inspect.isfunction(torch.vmap)
    assert str(torch.LongTensor | None) == "torch.LongTensor | None"
    assert {torch.vmap: 1}[torch.func.vmap] == 1


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = torch.nope
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = torch.nn.functional.nope


@pytest.mark.skipif(sys.gettrace() is not None, reason="tracing ends specialising")
def test_the_interpreter_reads_functions_of_the_package_directly() -> None:
    x = torch.ones(2)

    def call() -> torch.Tensor:
        return torch.relu(x)

    for _ in range(200):
        call()
    names = [i.opname for i in dis.get_instructions(call, adaptive=True)]
    assert any("MODULE" in name and "ATTR" in name for name in names)


def test_every_name_of_the_package_has_a_value():
    program = (
        "import pellucid\n"
        "print(sum(isinstance(v, int) for v in list(vars(pellucid).values())))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_modules_of_pytorch_are_attributes_of_their_packages() -> None:
    program = """
from pellucid import run; run.install()
import importlib, torch
for place in PLACES:
    found = eval(f"torch.{place}")
    assert found is importlib.import_module(f"torch.{place}")
    parent, _, name = place.rpartition(".")
    assert name in dir(eval(f"torch.{parent}")), place
    assert set(found.__dict__.get("__all__", ())) <= set(dir(found)), place
""".replace("PLACES", repr(sorted(homes.HOMES)))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("place", sorted(homes.HOMES))
def test_names_are_found_where_pytorch_defines_them(place: str) -> None:
    module = importlib.import_module(f"pellucid.{place}")
    for own, names in homes.HOMES[place].items():
        for name in names.split():
            value = getattr(module, name)
            assert value is getattr(importlib.import_module(f"pellucid.{own}"), name)
    with pytest.raises(AttributeError, match="has no attribute 'Absent'"):
        _ = module.Absent
