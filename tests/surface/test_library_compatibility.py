"""Names that libraries around PyTorch import, and what they do."""

import os
from importlib import import_module

import pytest

import pellucid as torch

PRIVATE_NAMES = (
    "_decomp.decomposition_table",
    "_decomp.get_decompositions",
    "_dynamo.eval_frame.OptimizedModule",
    "_higher_order_ops.associative_scan.associative_scan",
    "_library.custom_ops.CustomOpDef",
    "_library.custom_ops.custom_op",
    "_ops.OpOverload",
    "_ops.OpOverloadPacket",
    "_ops.ops",
    "_subclasses.fake_tensor.is_fake",
    "_tensor.Tensor",
    "_tensor_str.PRINT_OPTS",
    "_tensor_str._str",
    "_tensor_str.printoptions",
    "_utils._flatten_dense_tensors",
    "utils._python_dispatch.TorchDispatchMode",
    "utils._pytree.tree_map",
)


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_private_modules_have_the_names_of_pytorchs(name):
    module, _, value = name.rpartition(".")
    assert hasattr(import_module(f"pellucid.{module}"), value)


def test_a_file_is_a_storage(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    storage = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=16)
    part = storage[4:12]
    tensor = torch.asarray(part, dtype=torch.uint8)
    assert tensor.tolist() == list(range(4, 12))
    assert storage[-1] == 15
    tensor[0] = 99
    assert storage[4] == 99
    del storage, part
    assert tensor[0] == 99
    assert path.read_bytes()[4] == 4
    with pytest.raises(RuntimeError, match="with step 1"):
        torch.UntypedStorage(4)[::2]
    with pytest.raises(RuntimeError, match="cannot be opened"):
        torch.UntypedStorage.from_file(os.fspath(tmp_path / "none"))


def test_a_shared_file_is_written(tmp_path):
    path = tmp_path / "bytes"
    storage = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=8)
    torch.asarray(storage, dtype=torch.uint8).fill_(7)
    assert path.read_bytes() == bytes([7] * 8)


def test_older_methods_of_tensors():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert x.new(4).shape == (4,)
    assert x.new([1, 2]).dtype == torch.float64
    assert torch.arange(3.0).apply_(lambda v: v * v).tolist() == [0, 1, 4]
    assert torch.ones(2).map_(torch.ones(2), lambda a, b: a + b).tolist() == [2, 2]
    assert torch.zeros(2, 2).fill_diagonal_(3).tolist() == [[3, 0], [0, 3]]
    tall = torch.zeros(5, 2).fill_diagonal_(1, wrap=True)
    assert tall.tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    with pytest.raises(RuntimeError, match="accelerator"):
        x.pin_memory()


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler_shares_the_indices(drop_last):
    from pellucid.utils.data import DistributedSampler

    parts = [
        list(DistributedSampler(range(10), 3, k, drop_last=drop_last)) for k in range(3)
    ]
    assert {len(part) for part in parts} == {3 if drop_last else 4}
    assert set().union(*parts) <= set(range(10))
    with pytest.raises(ValueError, match="process group has not been initialized"):
        DistributedSampler(range(10))


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal_weights(name, shape):
    from pellucid.nn.utils.parametrizations import orthogonal

    torch.manual_seed(0)
    layer = orthogonal(torch.nn.Linear(*shape), "weight", name)
    weight = layer.weight
    product = (
        weight @ weight.T if weight.size(0) < weight.size(1) else weight.T @ weight
    )
    assert torch.allclose(product, torch.eye(min(shape)), atol=1e-5)
    weight.sum().backward()
    assert layer.parametrizations.weight.original.grad.abs().sum() > 0
    layer.weight = torch.eye(*weight.shape)
    assert torch.allclose(layer.weight, torch.eye(*weight.shape), atol=1e-6)


def _double(index, queue):
    queue.put(2 * index)


def _fail(index):
    raise ValueError("no")


def test_processes_run_a_function():
    import pellucid.multiprocessing as mp

    queue = mp.get_context("fork").SimpleQueue()
    mp.start_processes(_double, (queue,), nprocs=2, start_method="fork")
    assert {queue.get(), queue.get()} == {0, 2}
    with pytest.raises(mp.ProcessRaisedException, match="no"):
        mp.start_processes(_fail, nprocs=1, start_method="fork")


def test_scans_with_an_associative_function():
    from pellucid._higher_order_ops.associative_scan import associative_scan

    torch.manual_seed(0)
    for count in (1, 2, 5, 8):
        x = torch.rand(3, count, requires_grad=True)
        assert torch.allclose(associative_scan(torch.add, x, 1), x.cumsum(1))
        back = associative_scan(torch.mul, x, -1, reverse=True)
        assert torch.allclose(back, x.flip(1).cumprod(1).flip(1))
        back.sum().backward()
        assert x.grad.isfinite().all()

    def affine(a, b):
        return {"m": a["m"] * b["m"], "c": b["m"] * a["c"] + b["c"]}

    lines = {"m": torch.rand(4), "c": torch.rand(4)}
    actual = associative_scan(affine, lines, 0)["c"]
    value = torch.zeros(())
    for m, c, expected in zip(lines["m"], lines["c"], actual, strict=True):
        value = m * value + c
        assert torch.allclose(value, expected)


def test_products_that_graph_libraries_name():
    left, right = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.ones(2, 2)
    for layout in (torch.strided, torch.sparse_coo, torch.sparse_csr):
        inputs = left if layout is torch.strided else left.to_sparse(layout=layout)
        actual = torch.ops.aten._sparse_addmm(right, inputs, right, beta=2, alpha=10)
        assert actual.tolist() == [[22.0, 22.0], [32.0, 32.0]]
    csr = left.to_sparse_csr()
    for reduce, wanted in (("sum", [[4.0], [9.0]]), ("mean", [[2.0], [9.0]])):
        actual, places = torch.ops.aten._sparse_mm_reduce_impl(
            torch.tensor([[2.0, 2.0], [9.0, 0.0]]).to_sparse_csr(), right[:, :1], reduce
        )
        assert actual.tolist() == wanted
        assert places.shape == (0,)
    with pytest.raises(RuntimeError, match="CSR"):
        torch.ops.aten._sparse_mm_reduce_impl(csr, csr, "mean")


def test_factories_in_the_scope_of_a_device():
    with torch.device("meta"):
        layer = torch.nn.Linear(2, 3)
        there = torch.zeros(2, device="cpu")
        with torch.device("cpu"):
            inside = torch.ones(2)
    assert layer.weight.is_meta
    assert not there.is_meta
    assert not inside.is_meta
    assert not torch.ones(2).is_meta


def test_futures():
    from pellucid.futures import Future, collect_all, wait_all

    first, second = Future(), Future()
    doubled = first.then(lambda done: 2 * done.value())
    both = collect_all([doubled, second])
    assert not both.done()
    with pytest.raises(RuntimeError, match="wait"):
        first.value()
    first.set_result(3)
    second.set_result(4)
    assert wait_all([doubled, second]) == [6, 4]
    failed = Future()
    failed.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        failed.wait()
