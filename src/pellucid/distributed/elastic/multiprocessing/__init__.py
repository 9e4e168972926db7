"""``torch.distributed.elastic.multiprocessing``: errors of launched processes."""

from pellucid.distributed.elastic.multiprocessing import errors as errors
