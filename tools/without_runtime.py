"""Makes ``pellucid``'s pure Python layers importable where the runtime is not built.

``import pellucid`` loads the compiled runtime. The build itself, and the tests of
``ir``, ``transforms``, ``lang`` and ``compiler``, run without it: they call
``install()`` first, which puts a bare module with the package's path in the place of
the package.
"""

import sys
import types
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"


def install() -> None:
    """Let ``pellucid.ir`` and its like be imported; does nothing if pellucid is
    loaded.
    """
    if "pellucid" not in sys.modules:
        package = types.ModuleType("pellucid")
        package.__path__ = [str(SOURCES / "pellucid")]
        sys.modules["pellucid"] = package
