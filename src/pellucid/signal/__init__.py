"""``signal``: windows for spectra, in ``signal.windows``."""

from pellucid.signal import windows as windows
