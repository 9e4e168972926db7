"""Finds the bodies of composites, which the engine declares and the runtime calls.

Called by the runtime (``runtime/python/library.cpp``) when a composite runs for the
first time. Read next: ``pellucid_compiler/composites``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pellucid
from pellucid_compiler.composites import api

api.__dict__ = vars(pellucid)


def find(module: str, function: str) -> Any:
    """The body ``function`` of the module ``module``; with names behind it, what that
    function makes of them.
    """
    name, *given = function.split()
    found = vars(import_module(module))[name]
    return found(*given) if given else found.body
