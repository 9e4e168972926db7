"""The x86-64 ISA levels kernels are built for, and what schedules may assume of each.

``x86-64-v3`` has AVX2, FMA and F16C (16 registers of 32 bytes); ``x86-64-v4`` adds
AVX-512 F, BW, CD, DQ, VL (32 registers of 64 bytes and masks). ``x86-64-v4-dot`` adds
VNNI, the sums of products of bytes, and ``x86-64-v4-bf16`` those of bfloat16; their
packs hold only the products that have these. The CPU is LLVM's own name of the level,
so no feature string is ever assembled by hand: LLVM aborts the process on a malformed
one. Read next: ``pack/jit.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pellucid_compiler.codegen.builder import Type


@dataclass(frozen=True)
class Target:
    """One ISA level. ``name`` is also the kernel pack's suffix, ``cpu`` LLVM's name."""

    name: str
    cpu: str
    vector_bits: int
    num_vector_registers: int
    has_masks: bool
    has_dots: bool = False
    has_bfloat16_dots: bool = False
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


X86_64_V3 = Target("x86-64-v3", "x86-64-v3", 256, 16, has_masks=False)
X86_64_V4 = Target("x86-64-v4", "x86-64-v4", 512, 32, has_masks=True)
X86_64_V4_DOT = Target(
    "x86-64-v4-dot", "cascadelake", 512, 32, has_masks=True, has_dots=True
)
X86_64_V4_BF16 = Target(
    "x86-64-v4-bf16",
    "cooperlake",
    512,
    32,
    has_masks=True,
    has_dots=True,
    has_bfloat16_dots=True,
)

# Levels with packs of their own, and those with small packs beside another's.
TARGETS = {target.name: target for target in (X86_64_V3, X86_64_V4)}
PRODUCT_TARGETS = {target.name: target for target in (X86_64_V4_DOT, X86_64_V4_BF16)}
_ALL = {**TARGETS, **PRODUCT_TARGETS}


def target_named(name: str) -> Target:
    """The target of an ISA level; the only way a level's name reaches LLVM."""
    if name not in _ALL:
        raise ValueError(f"unknown ISA level {name!r}; expected one of {list(_ALL)}")
    return _ALL[name]


def host_target() -> Target:
    """The highest level this machine runs, from the kernel's list of CPU features."""
    flags = _host_flags()
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
        return X86_64_V4
    if {"avx2", "fma", "f16c", "bmi2"} <= flags:
        return X86_64_V3
    raise RuntimeError(
        "this CPU lacks AVX2, FMA, F16C or BMI2; kernels need x86-64-v3 or higher"
    )


def host_product_targets() -> list[Target]:
    """The levels that this machine runs of those whose packs hold products alone."""
    flags = _host_flags()
    if host_target() is not X86_64_V4 or "avx512_vnni" not in flags:
        return []
    return [X86_64_V4_DOT, *([X86_64_V4_BF16] if "avx512_bf16" in flags else [])]


def _host_flags() -> set[str]:
    with open("/proc/cpuinfo", encoding="ascii") as lines:
        line = next((line for line in lines if line.startswith("flags")), "")
    return set(line.split())
