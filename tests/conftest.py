"""Imports the built package before any test does.

The folders that test parts which need no runtime (``ir``, ``compiler``, ...) put a
bare package into ``sys.modules`` when there is no pellucid yet; in one run with the
others they must find the real one.
"""

from importlib.util import find_spec
from pathlib import Path

spec = find_spec("pellucid")
locations = spec.submodule_search_locations if spec is not None else None
if any(list(Path(location).glob("_C.*")) for location in locations or ()):
    import pellucid  # noqa: F401
