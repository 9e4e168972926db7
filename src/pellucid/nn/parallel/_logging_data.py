"""The facts that ``DistributedDataParallel._get_ddp_logging_data`` gives, by PyTorch's
names. Times are those of the profiler, so none are here.
"""

from __future__ import annotations

import os
from typing import Any

import pellucid.distributed as dist
from pellucid.nn.modules import SyncBatchNorm
from pellucid.nn.parallel._reducer import Reducer

_VARIABLES = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "TORCH_DISTRIBUTED_DEBUG",
)


def logging_data(ddp: Any) -> dict[str, Any]:
    """What is true of a wrapper, its group and its buckets."""
    reducer: Reducer = ddp.reducer
    parameters, group = reducer.parameters, ddp.process_group
    dtypes = dict.fromkeys(str(p.dtype).removeprefix("torch.") for p in parameters)
    sizes = [str(bucket.nbytes()) for bucket in reducer.buckets]
    by_batch = [isinstance(m, SyncBatchNorm) for m in ddp.module.modules()]
    variables = {name.lower(): os.environ.get(name, "N/A") for name in _VARIABLES}
    return {
        **variables,
        "module_name": type(ddp.module).__name__,
        "backend_name": dist.get_backend(group),
        "world_size": group.size(),
        "rank": group.rank(),
        "dtypes": ", ".join(dtypes),
        "num_parameter_tensors": len(parameters),
        "total_parameter_size_bytes": sum(p.nbytes for p in parameters),
        "bucket_cap_bytes": reducer.bucket_bytes,
        "bucket_sizes": ", ".join(sizes),
        "device_ids": ", ".join(map(str, ddp.device_ids or ())),
        "output_device": -1 if ddp.output_device is None else ddp.output_device,
        "broadcast_buffers": int(ddp.broadcast_buffers),
        "find_unused_parameters": int(ddp.find_unused_parameters),
        "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view),
        "static_graph": int(ddp.static_graph),
        "has_sync_bn": int(any(by_batch)),
    }
