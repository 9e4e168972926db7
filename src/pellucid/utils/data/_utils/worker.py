"""Information about worker processes; see ``utils/data/_workers.py``."""

from pellucid.utils.data._workers import WorkerInfo as WorkerInfo
from pellucid.utils.data._workers import _generate_state as _generate_state
from pellucid.utils.data._workers import get_worker_info as get_worker_info
