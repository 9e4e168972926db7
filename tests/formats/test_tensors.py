"""Tensors of narrow and opaque dtypes: creation, indexing, comparison, printing,
errors.
"""

import pytest

import pellucid as torch

F8, F8B, E8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
VALUED = [torch.uint16, torch.uint32, torch.uint64, torch.complex32, F8, F8B, E8]
OPAQUE = [torch.bits8, torch.bits16, torch.uint4, torch.int3, torch.float4_e2m1fn_x2]


WORDS = {
    torch.uint16: "UInt16",
    torch.uint32: "UInt32",
    torch.uint64: "UInt64",
    torch.complex32: "ComplexHalf",
    F8: "Float8_e4m3fn",
    F8B: "Float8_e5m2",
    E8: "Float8_e8m0fnu",
}


@pytest.mark.parametrize("dtype", VALUED)
def test_factories_indexing_and_joins(dtype):
    x = torch.tensor([1, 2, 4, 8], dtype=dtype)
    assert x.tolist() == [1, 2, 4, 8]
    assert torch.ones(2, dtype=dtype).tolist() == [1, 1]
    assert torch.full((2,), 2, dtype=dtype).tolist() == [2, 2]
    assert torch.cat([x, x[1:]]).tolist() == [1, 2, 4, 8, 2, 4, 8]
    assert x[torch.tensor([3, 0])].tolist() == [8, 1]
    assert x[x == 4].tolist() == [4]
    assert torch.where(
        torch.tensor([True, False, True, False]), x, x.flip(0)
    ).tolist() == [*(1, 4, 4, 1)]
    y = x.clone()
    y[1] = 1
    y[2:] = torch.tensor([2.0, 4.0])
    assert y.tolist() == [1, 1, 2, 4]
    assert x.expand(2, 4).t().contiguous().t().tolist() == 2 * [[1, 2, 4, 8]]
    assert torch.equal(x, x.clone())
    assert not torch.equal(x, y)
    assert bool(x[0])
    assert x.type() == f"torch.{WORDS[dtype]}Tensor"


@pytest.mark.parametrize("dtype", OPAQUE)
def test_opaque_elements_are_stored_viewed_and_copied(dtype):
    count = 4 // dtype.itemsize
    x = torch.arange(4, dtype=torch.uint8).view(dtype)
    assert x.shape == (count,)
    assert torch.empty(3, dtype=dtype).dtype is dtype
    assert x.clone().view(torch.uint8).tolist() == [0, 1, 2, 3]
    assert torch.cat([x, x]).view(torch.uint8).tolist() == 2 * [0, 1, 2, 3]
    assert x[1:].numel() == count - 1
    with pytest.raises(NotImplementedError, match="no value"):
        x.to(torch.float32)
    with pytest.raises(NotImplementedError, match="no value"):
        x[0].item()
    with pytest.raises(NotImplementedError, match="no value"):
        x.eq(x)
    with pytest.raises(RuntimeError):
        torch.tensor([1], dtype=dtype)


@pytest.mark.parametrize("dtype", [F8, F8B, E8])
def test_floats_of_8_bits_compute_nothing(dtype):
    x = torch.ones(3, dtype=dtype)
    for op in (torch.add, torch.sub, torch.div, torch.lt, torch.maximum, torch.pow):
        with pytest.raises(NotImplementedError, match="not implemented for 'Float8"):
            op(x, x)
    for op in (torch.exp, torch.sum, torch.neg, torch.sort, torch.cumsum):
        with pytest.raises(NotImplementedError, match="not implemented for 'Float8"):
            op(x, 0) if op is torch.cumsum else op(x)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
        x + torch.ones(3)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
        torch.cat([x, torch.ones(3)])
    with pytest.raises(NotImplementedError):
        torch.rand(2, dtype=dtype)
    assert x.abs().tolist() == [1, 1, 1]
    assert torch.zeros(3).copy_(x).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_wide_unsigned_integers_compute_what_pytorch_offers(dtype):
    x, y = torch.tensor([1, 6, 3], dtype=dtype), torch.tensor([3, 3, 3], dtype=dtype)
    assert (x & y).tolist() == [1, 2, 3]
    assert (x | y).tolist() == [3, 7, 3]
    assert (x ^ y).tolist() == [2, 5, 0]
    assert (x * y).tolist() == [3, 18, 9]
    assert (x * 1.5).dtype is torch.float32
    assert (x / y).dtype is torch.float32
    assert x.sum().dtype is torch.int64
    assert x.sum().item() == 10
    assert x.cumsum(0).tolist() == [1, 7, 10]
    assert x.sort().values.tolist() == [1, 3, 6]
    assert x.unique().tolist() == [1, 3, 6]
    assert x.exp().dtype is torch.float32
    for op in (torch.add, torch.sub, torch.lt, torch.minimum, torch.remainder):
        with pytest.raises(NotImplementedError, match="not implemented for 'UInt"):
            op(x, y)
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64"):
        x + torch.ones(3, dtype=torch.int64)
    with pytest.raises(IndexError):
        torch.arange(5)[x]
    with pytest.raises(ValueError, match="64 bits"):
        torch.tensor([2**70], dtype=dtype)


