"""``torch.distributed.elastic.utils``: what agents and their handlers use."""

from pellucid.distributed.elastic.utils.api import (
    get_env_variable_or_raise as get_env_variable_or_raise,
)
from pellucid.distributed.elastic.utils.api import (
    get_socket_with_port as get_socket_with_port,
)
from pellucid.distributed.elastic.utils.api import macros as macros
