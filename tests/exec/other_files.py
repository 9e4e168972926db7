"""Starts the package with the data files of another folder, in a process of its own."""

import sys
import types
from importlib.util import find_spec


def start_with(folder):
    """Import ``pellucid`` on ``folder``'s table and pack; call it before any import.

    Importing the package starts the runtime, so the extension module is loaded first
    into an empty package and receives the folder.
    """
    package = types.ModuleType("pellucid")
    package.__path__ = list(find_spec("pellucid").submodule_search_locations)
    sys.modules["pellucid"] = package
    import pellucid._C as core

    start = core._start
    core._start = lambda _: start(str(folder))
    del sys.modules["pellucid"]
    import pellucid

    return pellucid
