"""The x86-64 ISA levels kernels are built for, and what schedules may assume of each.

``x86-64-v3`` has AVX2, FMA and F16C (16 registers of 32 bytes); ``x86-64-v4`` adds
AVX-512 F, BW, CD, DQ, VL (32 registers of 64 bytes and masks). The CPU name is LLVM's
own name of the level, so no feature string is ever assembled by hand: LLVM aborts the
process on a malformed one. Read next: ``pack/jit.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pellucid_compiler.codegen.builder import Type


@dataclass(frozen=True)
class Target:
    """One ISA level. ``name`` is also LLVM's CPU name and the kernel pack's suffix."""

    name: str
    vector_bits: int
    num_vector_registers: int
    has_masks: bool
    triple: str = "x86_64-unknown-linux-gnu"

    def lanes(self, type_: Type) -> int:
        """How many elements of ``type_`` fill one vector register."""
        return self.vector_bits // max(type_.element_bits, 8)

    @property
    def attributes(self) -> str:
        """Function attributes; without the widths LLVM halves 64-byte vectors."""
        width = self.vector_bits
        return (
            f'nounwind "min-legal-vector-width"="{width}" '
            f'"prefer-vector-width"="{width}" "no-trapping-math"="true" '
            '"no-builtins" "no-jump-tables"="true"'
        )


X86_64_V3 = Target("x86-64-v3", 256, 16, has_masks=False)
X86_64_V4 = Target("x86-64-v4", 512, 32, has_masks=True)

TARGETS = {target.name: target for target in (X86_64_V3, X86_64_V4)}


def target_named(name: str) -> Target:
    """The target of an ISA level; the only way a level's name reaches LLVM."""
    if name not in TARGETS:
        raise ValueError(f"unknown ISA level {name!r}; expected one of {list(TARGETS)}")
    return TARGETS[name]


def host_target() -> Target:
    """The highest level this machine runs, from the kernel's list of CPU features."""
    with open("/proc/cpuinfo", encoding="ascii") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "").split()
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(flags):
        return X86_64_V4
    if {"avx2", "fma", "f16c", "bmi2"} <= set(flags):
        return X86_64_V3
    raise RuntimeError(
        "this CPU lacks AVX2, FMA, F16C or BMI2; kernels need x86-64-v3 or higher"
    )
