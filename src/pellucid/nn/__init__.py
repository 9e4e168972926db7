"""Neural networks: modules, their functional forms, parameters and initial values.

Read ``modules/module.py`` first.
"""

from pellucid._C._runtime import composites as _bodies  # noqa: F401, I001  (layers
from pellucid.nn.parameter import (  # call composites' bodies; modules need parameter)
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
)
from pellucid.nn import functional, grad, init
from pellucid.nn.modules import *  # noqa: F403  (its __all__ is the list)
from pellucid.nn.modules import __all__ as _module_names
from pellucid.nn import modules, parallel, parameter, utils
from pellucid.nn._factory import factory_kwargs
from pellucid.nn.parallel import DataParallel
from pellucid._package.lazy import put_modules as _put_modules

_MODULES = ("attention", "common_types", "intrinsic", "qat", "quantized")
_put_modules(globals(), _MODULES, __name__)

__all__ = [
    *_module_names,
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "grad",
    "init",
    "modules",
    "parameter",
    "parallel",
    "utils",
]
