"""``torch.profiler.profiler``: the module from which libraries import the profiler."""

from pellucid.profiler._actions import ProfilerAction as ProfilerAction
from pellucid.profiler._actions import ProfilerActivity as ProfilerActivity
from pellucid.profiler._actions import schedule as schedule
from pellucid.profiler._execution_trace import (
    ExecutionTraceObserver as ExecutionTraceObserver,
)
from pellucid.profiler._profile import profile as profile
from pellucid.profiler._profile import (
    tensorboard_trace_handler as tensorboard_trace_handler,
)


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Records every step."""
    return ProfilerAction.RECORD
