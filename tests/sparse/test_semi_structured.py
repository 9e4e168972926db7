"""Weights of which two of four elements are stored: format, products, gradients, files.

Digests are of PyTorch 2.13's tensors for the same matrices.
"""

import copy
import hashlib
import io

import pytest

import pellucid as torch
from pellucid.sparse import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    _semi_structured_conversions,
    to_sparse_semi_structured,
)

pytestmark = pytest.mark.filterwarnings("ignore:SparseSemiStructuredTensor is a proto")


def numbers(rows, columns, dtype):
    """Small whole numbers, a third of them 0, some groups with more than two others."""
    counted = torch.arange(rows * columns)
    actual = counted * 7919 % 101 % 19 - 9
    return torch.where(actual % 3 == 0, 0, actual).reshape(rows, columns).to(dtype)


def pruned(rows, columns, dtype=torch.float32):
    """A matrix that the format holds, of small whole numbers: sums are exact."""
    ones = [0.0, 1.0] if dtype == torch.float32 else [0.0, 1.0, 1.0, 0.0]
    kept = torch.tensor(ones).tile(rows, columns // len(ones))
    return (torch.randint(-2, 3, (rows, columns)) * kept).to(dtype)


def digest(tensor):
    data = bytes(tensor.contiguous().view(torch.uint8).flatten().tolist())
    return hashlib.sha256(data).hexdigest()[:12]


@pytest.mark.parametrize(
    ("dtype", "sizes", "expected"),
    [
        (torch.float16, (64, 128), ["23d2aab43d9d", "3b27a79997a2", "0ea58e7becc8"]),
        (torch.bfloat16, (32, 64), ["7ff50807a8ed", "596a60dc3c9b", "7810bffa6568"]),
        (torch.float32, (96, 64), ["a5714ff36f26", "b3970a9ad936", "a3cfa217d85b"]),
        (torch.int8, (48, 256), ["6bdbcfdee48c", "190d5fa0f59c", "6d75920392eb"]),
    ],
    ids=str,
)
def test_the_format_is_that_of_pytorch(dtype, sizes, expected):
    dense = numbers(*sizes, dtype)
    kept, words = (
        _semi_structured_conversions.sparse_semi_structured_from_dense_cutlass(dense)
    )
    decoded = _semi_structured_conversions.sparse_semi_structured_to_dense_cutlass(
        kept, words
    )
    assert [digest(kept), digest(words), digest(decoded)] == expected
    assert torch.all((decoded == dense) | (decoded == 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("leading", [(), (5,), (2, 3)], ids=str)
def test_layers_compute_with_such_weights(dtype, leading):
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 32, dtype=dtype)
    layer.weight = torch.nn.Parameter(pruned(32, 64, dtype))
    layer.bias = torch.nn.Parameter(torch.arange(32).to(dtype))
    dense = copy.deepcopy(layer)
    sparse = to_sparse_semi_structured(layer.weight.detach())
    layer.weight = torch.nn.Parameter(sparse)
    assert isinstance(layer.weight, torch.nn.Parameter) and layer.weight.requires_grad
    x = torch.randint(-2, 3, (*leading, 64)).to(dtype).requires_grad_()
    y = x.detach().clone().requires_grad_()
    actual, expected = layer(x), dense(y)
    assert torch.equal(actual, expected)
    actual.sum().backward()
    expected.sum().backward()
    assert torch.equal(x.grad, y.grad)
    assert torch.equal(layer.weight.grad, dense.weight.grad)
    assert torch.equal(layer.bias.grad, dense.bias.grad)


def test_products():
    weight = pruned(32, 64)
    sparse = to_sparse_semi_structured(weight)
    x = torch.randint(-2, 3, (64, 7)).float().requires_grad_()

    def same(actual, expected):
        assert torch.equal(actual, expected)

    same(sparse @ x, weight @ x)
    same(torch.mm(x.t(), sparse.t()), x.t() @ weight.t())
    same(torch.mm(torch.ones(3, 32), sparse), torch.ones(3, 32) @ weight)
    bias = torch.arange(32.0)
    same(torch.addmm(bias, x.t(), sparse.t()), x.t() @ weight.t() + bias)
    same(torch.nn.functional.linear(x.t(), sparse, bias), x.t() @ weight.t() + bias)
    (grad,) = torch.autograd.grad(torch.mm(sparse, x).sum(), x)
    same(grad, weight.sum(0).unsqueeze(-1).expand(64, 7))


def test_products_of_int8_are_int32():
    whole = (
        numbers(16, 128, torch.int8).reshape(-1, 4) * torch.tensor([1, 0, 0, 1])
    ).to(torch.int8)
    weight = whole.reshape(16, 128)
    sparse = to_sparse_semi_structured(weight)
    x = numbers(128, 3, torch.int8)
    actual = sparse @ x
    assert actual.dtype == torch.int32 and actual.equal(weight.int() @ x.int())


def test_a_tensor_is_its_parts():
    weight = pruned(32, 64)
    sparse = to_sparse_semi_structured(weight.requires_grad_())
    assert type(sparse) is SparseSemiStructuredTensorCUTLASS and sparse.requires_grad
    assert repr(sparse) == (
        "SparseSemiStructuredTensorCUTLASS(shape=torch.Size([32, 64]))"
    )
    assert sparse.values().shape == (32, 32) and sparse.indices().shape == (32, 8)
    assert sparse.dtype == torch.float32 and sparse.shape == (32, 64)
    assert torch.equal(sparse.to_dense(), weight)
    turned = sparse.detach().t()
    assert turned.shape == (64, 32) and torch.equal(turned.to_dense(), weight.t())
    assert torch.equal(turned.t().to_dense(), weight)
    with pytest.raises(RuntimeError, match="transposed"):
        turned.values()
    (grad,) = torch.autograd.grad((sparse.to_dense() * 3).sum(), sparse)
    assert torch.equal(grad, torch.full((32, 64), 3.0))
    names, facts = sparse.__tensor_flatten__()
    assert names == ["packed", "meta"]
    parts = {name: getattr(sparse, name) for name in names}
    kind = SparseSemiStructuredTensorCUTLASS
    again = kind.__tensor_unflatten__(parts, facts, None, None)
    assert torch.equal(again.to_dense(), weight) and again.requires_grad


def test_modules_with_such_weights_are_copied_and_saved():
    layer = torch.nn.Linear(64, 32)
    layer.weight = torch.nn.Parameter(to_sparse_semi_structured(pruned(32, 64)))
    copied = copy.deepcopy(layer)
    assert copied.weight.packed.data_ptr() != layer.weight.packed.data_ptr()
    saved = io.BytesIO()
    torch.save(layer.state_dict(), saved)
    saved.seek(0)
    state = torch.load(saved, weights_only=False)
    assert isinstance(state["weight"], SparseSemiStructuredTensorCUTLASS)
    x = torch.randn(2, 64)
    assert torch.equal(copied(x), layer(x))
    copied.weight = torch.nn.Parameter(state["weight"])
    assert torch.equal(copied(x), layer(x))


MISTAKES = [
    (lambda w: to_sparse_semi_structured(w.double()), RuntimeError, "float64"),
    (lambda w: to_sparse_semi_structured(w[:8]), RuntimeError, "multiples"),
    (lambda w: to_sparse_semi_structured(w[0]), RuntimeError, "matrix is expected"),
    (lambda w: to_sparse_semi_structured(w.t()), RuntimeError, "not contiguous"),
    (lambda w: to_sparse_semi_structured(w.to("meta")), RuntimeError, "CPU"),
    (
        lambda w: SparseSemiStructuredTensorCUSPARSELT.from_dense(w.half()),
        *(NotImplementedError, "_cslt_compress"),
    ),
    (SparseSemiStructuredTensor.from_dense, NotImplementedError, "base"),
    (lambda w: to_sparse_semi_structured(w) + 1, NotImplementedError, "add"),
    (lambda w: to_sparse_semi_structured(w).half(), NotImplementedError, "_to_copy"),
    (lambda w: to_sparse_semi_structured(w).view(-1), NotImplementedError, "view"),
    (
        lambda w: to_sparse_semi_structured(w) @ to_sparse_semi_structured(w).t(),
        *(ValueError, "cannot be multiplied"),
    ),
    (
        lambda w: torch.addmm(
            w.new_ones(2, 32), w[:2], to_sparse_semi_structured(w).t()
        ),
        *(NotImplementedError, "vector"),
    ),
    (
        lambda w: to_sparse_semi_structured(w) @ w.new_ones(64, 2).double(),
        *(RuntimeError, "one dtype"),
    ),
]


@pytest.mark.parametrize(("function", "error", "text"), MISTAKES)
def test_mistakes(function, error, text):
    with pytest.raises(error, match=text):
        function(pruned(32, 64))
