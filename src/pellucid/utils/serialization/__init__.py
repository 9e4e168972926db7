"""Settings of ``save`` and ``load``: ``config.py``."""

from pellucid.utils.serialization import config as config
