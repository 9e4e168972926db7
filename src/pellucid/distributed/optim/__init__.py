"""``torch.distributed.optim``: distributed optimizers."""

from pellucid.distributed.optim.functional_optimizers import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdadelta as _FunctionalAdadelta,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdagrad as _FunctionalAdagrad,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdam as _FunctionalAdam,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdamax as _FunctionalAdamax,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalAdamW as _FunctionalAdamW,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalRMSprop as _FunctionalRMSprop,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalRprop as _FunctionalRprop,
)
from pellucid.distributed.optim.functional_optimizers import (
    _FunctionalSGD as _FunctionalSGD,
)
from pellucid.distributed.optim.functional_optimizers import (
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)
from pellucid.distributed.optim.named_optimizer import (
    _NamedOptimizer as _NamedOptimizer,
)
from pellucid.distributed.optim.optimizer import DistributedOptimizer
from pellucid.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from pellucid.distributed.optim.utils import as_functional_optim
from pellucid.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "as_functional_optim",
]
