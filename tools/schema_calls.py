"""Sample calls of any op overload for tests: drawn, or from ``given_calls.py``.

Unlike ``op_samples.py``, which serves the interpreter, it needs the runtime.
"""

from functools import partial

from tools.given_calls import GIVEN

from pellucid.devices.check import samples
from pellucid.devices.check.samples import mapped, tensors

__all__ = ["mapped", "sample", "tensors"]

sample = partial(samples.sample, given=GIVEN)
