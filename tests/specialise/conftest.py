"""Make ``pellucid`` importable from the source tree without its built runtime."""

import sys
import types
from pathlib import Path

if "pellucid" not in sys.modules:
    package = types.ModuleType("pellucid")
    package.__path__ = [str(Path(__file__).parents[2] / "src" / "pellucid")]
    sys.modules["pellucid"] = package
