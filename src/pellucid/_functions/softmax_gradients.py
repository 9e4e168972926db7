"""Gradient ops that libraries with a softmax of their own call by name."""

from __future__ import annotations

from pellucid import _C
from pellucid._package.calls import offered

_softmax_backward_data = offered.value(_C._op_named("_softmax_backward_data"))
_log_softmax_backward_data = offered.value(_C._op_named("_log_softmax_backward_data"))
