"""The package ``functorch``, which is part of PyTorch's distribution: its names."""

from pellucid import version
from pellucid._functorch.make_functional import FunctionalModule as FunctionalModule
from pellucid._functorch.make_functional import (
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
)
from pellucid._functorch.make_functional import (
    combine_state_for_ensemble as combine_state_for_ensemble,
)
from pellucid._functorch.make_functional import make_functional as make_functional
from pellucid._functorch.make_functional import (
    make_functional_with_buffers as make_functional_with_buffers,
)
from pellucid.func import functionalize as functionalize
from pellucid.func import grad as grad
from pellucid.func import grad_and_value as grad_and_value
from pellucid.func import hessian as hessian
from pellucid.func import jacfwd as jacfwd
from pellucid.func import jacrev as jacrev
from pellucid.func import jvp as jvp
from pellucid.func import vjp as vjp
from pellucid.func import vmap as vmap
from pellucid.fx.experimental.proxy_tensor import make_fx as make_fx

__version__ = version.__version__
