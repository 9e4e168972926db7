"""``torch.distributed.elastic.timer``: ends processes that are stuck.

Example::

    server = LocalTimerServer(queue, max_interval=0.1)  # who started the processes
    server.start()

    configure(LocalTimerClient(queue))  # in a process
    with expires(after=60):
        dist.all_reduce(tensor)
"""

from pellucid.distributed.elastic.timer.api import (
    TimerClient as TimerClient,
)
from pellucid.distributed.elastic.timer.api import (
    TimerRequest as TimerRequest,
)
from pellucid.distributed.elastic.timer.api import (
    TimerServer as TimerServer,
)
from pellucid.distributed.elastic.timer.api import (
    configure as configure,
)
from pellucid.distributed.elastic.timer.api import (
    expires as expires,
)
from pellucid.distributed.elastic.timer.file_based_local_timer import (
    FileTimerClient as FileTimerClient,
)
from pellucid.distributed.elastic.timer.file_based_local_timer import (
    FileTimerRequest as FileTimerRequest,
)
from pellucid.distributed.elastic.timer.file_based_local_timer import (
    FileTimerServer as FileTimerServer,
)
from pellucid.distributed.elastic.timer.local_timer import (
    LocalTimerClient as LocalTimerClient,
)
from pellucid.distributed.elastic.timer.local_timer import (
    LocalTimerServer as LocalTimerServer,
)
