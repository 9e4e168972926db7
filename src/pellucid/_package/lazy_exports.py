"""Binds the names of the package that are imported at first use.

``pellucid/__init__.py`` calls ``bind_lazy``; importing the modules with the package
would take longer than the package itself. Which names there are is read off the modules
while the package is built (``calls/offered.py``); ``lazy.py`` holds the objects that
take the names' places until then.
"""

from __future__ import annotations

from pellucid._package.lazy import LazyMethod, put_modules, put_values
from pellucid._package.offers import (
    FUNCTIONS,
    INTO,
    METHODS,
    MODULES,
    OF_RUNTIME,
    VALUES,
)

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


def bind_lazy(namespace: dict[str, Any]) -> None:
    """Put all of it into the package's namespace and on its Tensor class."""
    tensor = namespace["Tensor"]
    put_modules(namespace, MODULES)
    put_values(namespace, VALUES, overridable=False)
    put_values(namespace, FUNCTIONS, overridable=True)
    put_values(vars(namespace["_C"]), OF_RUNTIME, overridable=False)
    put_modules(
        vars(namespace["_C"]), ("_distributed_c10d", "_functorch"), "pellucid._C"
    )
    for name, module in METHODS.items():
        setattr(tensor, name, LazyMethod(tensor, module, name))


def take_offers(place: str, target: Any) -> None:
    """Put what is offered to ``place`` (``offered.into``) into ``target``: a dict, as a
    module's namespace, or a class.
    """
    offers = INTO[place]
    if isinstance(target, type):
        for name, module in offers.items():
            setattr(target, name, LazyMethod(target, module, name))
    else:
        put_values(target, offers, overridable=False)
