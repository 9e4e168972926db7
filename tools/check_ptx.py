#!/usr/bin/env python3
"""Assembles the catalogue's kernels for NVIDIA GPUs, and reports spills and refusals.

Every shipped kernel is printed as PTX and assembled by ``ptxas`` for each architecture.
``tools/assembled_ptx.txt``, which is committed, has digests of the texts that were
assembled without spills, of groups of kernels of one form and one first byte of their
ids: a run prints all texts, compares, and assembles only groups that differ. Needs
``ptxas`` for these (``pip install nvidia-cuda-nvcc``), no GPU and no driver. The exit
status is 1 where a kernel spills or is refused.

    python tools/check_ptx.py             # check
    python tools/check_ptx.py --update    # and write the digests of what passed

Kernels without a schedule are listed with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pellucid_compiler.codegen.kernel import Block, Gemm, Kernel, Map, Nest  # noqa: E402
from pellucid_compiler.devices.definitions import shipped_definitions  # noqa: E402
from pellucid_compiler.gpu import nvptx, optimised  # noqa: E402
from pellucid_compiler.gpu.attention import MOST_COLUMNS  # noqa: E402
from pellucid_compiler.gpu.generate import grid_module  # noqa: E402
from pellucid_compiler.gpu.grid import Shape  # noqa: E402

SHIPPED = ROOT / "src" / "pellucid" / "definitions.bin"
RECORD = ROOT / "tools" / "assembled_ptx.txt"


class Outcome(NamedTuple):
    """What became of a group of kernels: why some have no schedule, the digest of the
    others' texts, and spills and refusals of ptxas; None where they were not
    assembled."""

    group: str
    without_schedule: Counter[str]
    digest: str
    faults: list[str] | None


def shapes_of(kernel: Kernel) -> list[Shape]:
    """Axes that no merging leaves out, and memory of the kernel's own dtypes. Of a
    block, the widest tiles, which need the most registers; of a product, matrices, then
    an image's windows in both factors, and those of an image with a border."""
    memory = (*kernel.outputs, *kernel.inputs)
    form = kernel.form
    if isinstance(form, Nest):
        return [Shape(form.rank, 0, memory)]
    if isinstance(form, Block):
        return [Shape(form.parallel, MOST_COLUMNS, memory)]
    if isinstance(form, Gemm):
        windows = Shape(5, 3, memory, 2, 2)
        return [Shape(3, 1, memory, 1, 1), windows, replace(windows, guards=2 << 4)]
    return [Shape(2, 0, memory) if isinstance(form, Map) else Shape(2, 1, memory)]


def checked(group: str, names: list[bytes], known: str, ptxas: str | None) -> Outcome:
    """A group's kernels, assembled unless ``known`` is the digest of their texts."""
    refused: Counter[str] = Counter()
    texts: dict[str, str] = {}
    definitions = shipped_definitions(SHIPPED)
    for name in names:
        kernel = definitions.get(name)
        assert kernel is not None
        try:
            for number, shape in enumerate(shapes_of(kernel)):
                key = f"{name.hex()}{'.' * number}"
                texts[key] = grid_module(kernel, shape).printed()
        except NotImplementedError as refusal:
            refused[f"{group.partition('-')[0]}: {refusal}"] += 1
    digest = digest_of(texts)
    faults = None
    if digest == known or not texts:
        faults = []
    elif ptxas is not None:
        faults = list(assembled(texts, ptxas))
    return Outcome(group, refused, digest, faults)


def grouped() -> dict[str, list[bytes]]:
    """The ids of the shipped kernels by group."""
    definitions = shipped_definitions(SHIPPED)
    found: dict[str, list[bytes]] = {}
    for name in definitions.ids():
        kernel = definitions.get(name)
        assert kernel is not None
        form = type(kernel.form).__name__.lower()
        found.setdefault(f"{form}-{name.hex()[:2]}", []).append(name)
    largest = {"block"}  # last, so that others are recorded if a run is interrupted
    order = sorted(found, key=lambda group: (group.partition("-")[0] in largest, group))
    return {group: found[group] for group in order}


def digest_of(texts: Mapping[str, str]) -> str:
    """Of the texts, and of what they are compiled with."""
    found = hashlib.sha256(Path(optimised.__file__).read_bytes())
    found.update(str(sorted(nvptx.FEATURES.items())).encode())
    for name in sorted(texts):
        found.update(f"{name}\0{texts[name]}\0".encode())
    return found.hexdigest()[:16]


def assembled(texts: Mapping[str, str], ptxas: str) -> Iterator[str]:
    """What is wrong with kernels: for all of them at once, or for each where one is
    refused."""
    names = list(texts)
    for architecture in nvptx.FEATURES:
        try:
            whole = nvptx.ptx_of_all(list(texts.values()), architecture)
            said = nvptx.assemble(whole, ptxas, architecture)
        except RuntimeError as refusal:
            if len(texts) == 1:
                yield f"{names[0]} for {architecture}: {refusal}"
                continue
            for name, text in texts.items():
                yield from assembled({name: text}, ptxas)
            return
        for line in nvptx.spills(said):
            number, _, what = line.removeprefix("kernel").partition(":")
            yield f"{names[int(number)]} for {architecture}:{what}"


def recorded() -> dict[str, str]:
    """The digests by group."""
    if not RECORD.exists():
        return {}
    return dict(line.split() for line in RECORD.read_text().splitlines())


def report(groups: Mapping[str, list[bytes]], outcomes: list[Outcome]) -> int:
    """Prints what became of all kernels; the exit status."""
    forms: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for group, names in groups.items():
        forms[group.partition("-")[0]] += len(names)
    for outcome in outcomes:
        refused += outcome.without_schedule
    done = ", ".join(f"{count} {form}" for form, count in sorted(forms.items()))
    print(f"{forms.total()} kernels ({done}) for {', '.join(nvptx.FEATURES)}")
    for reason, count in refused.most_common():
        print(f"{count} without a schedule: {reason}")
    faults = [fault for outcome in outcomes for fault in outcome.faults or ()]
    print(*faults, sep="\n", end="\n" if faults else "")
    unknown = [outcome.group for outcome in outcomes if outcome.faults is None]
    if unknown:
        print(f"{len(unknown)} groups changed: pip install nvidia-cuda-nvcc for ptxas")
    return 1 if faults or unknown else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--update", action="store_true", help="write the digests of what passed"
    )
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    known, ptxas = recorded(), nvptx.find_ptxas()
    groups = grouped()  # before the workers, which inherit the definitions
    known = {group: digest for group, digest in known.items() if group in groups}
    old = [known.get(group, "") for group in groups]
    given = groups.keys(), groups.values(), old, [ptxas] * len(groups)
    outcomes, changed = [], 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(checked, *given):
            outcomes.append(outcome)
            if outcome.digest == known.get(outcome.group) or outcome.faults is None:
                continue
            changed += 1
            known.pop(outcome.group, None)
            if not outcome.faults:
                known[outcome.group] = outcome.digest
            if arguments.update:  # at once: an interrupted run continues here
                lines = (f"{group} {known[group]}\n" for group in sorted(known))
                RECORD.write_text("".join(lines))
    print(f"assembled {changed} of {len(groups)} groups")
    return report(groups, outcomes)


if __name__ == "__main__":
    sys.exit(main())
