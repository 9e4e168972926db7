"""The catalogue: one declaration per op, in files by family.

Importing the package imports every file in it, which fills lang's REGISTRY.
"""

from importlib import import_module
from pathlib import Path

FAMILIES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"
)

for family in FAMILIES:
    import_module(f"{__name__}.{family}")
