#!/usr/bin/env python3
"""Assembles the catalogue's kernels for NVIDIA GPUs, and reports spills and refusals.

Every shipped kernel is printed as PTX and assembled by ``ptxas`` for each architecture.
Needs ``ptxas`` (``pip install nvidia-cuda-nvcc``), no GPU and no driver. For products
it also prints what a block needs and how many a multiprocessor holds. Results are
cached in ``build/ptx.json``: a run in which no kernel and no generator changed only
reads them, and after a change of a generator only kernels whose text changed are
assembled. The exit status is 1 where a kernel spills or is refused.

    python tools/check_ptx.py [--every N] [--form FORM] [--jobs N]
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pellucid_compiler.codegen.kernel import Gemm, Kernel, Map, Nest  # noqa: E402
from pellucid_compiler.devices.definitions import shipped_definitions  # noqa: E402
from pellucid_compiler.gpu.builder import THREADS  # noqa: E402
from pellucid_compiler.gpu.generate import grid_module  # noqa: E402
from pellucid_compiler.gpu.grid import Shape  # noqa: E402
from pellucid_compiler.gpu.nvptx import FEATURES, assemble, find_ptxas, ptx  # noqa: E402

CACHE = ROOT / "build" / "ptx.json"
COMPILER = ROOT / "src" / "pellucid_compiler"
GENERATORS = ("gpu", "codegen", "ir")
NO_SPILLS = " 0 bytes spill stores"  # not those of "40 bytes"


SHIPPED = ROOT / "src" / "pellucid" / "definitions.bin"


class Outcome(NamedTuple):
    """What became of a kernel: its form, the hash of its text, "", a refusal or a
    spill, and for products what a block needs."""

    form: str
    text: str
    fault: str
    needs: str = ""


def form_of(kernel: Kernel | None) -> str:
    return type(kernel.form).__name__.lower() if kernel is not None else ""


class Multiprocessor(NamedTuple):
    """What its blocks share: registers, bytes of shared memory, of which each block
    takes 1,024 more than it asks for, and threads."""

    registers: int
    shared_bytes: int
    threads: int

    def blocks(self, registers: int, shared_bytes: int) -> int:
        """How many blocks with so much of each it holds at once."""
        of_a_warp = -(-32 * registers // 256) * 256
        by_registers = self.registers // (of_a_warp * (THREADS // 32))
        by_memory = self.shared_bytes // (shared_bytes + 1024)
        return min(by_registers, by_memory, self.threads // THREADS)


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(65536, 164 << 10, 2048),
    "sm_90a": Multiprocessor(65536, 228 << 10, 2048),
}


def shapes_of(kernel: Kernel) -> list[Shape]:
    """Axes that no merging leaves out, and memory of the kernel's own dtypes. Products
    are those of matrices, then those of an image's windows in both factors."""
    memory = (*kernel.outputs, *kernel.inputs)
    form = kernel.form
    if isinstance(form, Nest):
        return [Shape(form.rank, 0, memory)]
    if isinstance(form, Gemm):
        return [Shape(3, 1, memory, 1, 1), Shape(5, 3, memory, 2, 2)]
    return [Shape(2, 0, memory) if isinstance(form, Map) else Shape(2, 1, memory)]


def needs_of(kernel: Kernel, shape: Shape, architecture: str, said: str) -> str:
    """What a block of a product needs, as ``ptxas`` says."""
    registers, shared = (
        int(re.findall(pattern, said)[0])
        for pattern in (r"Used (\d+) registers", r"(\d+) bytes smem")
    )
    held = MULTIPROCESSORS[architecture]
    blocks = held.blocks(registers, shared)
    warps = 100 * blocks * THREADS // held.threads
    what = "windows" if shape.rows > 1 else "matrices"
    return (
        f"{what} of {kernel.inputs[0]} to {kernel.outputs[0]}, {architecture}: "
        f"{registers} registers, {shared} bytes, {blocks} blocks, {warps} % of threads"
    )


