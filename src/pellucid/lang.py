"""The declaration language, for user-defined ops.

Re-exports ``pellucid_compiler.declare``; docs/add-an-op.md walks through one op.
"""

from pellucid_compiler.declare import *
from pellucid_compiler.declare import __all__ as __all__
