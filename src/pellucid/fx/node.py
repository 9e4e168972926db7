"""``torch.fx.node``: where libraries find ``Node``."""

from pellucid.fx import Node as Node
from pellucid.fx import has_side_effect as has_side_effect
