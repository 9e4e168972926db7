"""Optimizers and learning rate schedulers. Read ``optimizer.py`` first."""

from pellucid.optim import lr_scheduler
from pellucid.optim.adam import Adam, AdamW
from pellucid.optim.optimizer import Optimizer
from pellucid.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
