"""``torch.profiler``: which ops ran, how often, for how long and with what memory.

A recorded program runs as without a profiler: the same kernels, calls and bits. The
runtime writes events of 64 bytes (``runtime/timeline``); names, stacks and tables are
made at first use. Imported lazily. Read next: ``_profile.py``, ``_build.py``,
``_table.py``.
"""

from pellucid._package.calls.submodules import submodules
from pellucid.profiler import itt as itt
from pellucid.profiler._actions import DeviceType as DeviceType
from pellucid.profiler._actions import ProfilerAction as ProfilerAction
from pellucid.profiler._actions import ProfilerActivity as ProfilerActivity
from pellucid.profiler._actions import kineto_available as kineto_available
from pellucid.profiler._actions import schedule as schedule
from pellucid.profiler._actions import supported_activities as supported_activities
from pellucid.profiler._execution_trace import (
    ExecutionTraceObserver as ExecutionTraceObserver,
)
from pellucid.profiler._profile import profile as profile
from pellucid.profiler._profile import (
    tensorboard_trace_handler as tensorboard_trace_handler,
)
from pellucid.profiler._ranges import record_function as record_function

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

__getattr__ = submodules(__name__)
