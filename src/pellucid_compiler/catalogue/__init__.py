"""The catalogue: one declaration per op, by family; a new file needs no entry here.

Importing it fills lang's REGISTRY.
"""

from importlib import import_module
from pathlib import Path

FAMILIES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__"
)

for family in FAMILIES:
    import_module(f"{__name__}.{family}")
