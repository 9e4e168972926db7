"""``torch._subclasses``: fake tensors, for tracing."""

from __future__ import annotations

from pellucid._package.calls.submodules import submodules
from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException as DataDependentOutputException,
)
from pellucid._subclasses.fake_tensor import (
    DynamicOutputShapeException as DynamicOutputShapeException,
)
from pellucid._subclasses.fake_tensor import FakeTensor as FakeTensor
from pellucid._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
from pellucid._subclasses.fake_tensor import (
    UnsupportedFakeTensorException as UnsupportedFakeTensorException,
)

__getattr__ = submodules(__name__)
