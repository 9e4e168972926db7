"""Every op gives the same results without its own kernels, by tile programs.

The package is loaded in a process whose pack holds only the kernels that tile programs
are made of, so that every other kernel is missing.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import pellucid
from pellucid_compiler.lower.contraction import product_kernels
from pellucid_compiler.lower.tile import elementary_kernels
from pellucid_compiler.pack.kernel_pack import read_pack, write_pack

NAMES = [
    "softplus",
    "softmax.int",
    "cumprod",
    "gather",
    "max.dim",
    "max_pool2d_with_indices",
    "layer_norm",
    "nonzero",
    "cat",
]

SCRIPT = """
    from tests.exec.other_files import start_with

    pellucid = start_with({folder!r})
    import pellucid_compiler.catalogue
    from pellucid_compiler.declare.op import REGISTRY
    from tools.op_samples import calls
    from tests.exec.support import assert_same, native_arguments, run_native

    for name in {names!r}:
        for call, _, _, outputs in calls(name, "float64"):
            found = run_native(name, native_arguments(REGISTRY[name], call))
            assert_same(found, outputs, 1e-12)
    # A layer norm's gradient adds rows up.
    x = pellucid.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    w = pellucid.tensor([1.0, 2.0], requires_grad=True)
    y = pellucid.nn.functional.layer_norm(x, (2,), w, eps=0.0)
    y.backward(pellucid.tensor([[1.0, 1.0], [2.0, 3.0]]))
    assert w.grad.tolist() == [-3.0, 4.0]
    # Max pooling with a gradient finds values and places in one nest.
    row = [[[1.0, 3.0, 2.0, 2.0, float("nan"), 5.0]]]
    for dtype in (pellucid.float64, pellucid.float32):
        image = pellucid.tensor(row, dtype=dtype, requires_grad=True)
        pooled = pellucid.nn.functional.max_pool1d(image, 2)
        assert pooled[0, 0, :2].tolist() == [3.0, 2.0] and pooled[0, 0, 2].isnan()
        pooled.sum().backward()
        assert image.grad.tolist() == [[[0.0, 1.0, 1.0, 0.0, 1.0, 0.0]]]
    # Elements that are not as required are found.
    p = pellucid.full((3000,), 0.5)
    assert pellucid.bernoulli(p).sum() > 1000
    p[2345] = 2.0
    try:
        pellucid.bernoulli(p)
    except RuntimeError as error:
        assert "from 0 to 1" in str(error)
    else:
        raise AssertionError("a probability of 2 was taken")
    z = pellucid.tensor([[1 + 2j, 3j], [2, -1j]])
    assert (z @ z).tolist() == [[-3 + 10j, -3 + 3j], [2 + 2j, -1 + 6j]]
    chosen = pellucid.where(z.real > 0, z, pellucid.cat([z, z])[:2].conj())
    assert chosen.sum().item() == 3
"""


def test_ops_give_the_same_without_their_kernels(tmp_path):
    package = Path(pellucid.__file__).parent
    level = pellucid._C._isa_level()
    pack = package / f"kernels-{level}.pack"
    kept = {**elementary_kernels(), **product_kernels()}
    blobs = {k: blob for k, blob in read_pack(pack).items() if k in kept}
    write_pack(tmp_path / pack.name, blobs)
    (tmp_path / "frozen.bin").symlink_to(package / "frozen.bin")
    script = textwrap.dedent(SCRIPT).format(folder=str(tmp_path), names=NAMES)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
