"""Functions that programs call and that need no op: settings, sizes, older names."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.ao import quantization


def test_modes_of_determinism_have_names_and_numbers():
    for name, number in (("warn", 1), ("error", 2), ("default", 0)):
        torch.set_deterministic_debug_mode(name)
        assert torch.get_deterministic_debug_mode() == number
    with pytest.raises(RuntimeError, match="debug_mode"):
        torch.set_deterministic_debug_mode(3)


def test_anomaly_mode_may_be_set_for_good():
    torch.set_anomaly_enabled(True, check_nan=False)
    assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled()


def test_arithmetic_of_sizes_is_that_of_numbers():
    assert torch.sym_int(-2.5) == -2
    assert torch.sym_float(2) == 2.0
    assert repr(torch.sym_min(1, 2.0)) == "1.0"
    assert torch.sym_max(1, 2) == 2
    assert torch.sym_sum([1, 2]) == 3
    assert torch.sym_ite(True, 1, 2) == 1


def test_cond_calls_one_branch():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.cond(x.sum() > 2, lambda a: a * a, lambda a: 1 / 0, (x,))
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="one truth value"):
        torch.cond(x > 0, abs, abs, (x,))


def test_convolution_takes_all_dims():
    x, w = torch.randn(1, 4, 5, 5), torch.randn(6, 2, 3, 3)
    results = torch.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)
    assert results.equal(nn.functional.conv2d(x, w, None, 1, 1, 1, 2))
    line, w = torch.randn(1, 4, 5), torch.randn(4, 3, 2)
    results = torch.convolution(line, w, None, [2], [0], [1], True, [1], 1)
    assert results.equal(nn.functional.conv_transpose1d(line, w, None, 2, 0, 1))


def test_rows_of_an_embedding_are_shortened():
    rows = torch.tensor([[3.0, 4.0], [6.0, 8.0], [0.3, 0.4]])
    torch.embedding_renorm_(rows, torch.tensor([1, 2, 1]), 5.0, 2.0)
    assert torch.allclose(rows, torch.tensor([[3.0, 4.0], [3.0, 4.0], [0.3, 0.4]]))


def test_kl_div_takes_its_reduction_by_number():
    x, y = torch.tensor([-1.0, -2.0]), torch.tensor([0.25, 0.75])
    assert torch.kl_div(x, y, 2).equal(nn.functional.kl_div(x, y, reduction="sum"))
    assert torch.kl_div(x, y, 0).shape == (2,)


def test_a_dense_tensor_has_no_sparse_parts():
    x = torch.ones(2, 3)
    assert (x.sparse_dim(), x.dense_dim()) == (0, 2)
    with pytest.raises(RuntimeError, match="values expected sparse tensor"):
        x.values()
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate"):
        x.coalesce()
    with pytest.raises(NotImplementedError, match="quantized tensor"):
        x.q_scale()
    with pytest.raises(RuntimeError, match=r"linalg\.eigh"):
        x.symeig()


def test_draws_of_log_normal_numbers():
    x = torch.empty(2000).log_normal_(0.0, 0.5, generator=torch.Generator())
    assert abs(x.log().mean()) < 0.1
    assert abs(x.log().std() - 0.5) < 0.1
    with pytest.raises(RuntimeError, match="std"):
        x.log_normal_(0, -1)


def test_what_stays_python_under_jit():
    module = nn.Linear(2, 2)
    assert torch.jit.freeze(module) is module
    assert torch.wait(torch.fork(lambda a: a + 1, 4)) == 5
    with torch.jit.strict_fusion():
        pass
    with pytest.raises(NotImplementedError, match=r"torch\.save"):
        torch.jit.save(module, "file")


def test_stubs_of_quantized_models_give_what_they_get():
    module = quantization.QuantWrapper(nn.Linear(2, 2))
    x = torch.ones(1, 2)
    assert module(x).equal(module.module(x))
    with pytest.warns(UserWarning, match="qconfig"):
        quantization.prepare(module)


def test_ops_may_be_defined_by_name():
    torch.library.define("pellucid_tests::twice", "(Tensor x) -> Tensor")

    @torch.library.impl("pellucid_tests::twice", ("cpu",))
    def twice(x):
        return x + x

    assert torch.ops.pellucid_tests.twice(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="namespace::name"):
        torch.library.define("twice", "(Tensor x) -> Tensor")
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("ops.so")


def test_what_modules_understand_by_to():
    device, dtype, non_blocking, _ = torch._C._nn._parse_to("cpu", torch.float64)
    assert (device.type, dtype, non_blocking) == ("cpu", torch.float64, False)


def test_lists_of_tensors_are_one_tensor_and_back():
    from pellucid._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    tensors = [torch.ones(2, 2), torch.zeros(3)]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 1, 1, 0, 0, 0]
    parts = _unflatten_dense_tensors(flat, tensors)
    assert [p.shape for p in parts] == [(2, 2), (3,)]


def test_the_cpu_has_the_names_of_a_device_module():
    assert torch.get_device_module() is torch.get_device_module("cpu") is torch.cpu
    assert (torch.cpu.device_count(), torch.cpu.current_device()) == (1, "cpu")
    with torch.cpu.stream(torch.cpu.current_stream()):
        torch.cpu.synchronize()
    with pytest.warns(FutureWarning, match="deprecated"):
        region = torch.cpu.amp.autocast()
    with region:
        assert torch.ones(2, 2).mm(torch.ones(2, 2)).dtype == torch.bfloat16
    with pytest.raises(RuntimeError):
        torch.get_device_module("nowhere")


def test_errors_that_programs_catch():
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not isinstance(caught.value, torch.OutOfMemoryError)


def test_factory_options():
    kwargs = {"device": "cpu", "factory_kwargs": {"dtype": torch.float64}}
    assert torch.nn.factory_kwargs(kwargs) == {"device": "cpu", "dtype": torch.float64}
    assert torch.nn.factory_kwargs(None) == {}
    for wrong in ({"a": 1}, {"dtype": 1, "factory_kwargs": {"dtype": 2}}):
        with pytest.raises(TypeError):
            torch.nn.factory_kwargs(wrong)


def test_memory_formats_of_weights():
    network = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.Linear(4, 4))
    convert = torch.nn.utils.convert_conv2d_weight_memory_format
    before = network[0].weight.detach().clone()
    assert convert(network, torch.channels_last) is network
    assert network[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(network[0].weight, before)


def test_older_comparison_is_wider():
    one, near = torch.ones(2), torch.ones(2, dtype=torch.float64) + 5e-5
    with pytest.warns(FutureWarning):
        torch.testing.assert_allclose(one, near)
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        torch.testing.assert_allclose(one, near + 1e-3)


def test_sharing_strategies():
    mp = torch.multiprocessing
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("telepathy")


def test_denormals_are_flushed_on_request():
    x = torch.full((100_000,), 1e-38)
    assert (x * 0.01)[0].item() > 0
    assert torch.set_flush_denormal(True)
    try:
        assert (x * 0.01).max().item() == 0  # also on the pool's threads
    finally:
        torch.set_flush_denormal(False)
    assert (x * 0.01).min().item() > 0
