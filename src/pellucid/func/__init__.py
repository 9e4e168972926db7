"""Composable function transforms: vmap, grad, vjp, jvp, jacrev, hessian, ...

PyTorch's ``torch.func``. Derivatives and batched forms of every op are derived from its
declaration. Read ``_levels.py`` for how the transforms nest, then ``_vmap.py``,
``_forward.py`` and ``_reverse.py``.
"""

from pellucid.func._forward import hessian, jacfwd, jvp, linearize
from pellucid.func._levels import debug_unwrap
from pellucid.func._modules import (
    functional_call,
    functionalize,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from pellucid.func._rearrange import rearrange
from pellucid.func._reverse import grad, grad_and_value, jacrev, vjp
from pellucid.func._vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
