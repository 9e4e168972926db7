"""The conformance kit: does a backend what PyTorch's programs expect?

``python -m pellucid.devices.check my_module:MyBackend`` registers the backend and runs
every section; ``run`` does that in Python. Read next: ``place.py`` (what a check is
given), ``watched.py`` (how writes past the end of a block are found).
"""

from pellucid.devices.check.report import Report
from pellucid.devices.check.sections import SECTIONS, run

__all__ = ["SECTIONS", "Report", "run"]
