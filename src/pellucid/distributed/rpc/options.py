"""PyTorch's path of the options of ``init_rpc``."""

from pellucid.distributed.rpc.api import (
    TensorPipeRpcBackendOptions as TensorPipeRpcBackendOptions,
)

__all__ = ["TensorPipeRpcBackendOptions"]
