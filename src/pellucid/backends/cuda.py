"""CUDA: not built. Its switches can be set and read; they have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

from pellucid._package.absent_device import AbsentDevice

# Whether each way of computing attention on a GPU may be chosen.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_reductions = {"fp16_bf16": False}


def is_built() -> bool:
    """False: this build has no CUDA code."""
    return False


class _Matmul:
    """Settings of products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul = _Matmul()


class _LinalgBackend(IntEnum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(IntEnum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


_preferred: dict[str, Any] = {
    "linalg": _LinalgBackend.Default,
    "blas": _BlasBackend.Cublas,
}


def _prefer(kind: str, backend: Any, names: type[IntEnum]) -> Any:
    if isinstance(backend, str):
        found = {member.name.lower(): member for member in names}.get(backend.lower())
        if found is None:
            raise RuntimeError(
                f"Unknown input value. Choose from: "
                f"{', '.join(member.name.lower() for member in names)}."
            )
        backend = found
    if backend is not None:
        _preferred[kind] = names(backend)
    return _preferred[kind]


def preferred_linalg_library(backend: Any = None) -> Any:
    """The library of linear algebra on a GPU, set if one is given."""
    return _prefer("linalg", backend, _LinalgBackend)


def preferred_blas_library(backend: Any = None) -> Any:
    """The library of products on a GPU, set if one is given."""
    return _prefer("blas", backend, _BlasBackend)


def flash_sdp_enabled() -> bool:
    """Whether attention on a GPU may be computed by tiles in fast memory."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Sets what ``flash_sdp_enabled`` answers."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention on a GPU may be computed in little memory."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Sets what ``mem_efficient_sdp_enabled`` answers."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention on a GPU may be computed by its formula."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Sets what ``math_sdp_enabled`` answers."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention on a GPU may be computed by cuDNN."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Sets what ``cudnn_sdp_enabled`` answers."""
    _attention["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether the formula of attention may sum in half precision."""
    return _reductions["fp16_bf16"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Sets what ``fp16_bf16_reduction_math_sdp_allowed`` answers."""
    _reductions["fp16_bf16"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """False: there is no GPU."""
    return False


def is_ck_sdpa_available() -> bool:
    """False: there is no GPU."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """Sets which ways attention on a GPU may take, for a block."""
    before = dict(_attention)
    _attention.update(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )
    try:
        yield {}
    finally:
        _attention.update(before)


class _PlanCaches:
    """Plans of cuFFT: there are none, so every question raises."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        AbsentDevice("CUDA").refuse()

    def __getitem__(self, device: Any) -> NoReturn:
        AbsentDevice("CUDA").refuse()


cufft_plan_cache: Any = _PlanCaches()