def checked(name: str, ptxas: str, known: Outcome | None) -> Outcome:
    """The kernel for every architecture; ``known`` if its text is the same."""
    kernel = shipped_definitions(SHIPPED).get(bytes.fromhex(name))
    assert kernel is not None
    form = form_of(kernel)
    shapes, needs = shapes_of(kernel), []
    try:
        texts = [grid_module(kernel, shape).printed() for shape in shapes]
    except NotImplementedError as refusal:
        return Outcome(form, "", f"no schedule: {refusal}")
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
    if known is not None and known.text == digest:
        return known
    for architecture, (shape, text) in itertools.product(
        FEATURES, zip(shapes, texts, strict=True)
    ):
        try:
            said = assemble(ptx(text, architecture), ptxas, architecture)
        except RuntimeError as refusal:
            return Outcome(form, digest, f"{architecture}: {refusal}")
        if NO_SPILLS not in said:
            line = next(line for line in said.splitlines() if "spill" in line)
            return Outcome(form, digest, f"{architecture}: {line.strip()}")
        if isinstance(kernel.form, Gemm):
            needs.append(needs_of(kernel, shape, architecture, said))
    return Outcome(form, digest, "", "\n".join(needs))


def digest_of_generators(ptxas: str) -> str:
    """Of everything that a kernel's machine code depends on besides the kernel."""
    found = hashlib.sha256(f"{ptxas} {sorted(FEATURES.items())}".encode())
    for folder in GENERATORS:
        for path in sorted((COMPILER / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


class Cache:
    """Outcomes by kernel id, of the last run and before."""

    def __init__(self, generators: str) -> None:
        held = json.loads(CACHE.read_text()) if CACHE.exists() else {}
        self.generators = generators
        self.is_current = held.get("generators") == generators
        self.outcomes = {k: Outcome(*v) for k, v in held.get("outcomes", {}).items()}

    def write(self) -> None:
        CACHE.parent.mkdir(exist_ok=True)
        held = {"generators": self.generators, "outcomes": self.outcomes}
        CACHE.write_text(json.dumps(held))


def run(names: list[str], ptxas: str, jobs: int) -> list[Outcome]:
    """The outcome of each kernel, from the cache where that is current."""
    cache = Cache(digest_of_generators(ptxas))
    known = [cache.outcomes.get(name) for name in names]
    if not cache.is_current:  # other kernels' outcomes are of other generators
        cache.outcomes = {}
    pending = [k for k, name in enumerate(names) if name not in cache.outcomes]
    shipped_definitions(SHIPPED)  # the workers inherit it
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = pool.map(
            checked,
            [names[k] for k in pending],
            [ptxas] * len(pending),
            [known[k] for k in pending],
            chunksize=8,
        )
        for k, outcome in zip(pending, outcomes, strict=True):
            cache.outcomes[names[k]] = outcome
    cache.write()
    return [cache.outcomes[name] for name in names]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take each Nth kernel")
    parser.add_argument("--form", help="take kernels of this form: gemm, nest, ...")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    ptxas = find_ptxas()
    if ptxas is None:
        raise SystemExit("no ptxas: pip install nvidia-cuda-nvcc")
    shipped = shipped_definitions(SHIPPED)
    names = [
        name.hex()
        for name in shipped.ids()
        if arguments.form in (None, form_of(shipped.get(name)))
    ]
    outcomes = run(names[:: arguments.every], ptxas, arguments.jobs)
    forms = Counter(outcome.form for outcome in outcomes)
    faults = Counter(f"{o.form}: {o.fault[:200]}" for o in outcomes if o.fault)
    done = ", ".join(f"{count} {form}" for form, count in sorted(forms.items()))
    print(f"{len(outcomes)} kernels ({done}) for {', '.join(FEATURES)}")
    for needs in sorted(outcome.needs for outcome in outcomes if outcome.needs):
        print(needs)
    for fault, count in faults.most_common():
        print(f"{count} {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
