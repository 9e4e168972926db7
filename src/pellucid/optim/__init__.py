"""Optimizers and learning rate schedulers. Read ``optimizer.py`` first."""

from pellucid._package.calls.submodules import submodules
from pellucid._package.homes import put_homes as _put_homes
from pellucid.optim import lr_scheduler, swa_utils
from pellucid.optim._swapping import swap_in_optimizer_params_and_state
from pellucid.optim.adagrad import Adadelta, Adagrad
from pellucid.optim.adam import Adam, AdamW
from pellucid.optim.adam_variants import Adamax, NAdam, RAdam
from pellucid.optim.lbfgs import LBFGS
from pellucid.optim.matrix import Adafactor, Muon
from pellucid.optim.optimizer import Optimizer
from pellucid.optim.rmsprop import RMSprop
from pellucid.optim.sgd import SGD
from pellucid.optim.sgd_variants import ASGD, Rprop
from pellucid.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]

_put_homes(globals(), __name__)

__getattr__ = submodules(__name__)
