"""What Pellucid does not offer answers as PyTorch without that feature does."""

import pickle

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
    assert not distributed.is_nccl_available()


def test_a_compiled_module_acts_as_its_module():
    module = torch.nn.Linear(2, 1)
    compiled = torch.compile(module, backend="eager")
    assert compiled._orig_mod is module and isinstance(compiled, torch.nn.Module)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is module.weight and compiled.in_features == 2
    x = torch.ones(3, 2)
    assert torch.equal(compiled(x), module(x))
    assert not compiled.eval().training and not module.training
    compiled.note = 3
    assert module.note == 3
    del compiled.note
    assert not hasattr(module, "note")
    with pytest.raises(AttributeError, match="Linear"):
        compiled.absent  # noqa: B018
    copied = pickle.loads(pickle.dumps(compiled))
    assert torch.equal(copied(x), module(x)) and copied._orig_mod is not module
    assert len(torch.compile(torch.nn.Sequential(module), backend="eager")) == 1
    with pytest.raises(TypeError, match="Linear"):
        len(compiled)


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


def test_older_names_of_mixed_precision_are_there():
    with (
        pytest.warns(FutureWarning, match="deprecated"),
        pytest.warns(UserWarning, match="no device"),
    ):
        scaler = cuda.amp.GradScaler()
    assert not scaler.is_enabled()
