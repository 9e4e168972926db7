"""``torch.distributed._shard``: the tensors of parts before DTensor, which libraries
such as torchrec and their checkpoints use.

A ``ShardedTensor`` knows where the parts of a tensor are and has those of this process.
It computes nothing: ops on it are those that a program registers. Read next:
``sharded_tensor/api.py``.
"""

from pellucid.distributed._shard.api import _shard_tensor as _shard_tensor
from pellucid.distributed._shard.api import (
    load_with_process_group as load_with_process_group,
)
from pellucid.distributed._shard.api import shard_module as shard_module
from pellucid.distributed._shard.api import shard_parameter as shard_parameter
