"""Modules of PyTorch that libraries import names from, and what these names do."""

import typing

import pytest

import pellucid as torch
from pellucid._jit_internal import _copy_to_script_wrapper, boolean_dispatch
from pellucid.cuda.amp.common import amp_definitely_not_available
from pellucid.cuda.amp.grad_scaler import GradScaler, OptState
from pellucid.multiprocessing.spawn import ProcessRaisedException
from pellucid.nn.common_types import _ratio_3_t, _size_2_t, _size_any_t
from pellucid.profiler.profiler import ProfilerAction, _default_schedule_fn
from pellucid.utils.data._utils import collate


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax_by_its_result(name):
    x = torch.randn(3, 4, requires_grad=True)
    result = getattr(torch, name)(x, -1)
    inputs = torch.randn(3, 4)
    result.backward(inputs)
    backward = getattr(torch, f"_{name}_backward_data")
    actual = backward(inputs, result.detach(), -1, torch.float32)
    torch.testing.assert_close(actual, x.grad)


def test_spawn_is_a_function_and_a_module():
    assert callable(torch.multiprocessing.spawn)
    assert torch.multiprocessing.ProcessRaisedException is ProcessRaisedException


def test_annotations_of_sizes():
    assert typing.get_args(_size_2_t) == (int, tuple[int, int])
    assert typing.get_args(_size_any_t) == (int, tuple[int, ...])
    assert typing.get_args(_ratio_3_t) == (float, tuple[float, float, float])


def test_a_function_chosen_by_an_argument():
    chosen = boolean_dispatch("both", 1, False, "{} {}".format, "{}".format, "m", "f")
    assert (chosen(1), chosen(1, True), chosen(1, both=False)) == ("1", "1 True", "1")
    assert (chosen.__module__, chosen.__name__) == ("m", "f")

    def method(self):
        return 3

    assert _copy_to_script_wrapper(method) is method
    assert method._torchscript_modifier == "COPY_TO_SCRIPT_WRAPPER"


def test_functions_of_batches_by_type():
    actual = torch.utils.data.default_collate([1.5, 2.5])
    assert actual.equal(collate.collate_float_fn([1.5, 2.5]))
    assert collate.default_collate_fn_map[str] is collate.collate_str_fn
    assert collate.collate_tensor_fn([torch.ones(2)] * 3).shape == (3, 2)


def test_devices_that_are_not_there():
    assert amp_definitely_not_available() is not torch.cuda.is_available()
    assert issubclass(GradScaler, torch.amp.GradScaler) and len(OptState) == 3
    assert torch.backends.mps.is_macos_or_newer(14, 0) is False


def test_without_a_schedule_every_step_is_recorded():
    assert _default_schedule_fn(3) is ProfilerAction.RECORD
    assert not isinstance(torch.ones(1), torch.ScriptObject)