def test_numbers_above_int64_are_read_and_written():
    x = torch.tensor([2**64 - 1, 2**63, 5], dtype=torch.uint64)
    assert x.tolist() == [2**64 - 1, 2**63, 5]
    assert x[0].item() == 2**64 - 1
    assert x.sort().values.tolist() == [5, 2**63, 2**64 - 1]
    assert "18446744073709551615" in repr(x)


def test_complex32_computes_in_complex64_and_rounds():
    x = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex32)
    assert (x * x).tolist() == [-3 + 4j, -0.75 - 1j]
    assert (x + x).dtype is torch.complex32
    assert x.abs().dtype is torch.float16
    assert x.real.dtype is torch.float16
    assert x.conj().resolve_conj().tolist() == [1 - 2j, 0.5 + 1j]
    assert torch.view_as_real(x).dtype is torch.float16
    assert torch.view_as_complex(torch.ones(2, 2).half()).dtype is torch.complex32
    assert (torch.ones(2).half() * 1j).dtype is torch.complex32
    assert torch.complex(torch.ones(1).half(), torch.ones(1).half()).dtype is (
        torch.complex32
    )
    assert torch.randn(3, dtype=torch.chalf).dtype is torch.complex32
    assert torch.tensor([1.5]).chalf().tolist() == [1.5 + 0j]
    with pytest.raises(NotImplementedError, match="ComplexHalf"):
        x.exp()


def test_printing_is_of_values():
    assert repr(torch.tensor([1.5, -2.0], dtype=F8)) == (
        "tensor([ 1.5000, -2.0000], dtype=torch.float8_e4m3fn)"
    )
    assert repr(torch.tensor([1, 300], dtype=torch.uint16)) == (
        "tensor([  1, 300], dtype=torch.uint16)"
    )
    assert repr(torch.tensor([1 + 2j], dtype=torch.complex32)) == (
        "tensor([1.+2.j], dtype=torch.complex32)"
    )


def test_facts_of_dtypes():
    assert F8.is_floating_point
    assert not E8.is_signed
    assert torch.complex32.to_real() is torch.float16
    assert torch.float16.to_complex() is torch.complex32
    assert torch.iinfo(torch.uint64).max == 2**64 - 1
    assert torch.iinfo(torch.uint16).min == 0
    assert torch.finfo(F8).max == 448
    assert torch.finfo(F8B).max == 57344
    assert torch.finfo(E8).min == torch.finfo(E8).tiny == 2.0**-127
    assert torch.finfo(torch.complex32).dtype == "float16"
    with pytest.raises(TypeError):
        torch.finfo(torch.uint16)
    with pytest.raises(TypeError):
        torch.iinfo(torch.bits8)
    with pytest.raises(RuntimeError, match="counterpart"):
        F8.to_complex()


@pytest.mark.parametrize("dtype", [F8, F8B, torch.complex32])
def test_leaves_take_gradients(dtype):
    x = torch.tensor([1.0, 2.0]).to(dtype).requires_grad_()
    (x.to(torch.float32) * torch.tensor([2.0, 4.0])).sum().backward()
    assert x.grad.dtype is dtype
    assert x.grad.tolist() == [2, 4]


def test_what_stores_no_such_number_refuses_it():
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.full((1,), 70000, dtype=torch.uint16)
    assert torch.full((1,), -1, dtype=torch.uint16).tolist() == [65535]
    assert torch.full((1,), 1e6, dtype=F8).tolist() == [448]
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.full((1,), 1e6, dtype=F8B)


def test_complex32_has_variances_and_directions():
    x = torch.tensor([1 + 2j, 2j, -1, 0], dtype=torch.complex32)
    wide = x.to(torch.complex64)
    for name in ("var", "std"):
        made = getattr(x, name)()
        assert made.dtype is torch.float16
        assert torch.allclose(made.float(), getattr(wide, name)(), atol=1e-2)
    variance, mean = torch.var_mean(x)
    assert (variance.dtype, mean.dtype) == (torch.float16, torch.complex32)
    assert torch.allclose(x.sgn().to(torch.complex64), wide.sgn(), atol=1e-3)


def test_limits_of_quantized_dtypes_are_those_of_their_integers():
    assert (torch.iinfo(torch.quint8).min, torch.iinfo(torch.quint8).max) == (0, 255)
    assert torch.iinfo(torch.qint32).max == 2**31 - 1
    with pytest.raises(TypeError, match="integer"):
        torch.iinfo(torch.quint4x2)
