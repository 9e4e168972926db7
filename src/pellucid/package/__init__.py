"""``torch.package``: code, pickles and files in one archive.

``package_exporter.py`` writes it, ``package_importer.py`` reads it. The format is
PyTorch's, so that each side reads the other's packages of Python code.
"""

from pellucid._package.calls.submodules import submodules
from pellucid.package.file_structure_representation import Directory
from pellucid.package.glob_group import GlobGroup
from pellucid.package.importer import (
    Importer,
    ObjMismatchError,
    ObjNotFoundError,
    OrderedImporter,
    is_from_package,
    sys_importer,
)
from pellucid.package.package_exporter import (
    EmptyMatchError,
    PackageExporter,
    PackagingError,
)
from pellucid.package.package_importer import PackageImporter

__all__ = [
    "Directory",
    "EmptyMatchError",
    "GlobGroup",
    "Importer",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "PackageExporter",
    "PackageImporter",
    "PackagingError",
    "is_from_package",
    "sys_importer",
]

__getattr__ = submodules(__name__)
