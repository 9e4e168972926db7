"""``torch.cuda.graphs``: recorded work of a device."""

from pellucid.cuda import CUDAGraph as CUDAGraph
from pellucid.cuda import graph as graph
from pellucid.cuda import graph_pool_handle as graph_pool_handle
from pellucid.cuda import is_current_stream_capturing as is_current_stream_capturing
from pellucid.cuda import make_graphed_callables as make_graphed_callables
