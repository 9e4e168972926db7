"""Names of ``torch._C``, ``torch._guards`` and results that libraries ask for."""

import pickle

import pytest

import pellucid as torch
from pellucid._subclasses import FakeTensorMode
from pellucid.overrides import TorchFunctionMode


def test_result_types_by_name():
    found = torch.max(torch.eye(2), 1)
    assert type(found) is torch.return_types.max
    assert type(torch.linalg.svd(torch.eye(2))) is torch.return_types.linalg_svd
    made = torch.return_types.sort((1, 2))
    assert (made.values, made.indices) == (1, 2)
    with pytest.raises(AttributeError, match="nothing"):
        torch.return_types.nothing  # noqa: B018
    assert isinstance(pickle.dumps(found.values), bytes)


def test_whether_a_function_mode_sees_calls():
    assert not torch._C._is_torch_function_mode_enabled()
    with TorchFunctionMode():
        assert torch._C._is_torch_function_mode_enabled()


def test_the_mode_of_fake_tensors():
    assert torch._guards.active_fake_mode() is None
    with FakeTensorMode() as mode:
        fake = torch.ones(2)
        assert torch._guards.active_fake_mode() is mode
    assert torch._guards.detect_fake_mode([1, fake]) is mode
    assert torch._guards.detect_fake_mode([torch.ones(2)]) is None
    with FakeTensorMode(), pytest.raises(AssertionError, match="different"):
        torch._guards.detect_fake_mode(fake)


def test_registration_hooks_are_in_the_module_that_libraries_read():
    from pellucid.nn.modules import module

    hook = module.register_module_parameter_registration_hook(lambda *given: None)
    assert len(module._global_parameter_registration_hooks) == 1
    hook.remove()
    assert not module._global_parameter_registration_hooks


def test_storages_have_a_common_class():
    assert isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)
