"""Binds the names of the package that are imported when they are first used.

``pellucid/__init__.py`` calls ``bind_lazy``; importing the modules with the package
would take longer than the package itself. Which names there are is read off the modules
while the package is built (``calls/offered.py``); ``lazy.py`` holds the objects that
take the names' places until then.
"""

from __future__ import annotations

from pellucid._package.lazy import LazyMethod, put_modules, put_values
from pellucid._package.offers import FUNCTIONS, METHODS, MODULES, OF_RUNTIME, VALUES

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


def bind_lazy(namespace: dict[str, Any]) -> None:
    """Put all of it into the package's namespace and on its Tensor class."""
    tensor = namespace["Tensor"]
    put_modules(namespace, MODULES)
    put_values(namespace, _list_functions(namespace, tensor), overridable=False)
    put_values(namespace, VALUES, overridable=False)
    put_values(namespace, FUNCTIONS, overridable=True)
    put_values(vars(namespace["_C"]), OF_RUNTIME, overridable=False)
    for name, module in METHODS.items():
        setattr(tensor, name, LazyMethod(tensor, module, name))


def _list_functions(namespace: dict[str, Any], tensor: Any) -> dict[str, str]:
    """``_foreach_`` functions: for each in-place method, and plain where the op is a
    function, too (``_functions/foreach.py``, which offers a few others).
    """
    methods = [name for name in vars(tensor.__base__) if name[-1] == "_" != name[-2]]
    plain = [name[:-1] for name in methods if name[:-1] in namespace]
    return {f"_foreach_{name}": "_functions.foreach" for name in (*methods, *plain)}
