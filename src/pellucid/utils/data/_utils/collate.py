"""How samples become batches; see ``utils/data/_collate.py``."""

from pellucid.utils.data._collate import collate as collate
from pellucid.utils.data._collate import default_collate as default_collate
from pellucid.utils.data._collate import (
    default_collate_fn_map as default_collate_fn_map,
)
from pellucid.utils.data._collate import default_convert as default_convert
