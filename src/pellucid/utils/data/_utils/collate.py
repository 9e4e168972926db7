"""How samples become batches; see ``utils/data/_collate.py``."""

from pellucid.utils.data._collate import collate as collate
from pellucid.utils.data._collate import collate_float_fn as collate_float_fn
from pellucid.utils.data._collate import collate_int_fn as collate_int_fn
from pellucid.utils.data._collate import collate_str_fn as collate_str_fn
from pellucid.utils.data._collate import collate_tensor_fn as collate_tensor_fn
from pellucid.utils.data._collate import default_collate as default_collate
from pellucid.utils.data._collate import (
    default_collate_fn_map as default_collate_fn_map,
)
from pellucid.utils.data._collate import default_convert as default_convert
from pellucid.utils.data._collate import (
    np_str_obj_array_pattern as np_str_obj_array_pattern,
)
