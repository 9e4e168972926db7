"""Datasets built from one another: ``IterableWrapper(files).map(read).batch(8)``."""

from pellucid.utils.data.datapipes import iter as iter
from pellucid.utils.data.datapipes import map as map
