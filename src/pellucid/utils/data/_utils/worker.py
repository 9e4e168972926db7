"""Information about worker processes; see ``utils/data/_workers.py``."""

from pellucid.utils.data._workers import WorkerInfo as WorkerInfo
from pellucid.utils.data._workers import _generate_state as _generate_state
from pellucid.utils.data._workers import get_worker_info as get_worker_info


def __getattr__(name: str) -> WorkerInfo | None:
    """``_worker_info``: what ``get_worker_info`` gives."""
    if name == "_worker_info":
        return get_worker_info()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
