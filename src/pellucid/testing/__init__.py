"""``testing``: ``assert_close``, ``make_tensor``, ``FileCheck``. Imported lazily."""

from pellucid.testing._comparison import assert_allclose as assert_allclose
from pellucid.testing._comparison import assert_close as assert_close
from pellucid.testing._creation import make_tensor as make_tensor
from pellucid.testing._file_check import FileCheck as FileCheck
