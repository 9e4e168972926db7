"""``torch.__version__`` compares as a version."""

import pickle

import pytest

import pellucid as torch
from pellucid.torch_version import TorchVersion


def test_it_compares_with_tuples_and_texts():
    version = torch.__version__
    assert isinstance(version, TorchVersion) and isinstance(version, str)
    assert version >= (2, 9) and version > "2.9" and not version < (2, 9, 1)
    assert str(version) < "2.9"  # as texts
    assert version == str(version) and version != "2.13.0" and version != 5
    assert TorchVersion("2.13.0") == (2, 13) and TorchVersion("2.13") <= "2.13.0"
    assert version != "parrot" and version < "parrot"  # no versions: as texts
    assert {version: 1}[str(version)] == 1
    assert pickle.loads(pickle.dumps(version)) == version


@pytest.mark.parametrize("other", [5, None, (1, "x")])
def test_what_is_no_version_is_refused(other):
    with pytest.raises(TypeError, match="TorchVersion"):
        assert TorchVersion("1.0") < other
