"""Names of ``torch._C``, ``torch._guards`` and results that libraries ask for."""

import pickle

import pytest

import pellucid as torch
from pellucid._subclasses import FakeTensorMode
from pellucid.overrides import TorchFunctionMode


def test_result_types_by_name():
    actual = torch.max(torch.eye(2), 1)
    assert type(actual) is torch.return_types.max
    assert type(torch.linalg.svd(torch.eye(2))) is torch.return_types.linalg_svd
    result = torch.return_types.sort((1, 2))
    assert (result.values, result.indices) == (1, 2)
    with pytest.raises(AttributeError, match="nothing"):
        torch.return_types.nothing  # noqa: B018
    assert isinstance(pickle.dumps(actual.values), bytes)


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

    hook = module.register_module_parameter_registration_hook(lambda *arguments: None)
    assert len(module._global_parameter_registration_hooks) == 1
    hook.remove()
    assert not module._global_parameter_registration_hooks


def test_storages_have_a_common_class():
    assert isinstance(torch.ones(2).untyped_storage(), torch.StorageBase)


def test_checks_name_the_error():
    for name, error in (
        ("_check", RuntimeError),
        ("_check_index", IndexError),
        ("_check_value", ValueError),
        ("_check_type", TypeError),
        ("_check_not_implemented", NotImplementedError),
    ):
        check = getattr(torch, name)
        assert check(True, lambda: "never") is None
        with pytest.raises(error, match="five"):
            check(False, lambda: "five")
    with pytest.raises(TypeError, match="bool"):
        torch._check(1)
    with pytest.raises(TypeError, match="callable"):
        torch._check(False, "text")
    with pytest.raises(KeyError):
        torch._check_tensor_all_with(KeyError, torch.tensor([True, False]))
    with pytest.raises(TypeError, match="float32"):
        torch._check_tensor_all(torch.ones(2))
    torch._check_tensor_all(torch.ones(2) > 0)
    torch._check_is_size(3)
    for wrong in ((-1, None), (3, 2)):
        with pytest.raises(RuntimeError):
            torch._check_is_size(wrong[0], max=wrong[1])


def test_devices_and_aliases():
    x = torch.ones(2, 3)
    assert torch._C._get_accelerator() == torch.device("cpu")
    assert torch._C._get_default_device() == "cpu"
    assert torch._C._is_alias_of(x, x[1])
    assert not torch._C._is_alias_of(x, x.clone())
    assert torch._shape_as_tensor(x).tolist() == [2, 3]
    assert torch._utils._element_size(torch.float64) == 8
    assert torch._utils._get_device_index("cuda:1") == 1
    assert torch._utils._get_device_index("cpu", allow_cpu=True) == -1
    for wrong in ("cpu", None, "cuda"):
        with pytest.raises(ValueError, match="Expected"):
            torch._utils._get_device_index(wrong)


def test_the_level_of_forward_mode():
    from pellucid.autograd import forward_ad

    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
    assert forward_ad._current_level == -1


def test_masks_to_add():
    canonical = torch.nn.functional._canonical_mask
    actual = canonical(torch.tensor([True, False]), "a", None, "b", torch.float64)
    assert actual.tolist() == [float("-inf"), 0.0]
    assert actual.dtype is torch.float64
    with pytest.raises(AssertionError, match="only bool"):
        canonical(torch.tensor([1]), "a", None, "b", torch.float32)
    with pytest.warns(UserWarning, match="dtype"):
        canonical(torch.ones(1), "a", torch.bool, "b", torch.float32)
    assert torch.nn.functional._none_or_dtype(actual) is torch.float64


def test_default_forms_of_optimizers():
    from pellucid.optim import optimizer

    on_cpu, on_meta = [torch.ones(2)], [torch.ones(2, device="meta")]
    assert optimizer._default_to_fused_or_foreach(on_cpu, False, True) == (True, False)
    assert optimizer._default_to_fused_or_foreach(on_cpu, True, True) == (False, False)
    assert optimizer._default_to_fused_or_foreach(on_meta, False, True) == (
        False,
        False,
    )
    assert optimizer._default_to_fused_or_foreach([], False) == (False, True)

    class Plain(torch.optim.Optimizer):
        @optimizer._use_grad_for_differentiable
        def step(self):
            return torch.is_grad_enabled()

    for wanted in (True, False):
        result = Plain([torch.ones(1, requires_grad=True)], {"differentiable": wanted})
        assert result.step() is wanted


def test_modules_and_tensors_without_elements_are_copied():
    import copy

    x = torch.ones(2, 3, device="meta").t()
    copied = copy.deepcopy(x)
    assert (copied.device.type, copied.shape, copied.stride()) == (
        "meta",
        x.shape,
        x.stride(),
    )
    layer = torch.nn.Linear(2, 2)
    assert layer.to() is layer


def test_symbols_of_sizes():
    from pellucid.fx.experimental import symbolic_shapes

    actual = []

    def function(x):
        actual.append(symbolic_shapes.free_symbols(x))
        actual.append(symbolic_shapes.statically_known_true(x.shape[0] > 0))
        return x + 1

    from pellucid.fx.experimental.proxy_tensor import make_fx

    make_fx(function, tracing_mode="symbolic")(torch.ones(3, 4))
    assert {"s0", "s1"} in actual
    assert symbolic_shapes.free_symbols([1, torch.ones(2)]) == set()
    assert symbolic_shapes.guard_or_false(3 > 2)
    assert symbolic_shapes.statically_known_true(3 > 2)
