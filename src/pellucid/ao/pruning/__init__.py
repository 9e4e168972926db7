"""``torch.ao.pruning``: masks of weights, and schedules of sparsity levels."""

from pellucid.ao.pruning._modules import (
    FakeSparsity,
    fqn_to_module,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)
from pellucid.ao.pruning.base_sparsifier import BaseSparsifier
from pellucid.ao.pruning.schedulers import BaseScheduler, CubicSL, LambdaSL
from pellucid.ao.pruning.sparsifiers import (
    NearlyDiagonalSparsifier,
    WeightNormSparsifier,
)

__all__ = [
    "BaseScheduler",
    "BaseSparsifier",
    "CubicSL",
    "FakeSparsity",
    "LambdaSL",
    "NearlyDiagonalSparsifier",
    "WeightNormSparsifier",
    "fqn_to_module",
    "get_arg_info_from_tensor_fqn",
    "module_to_fqn",
]
