"""``torch.distributed._tools``: memory and modules of a training step. README.md says
what is there.
"""

from pellucid.distributed._tools.mem_tracker import MemTracker as MemTracker
from pellucid.distributed._tools.mod_tracker import ModTracker as ModTracker
