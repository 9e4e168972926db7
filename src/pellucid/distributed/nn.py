"""``torch.distributed.nn``: collectives with gradients, refused as those without."""

from pellucid.distributed import all_gather as all_gather
from pellucid.distributed import all_reduce as all_reduce
from pellucid.distributed import all_to_all as all_to_all
from pellucid.distributed import broadcast as broadcast
from pellucid.distributed import gather as gather
from pellucid.distributed import reduce as reduce
from pellucid.distributed import reduce_scatter as reduce_scatter
from pellucid.distributed import scatter as scatter
