"""Names that libraries use although PyTorch does not document them."""

import re
import subprocess
import sys
import warnings

import pytest

import pellucid as torch
from pellucid import nn

# Read without an import; each in a line of its own for the message.
ATTRIBUTES = """
torch.utils.data._utils.collate.default_collate_fn_map
torch.utils.data._utils.worker._worker_info
torch.distributed.algorithms._checkpoint.checkpoint_wrapper.CheckpointImpl
torch.distributed.fsdp.api.StateDictType
torch.distributed.nn.functional.all_gather
torch.distributed.tensor.parallel.ColwiseParallel
torch.distributed.rpc.RpcBackendOptions
torch.fx.experimental.symbolic_shapes.free_symbols
torch.fx.passes.infra.pass_base.PassResult
torch.nn.common_types._size_2_t
torch.nn.modules.utils._pair
torch.profiler.profiler.profile
torch.compiler.config
torch.ao.quantization.observer.MinMaxObserver
"""


def test_submodules_are_attributes_before_they_are_imported():
    program = f"""
import sys
import pellucid as torch
for line in {ATTRIBUTES.split()!r}:
    exec(line)
print(hasattr(torch.utils, "no_such_module"), hasattr(torch.fx, "no_such_module"))
print("pellucid.distributed.elastic" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["False"] * 3


def test_modules_of_quantization_have_their_former_names():
    from pellucid.ao.quantization import observer, quantize, stubs
    from pellucid.quantization.observer import MinMaxObserver
    from pellucid.quantization.quantize import quantize as former
    from pellucid.quantization.stubs import QuantStub

    assert MinMaxObserver is observer.MinMaxObserver and former is quantize
    assert QuantStub is stubs.QuantStub


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions_name_what_replaced_them(name):
    with pytest.raises(RuntimeError, match=rf"^{name} was removed: use torch\.linalg"):
        getattr(torch, name)(torch.eye(2))


def test_parameters_of_a_module_are_replaced_in_a_scope():
    from pellucid.nn.utils.stateless import _reparametrize_module

    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight
    with _reparametrize_module(layer, {"weight": torch.zeros(1, 2)}):
        assert layer(torch.ones(2)).tolist() == [0.0]
    assert layer.weight is before
    with pytest.raises(RuntimeError, match="missing names"):
        _reparametrize_module(layer, {}, strict=True)


def test_loaders_say_what_kind_they_are():
    from pellucid.utils.data.dataloader import _DatasetKind

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield 1

    listed = torch.utils.data.DataLoader([1, 2])
    streamed = torch.utils.data.DataLoader(Stream(), batch_size=None)
    assert listed._dataset_kind == _DatasetKind.Map and listed._auto_collation
    assert streamed._dataset_kind == _DatasetKind.Iterable
    assert not streamed._auto_collation
    pattern = torch.utils.data._utils.collate.np_str_obj_array_pattern
    assert [bool(re.search(pattern, text)) for text in ("<U3", "|O", "<f4")] == [
        1,
        1,
        0,
    ]


def test_an_optimizer_in_pytorchs_manner():
    from pellucid.optim import optimizer as helpers

    class Descent(helpers.Optimizer):
        __doc__ = f"Descends.\n\n{helpers._foreach_doc}"

        @helpers._disable_dynamo_if_unsupported()
        def descend(self, params, grads, rate):
            helpers._view_as_real(params, grads)
            for p, grad in zip(params, grads, strict=True):
                p.sub_(grad * helpers._get_value(rate))

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                grads = [p.grad for p in group["params"]]
                grouped = self._group_tensors_by_device_and_dtype(
                    [group["params"], grads]
                )
                for (params, of_group), _ in grouped.values():
                    helpers._device_dtype_check_for_fused(params[0].real)
                    self.descend(params, of_group, group["lr"])

    real = torch.ones(2, requires_grad=True)
    complex_ = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    (real.sum() + (complex_ * (1 + 2j)).real.sum()).backward()
    Descent([real, complex_], {"lr": torch.tensor(0.5)}).step()
    assert real.tolist() == [0.5, 0.5] and complex_.tolist() == [0.5 + 1j]
    with pytest.raises(RuntimeError, match=r"floating-point dtypes, not torch\.int64"):
        helpers._device_dtype_check_for_fused(torch.tensor([1]))


def test_a_scheduler_of_a_library_asks_for_its_rates():
    from pellucid.optim.lr_scheduler import _enable_get_lr_call

    layer = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings(record=True) as seen, _enable_get_lr_call(scheduler):
        warnings.simplefilter("always")
        assert scheduler.get_lr() == [1.0]
    assert not seen
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_tensors_are_taken_up_to_a_size():
    tensors = [torch.ones(4), torch.ones(3), torch.ones(5).long(), torch.ones(9)]
    taken = torch._utils._take_tensors(tensors, 28)
    assert [[t.numel() for t in group] for group in taken] == [[4, 3], [9], [5]]


def test_what_says_whether_the_profiler_records():
    assert torch.autograd.kineto_available()
    with torch.profiler.profile() as profiler:
        assert torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()
    assert profiler.events() is not None


def test_a_tensor_is_rebuilt_as_a_subclass():
    class Kind(torch.Tensor):
        pass

    made = torch._tensor._rebuild_from_type_v2(torch.ones, Kind, ((2,),), {"tag": 1})
    assert type(made) is Kind and made.tag == 1 and made.sum() == 2


def test_an_op_for_triton_has_other_kernels():
    def scaled(x: torch.Tensor) -> torch.Tensor:
        torch.library.wrap_triton(None)

    op = torch.library.triton_op("names::scaled", scaled, mutates_args=())
    with pytest.raises(NotImplementedError, match="Triton kernels do not run here"):
        op(torch.ones(1))
    op.register_kernel("cpu")(lambda x: x * 2)
    assert op(torch.ones(1)).tolist() == [2.0]


def test_legacy_types_of_sparse_tensors():
    indices, values = torch.tensor([[0, 2]]), torch.ones(2)
    kind = torch.sparse.FloatTensor
    with pytest.warns(UserWarning, match="torch.sparse.FloatTensor is deprecated"):
        made = kind(indices, values, (3,))
    assert made.to_dense().tolist() == [1, 0, 1]
    assert made.type() == "torch.sparse.FloatTensor"
    assert isinstance(made, kind) and not isinstance(made, torch.FloatTensor)
    assert not isinstance(values, kind)
    with pytest.warns(UserWarning):
        assert kind(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning), pytest.raises(TypeError, match="not list"):
        kind([2, 3])
    assert made.type(torch.sparse.DoubleTensor).dtype == torch.float64


def test_a_scope_leaves_the_mode_of_fake_tensors():
    from pellucid._subclasses import fake_tensor

    with fake_tensor.FakeTensorMode() as mode:
        with fake_tensor.unset_fake_temporarily() as outer:
            assert outer is mode and type(torch.ones(2)) is torch.Tensor
        assert isinstance(torch.ones(2), fake_tensor.FakeTensor)
    with fake_tensor.unset_fake_temporarily() as outer:
        assert outer is None


def test_parameters_of_beta_belong_to_a_dirichlet():
    beta = torch.distributions.Beta(torch.tensor([2.0, 3.0]), 4.0)
    assert beta._dirichlet.concentration.tolist() == [[2, 4], [3, 4]]
    beta._dirichlet.concentration = torch.ones(2, 2)
    assert beta.concentration1.tolist() == beta.concentration0.tolist() == [1, 1]
    assert beta.expand((3, 2)).concentration1.shape == (3, 2)


def test_there_are_no_groups_of_processes_before_one_is_made():
    assert torch.distributed.distributed_c10d._pg_map == {}


def test_padding_of_layers_as_that_of_pad():
    assert nn.modules.utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
