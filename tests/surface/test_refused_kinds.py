"""Calls that no kind of tensor computes: NotImplementedError, as from PyTorch.

What an op has no form for raises NotImplementedError; sizes and dtypes that a form
refuses raise RuntimeError or IndexError.
"""

import pytest

import pellucid as torch

DENSE = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
COO, CSR = DENSE.to_sparse(), DENSE.to_sparse_csr()
QUANTIZED = torch.quantize_per_tensor(DENSE, 0.1, 1, torch.quint8)
EXAMPLES = [torch.ones(2, 2), torch.ones(1, 2)]
PIECES = torch.nested.nested_tensor(EXAMPLES)
RAGGED = torch.nested.nested_tensor(EXAMPLES, layout=torch.jagged)
KINDS = {
    "coo": COO,
    "csr": CSR,
    "quantized": QUANTIZED,
    "pieces": PIECES,
    "ragged": RAGGED,
}


@pytest.mark.parametrize("nested", ["pieces", "ragged"])
@pytest.mark.parametrize("other", ["coo", "csr", "quantized"])
@pytest.mark.parametrize(
    "op",
    [
        torch.mv,
        lambda a, b: torch.addmm(DENSE, a, b),
        lambda a, b: a.scatter(0, torch.zeros(1, 1, dtype=torch.int64), b),
    ],
)
def test_ops_mapped_over_examples_take_no_other_kind(op, nested, other):
    pair = KINDS[nested], KINDS[other]
    for first, second in (pair, pair[::-1]):
        with pytest.raises(NotImplementedError, match="Could not run"):
            op(first, second)


@pytest.mark.parametrize("mask", ["dense", "quantized", "pieces", "ragged"])
def test_a_pattern_is_taken_from_a_sparse_tensor(mask):
    given = KINDS.get(mask, DENSE)
    for tensor in (COO, CSR, DENSE):
        with pytest.raises(NotImplementedError, match="it needs a sparse tensor"):
            tensor.sparse_mask(given)
    with pytest.raises(NotImplementedError, match="it needs a sparse tensor"):
        PIECES.sparse_mask(COO)


def test_an_empty_compressed_tensor_is_a_matrix():
    with pytest.raises(RuntimeError, match="has rows and columns"):
        torch.empty(3, layout=torch.sparse_csr)


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_the_first_tensor_selects_how_tensors_are_joined(join):
    with pytest.raises(NotImplementedError, match="a dense tensor was found"):
        join([DENSE, COO])
    with pytest.raises(RuntimeError, match="a dense tensor was found") as raised:
        join([COO, DENSE])
    assert raised.type is RuntimeError
    for mixed in ([DENSE, QUANTIZED], [QUANTIZED, DENSE]):
        with pytest.raises(NotImplementedError, match="must all be quantized"):
            join(mixed)


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (COO, "sparse"),
        (DENSE.long().to_sparse(), "sparse"),
        (DENSE.long().to_sparse_csr(), "sparse"),
        (QUANTIZED, "quantized"),
    ],
)
def test_an_index_is_strided_or_nested(index, kind):
    for tensor in (DENSE, COO, PIECES, RAGGED):
        with pytest.raises(NotImplementedError, match=f"index is .* not a {kind} one"):
            tensor[index]


@pytest.mark.parametrize("kind", ["csr", "pieces", "ragged"])
def test_compressed_and_nested_indices_are_refused_for_their_dtype(kind):
    with pytest.raises(IndexError, match="not float32"):
        DENSE[KINDS[kind]]


@pytest.mark.parametrize("nested", [PIECES, RAGGED])
def test_nested_integers_are_indices(nested):
    found = DENSE[nested.long()]
    for part, index in zip(found.unbind(), EXAMPLES, strict=True):
        assert torch.equal(part, DENSE[index.long()])


@pytest.mark.parametrize("kind", ["coo", "csr", "quantized"])
def test_only_strided_floats_are_quantized(kind):
    with pytest.raises(NotImplementedError, match="takes a strided tensor of floats"):
        torch.quantize_per_tensor(KINDS[kind], 0.1, 0, torch.qint8)
    with pytest.raises(RuntimeError, match="expected a Float tensor") as raised:
        torch.quantize_per_tensor(DENSE.int(), 0.1, 0, torch.qint8)
    assert raised.type is RuntimeError


def test_ops_of_quantized_tensors_need_one():
    with pytest.raises(NotImplementedError, match="expected a quantized tensor"):
        torch.ops.quantized.add(QUANTIZED, DENSE, 0.1, 0)
    with pytest.raises(NotImplementedError, match="expected a quantized tensor"):
        torch.ops.quantized.linear_prepack(DENSE, None)
    with pytest.raises(RuntimeError, match=r"quantized tensor of torch\.qint8"):
        torch.ops.quantized.linear_prepack(QUANTIZED, None)
