"""What must hold of the installed package alone, with and without llvmlite."""

import pathlib
import subprocess
import sys

import pellucid as torch
from pellucid import nn

HEAVY_MODULES = {"numpy", "llvmlite", "dataclasses", "inspect", "multiprocessing"}


def run_python(*arguments: str, folder: pathlib.Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_is_the_installed_one() -> None:
    assert "site-packages" in torch.__file__


def test_import_is_light() -> None:
    code = "import sys, pellucid; print(' '.join(sys.modules))"
    loaded = set(run_python("-c", code).split())
    assert not loaded & HEAVY_MODULES
    assert not {name for name in loaded if name.startswith("pellucid_compiler")}


def test_size_on_disk() -> None:
    """Without bytecode, and with the kernels of one ISA level, as a small image has."""
    package = pathlib.Path(torch.__file__).parent
    folders = (package, package.parent / "pellucid_compiler")
    files = [p for f in folders for p in f.rglob("*") if p.suffix != ".pyc"]
    packs = [p.stat().st_size for p in files if p.suffix == ".pack"]
    others = sum(p.stat().st_size for p in files if p.is_file() and p.suffix != ".pack")
    assert others + max(packs) <= 30e6


TRAIN = """
import pellucid as torch
from pellucid import nn

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.AdamW(model.parameters())
inputs, targets = torch.randn(32, 64), torch.randint(0, 10, (32,))
for _ in range(20):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        print(line.split()[1])
"""


def test_memory_of_a_training_process() -> None:
    """KiB that were resident at most, Python's own included. ``ru_maxrss`` would count
    the process that started this one, too.
    """
    assert 10 << 10 < int(run_python("-c", TRAIN)) <= 45 << 10


def test_functions_and_methods_have_docstrings() -> None:
    assert "``x + alpha y``" in (torch.add.__doc__ or "")
    assert torch.Tensor.add.__doc__ == torch.ops.aten.add.__doc__ == torch.add.__doc__


def test_gradients_of_a_small_expression() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x.exp() * x).sum().backward()
    expected = (x.exp() * (1 + x)).detach()
    assert torch.allclose(x.grad, expected)


def test_training_reduces_the_loss() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    inputs, targets = torch.randn(32, 8), torch.randint(0, 3, (32,))
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_a_new_specialisation_works() -> None:
    """No sample reaches rank 6 with these dims: traced at run time, kernels reused."""
    x = torch.arange(64, dtype=torch.float64).reshape(2, 2, 2, 2, 2, 2)
    result = torch.softmax(x, 3).sum((1, 3, 5))
    assert result.shape == (2, 2, 2)
    assert torch.allclose(result, torch.full((2, 2, 2), 4.0, dtype=torch.float64))


def test_a_script_that_imports_torch_runs(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "import torch.nn as nn\n"
        "from torch.utils.data import DataLoader\n"
        "print(nn.Linear(2, 1)(torch.ones(3, 2)).shape)\n"
    )
    output = run_python("-m", "pellucid.run", "script.py", folder=tmp_path)
    assert output.strip() == "torch.Size([3, 1])"
