"""What Pellucid does not offer answers as PyTorch without that feature does."""

import pytest

import pellucid as torch
from pellucid import backends, cuda, distributed, version


def test_there_are_no_devices_but_the_cpu():
    assert not cuda.is_available() and cuda.device_count() == 0
    cuda.manual_seed_all(3)
    cuda.empty_cache()
    with pytest.raises(AssertionError, match="is_available"):
        cuda.current_device()
    assert not backends.mps.is_available() and not backends.cudnn.is_available()
    assert not distributed.is_available()


def test_compile_says_that_it_does_not():
    with pytest.warns(UserWarning, match="eagerly"):
        assert torch.compile(len) is len
    with pytest.raises(NotImplementedError):
        torch.compile(len, fullgraph=True)
    assert torch.compile(len, disable=True) is len


def test_the_version_is_that_of_the_api():
    assert torch.__version__ == version.__version__
    assert version.__version__.startswith("2.13.0+pellucid.")
    assert version.cuda is None


def test_forked_generators_are_restored():
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    with torch.random.fork_rng():
        torch.rand(5)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_there_is_no_optimizer_of_sparse_gradients():
    with pytest.raises(NotImplementedError, match="use Adam"):
        torch.optim.SparseAdam([torch.ones(1, requires_grad=True)])


def test_older_names_of_mixed_precision_are_there():
    with (
        pytest.warns(FutureWarning, match="deprecated"),
        pytest.warns(UserWarning, match="no device"),
    ):
        scaler = cuda.amp.GradScaler()
    assert not scaler.is_enabled()
