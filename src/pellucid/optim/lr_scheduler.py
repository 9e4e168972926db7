"""Learning rate schedulers; the base is in ``_scheduler.py``."""

from pellucid.optim._composed_schedulers import (
    ChainedScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
)
from pellucid.optim._cyclic_scheduler import CyclicLR
from pellucid.optim._factor_schedulers import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from pellucid.optim._scheduler import LRScheduler
from pellucid.optim._scheduler import _enable_get_lr_call as _enable_get_lr_call

_LRScheduler = LRScheduler  # PyTorch's name before 2.0, from which programs derive

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
