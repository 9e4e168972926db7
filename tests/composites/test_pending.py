"""Pending conjugation and negation: views whose elements the next op computes."""

import copy
import io
import pickle

import pytest

import pellucid as torch

NUMBERS = [[1 + 2j, -3.5 + 0.25j], [0.5 - 1j, 4 + 7j]]
CONJUGATES = [[x.conjugate() for x in row] for row in NUMBERS]


def numbers(**options):
    return torch.tensor(NUMBERS, dtype=torch.complex64, **options)


def test_conj_is_a_view_and_twice_is_the_stored_numbers():
    x = numbers()
    y = x.conj()
    assert y.is_conj() and y._is_view() and y.data_ptr() == x.data_ptr()
    assert torch.is_conj(y) and not x.is_conj() and not y.is_neg()
    assert y.tolist() == CONJUGATES
    again = y.conj()
    assert not again.is_conj() and again._is_view() and again.tolist() == NUMBERS
    assert y.resolve_conj().data_ptr() != x.data_ptr()
    assert not y.resolve_conj().is_conj() and x.resolve_conj() is x


def test_conj_of_real_numbers_is_the_tensor_itself():
    x = torch.ones(3)
    assert x.conj() is x and not x.is_conj()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1],
        lambda x: x[:, ::2],
        lambda x: x.reshape(-1),
        lambda x: x.unsqueeze(0).expand(3, 2, 2),
        lambda x: x.detach(),
        lambda x: x.unbind(1)[1],
        lambda x: x.split(1)[0],
        lambda x: x.as_strided((2,), (3,)),
        lambda x: x.contiguous(),
        lambda x: x.to(torch.complex64),
    ],
)
def test_views_of_conjugates_are_pending(view):
    x = numbers()
    y = view(x.conj())
    assert y.is_conj() and y.data_ptr() is not None
    assert y.tolist() == view(torch.tensor(CONJUGATES)).tolist()


@pytest.mark.parametrize(
    "op",
    [
        lambda y: y * 2,
        lambda y: y + y,
        lambda y: y @ y,
        lambda y: y.sum(0),
        lambda y: y.exp(),
        lambda y: torch.cat([y, y]),
        lambda y: torch.stack([y, y]),
        lambda y: y[torch.tensor([1, 0])],
        lambda y: y.clone(),
        lambda y: y.abs(),
        lambda y: torch.linalg.inv(y),
        lambda y: y.to(torch.complex128),
        lambda y: y.t().contiguous(),
        lambda y: torch.where(y.real > 0, y, 0),
        lambda y: torch._foreach_mul([y, y], 2)[1],
        lambda y: y.new_tensor([1.0]) + y[0, 0],
        lambda y: torch.tensor([y[0, 0].item()]),
    ],
)
def test_ops_compute_with_the_conjugates(op):
    y = numbers().conj()
    result, expected = op(y), op(torch.tensor(CONJUGATES, dtype=torch.complex64))
    assert not result.is_conj()
    assert torch.equal(result, expected)


def test_a_write_through_a_conjugate_is_seen_in_memory():
    x = numbers()
    y = x.conj()
    assert y.mul_(1j) is y and y.is_conj()
    assert y.tolist() == [[z * 1j for z in row] for row in CONJUGATES]
    assert torch.equal(x, y.resolve_conj().conj_physical())
    y[0] = torch.tensor([1 + 1j, 2j])
    assert x[0].tolist() == [1 - 1j, -2j]
    x.zero_()
    assert y.tolist() == [[0, 0], [0, 0]]
    torch.add(torch.ones(2, 2), 1j, out=y)
    assert x.tolist() == [[1 - 1j, 1 - 1j], [1 - 1j, 1 - 1j]]
    torch._foreach_mul_([y], 2)
    assert x[0, 0].item() == 2 - 2j


def test_the_imaginary_part_of_a_conjugate_is_a_negated_view():
    x = numbers()
    part = x.conj().imag
    assert part.is_neg() and part._is_view() and not part.is_conj()
    assert torch.equal(part, -x.imag)
    part.add_(1)
    assert x[0, 0].item() == 1 + 1j
    assert not part.resolve_neg().is_neg()
    assert not x.conj().real.is_neg()
    x.conj().real.fill_(3)
    assert x.real.tolist() == [[3, 3], [3, 3]]
    both = part.resolve_neg()
    assert both.resolve_neg() is both


def test_memory_that_is_not_the_elements_is_refused():
    y = numbers().conj()
    with pytest.raises(RuntimeError, match="view_as_real"):
        torch.view_as_real(y)
    with pytest.raises(RuntimeError, match=r"resolve_conj\(\)"):
        y.view(torch.float32)
    with pytest.raises(BufferError, match="conjugation or negation is pending"):
        y.__dlpack__()


def test_arrays_need_resolved_numbers():
    np = pytest.importorskip("numpy")
    y = numbers().conj()
    with pytest.raises(RuntimeError, match="conjugate bit"):
        y.numpy()
    expected = np.array(CONJUGATES, dtype=np.complex64)
    assert np.array_equal(y.numpy(force=True), expected)
    assert np.array_equal(y.resolve_conj().numpy(), expected)
    with pytest.raises(RuntimeError, match="negative bit"):
        y.imag.numpy()


def test_gradients_pass_through_conjugates():
    x = numbers(requires_grad=True)
    y = x.conj()
    assert y.grad_fn.name() == "ConjBackward0" and y.requires_grad
    (y * (2 + 1j)).sum().real.backward()
    assert x.grad.tolist() == [[2 + 1j, 2 + 1j], [2 + 1j, 2 + 1j]]
    x.grad = None
    (y.imag * 3).sum().backward()
    assert x.grad.tolist() == [[-3j, -3j], [-3j, -3j]]
    assert torch.autograd.gradcheck(
        lambda z: z.conj().imag * z.conj() @ z.mH,
        numbers().to(torch.complex128).requires_grad_(),
    )


@pytest.mark.parametrize(
    ("view", "write"),
    [
        (lambda x: x.conj(), lambda y: y.mul_(2 + 1j)),
        (lambda x: x.conj()[0], lambda y: y.mul_(y.clone() + 1)),
        (lambda x: x.real, lambda y: y.mul_(3)),
        (lambda x: x.imag, lambda y: y.pow_(2)),
        (lambda x: x.conj().imag, lambda y: y.pow_(2)),
        (lambda x: torch.view_as_real(x)[..., 1], lambda y: y.mul_(y.clone())),
        (lambda x: x.t().conj()[1], lambda y: y.zero_()),
    ],
)
def test_writes_through_other_readings_are_recorded(view, write):
    def written(z):
        x = z * (1 - 2j)
        y = view(x)
        write(y)
        return x * x + (y * 2).sum()

    z = numbers().to(torch.complex128).requires_grad_()
    assert torch.autograd.gradcheck(written, z)
    assert torch.autograd.gradgradcheck(written, z)


def test_writes_through_a_complex_view_of_reals_are_recorded():
    def written(r):
        x = r * 2
        y = torch.view_as_complex(x)
        y.mul_(2 - 1j)
        y.conj().mul_(1j)
        return (x**2).sum() + y.abs().sum()

    r = torch.view_as_real(numbers().to(torch.complex128)).contiguous()
    assert torch.autograd.gradcheck(written, r.requires_grad_())


def test_copies_and_files_hold_what_is_pending():
    x = numbers()
    y = x.conj()
    copied = copy.deepcopy([x, y, y[:, 1:].imag])
    assert not copied[1].is_conj() and not copied[2].is_neg()
    assert copied[1].data_ptr() != copied[0].data_ptr()
    assert copied[2].is_contiguous() and copied[2].untyped_storage().nbytes() == 8
    assert torch.equal(copied[1], y) and torch.equal(copied[2], y[:, 1:].imag)
    assert torch.equal(pickle.loads(pickle.dumps(y)), y)
    assert torch.equal(pickle.loads(pickle.dumps(y.imag)), y.imag)


@pytest.mark.parametrize("is_zip", [True, False])
def test_files_hold_stored_numbers_in_any_order(is_zip):
    x = numbers()
    y = x.conj()
    for saved in ([x, y], [y, x], [y], [y.imag], [torch.nn.Parameter(y), x]):
        file = io.BytesIO()
        torch.save(saved, file, _use_new_zipfile_serialization=is_zip)
        file.seek(0)
        loaded = torch.load(file)
        for before, after in zip(saved, loaded, strict=True):
            assert torch.equal(after, before) and after.is_conj() == before.is_conj()
            assert after.is_neg() == before.is_neg()
        assert len({tensor.untyped_storage().data_ptr() for tensor in loaded}) == 1


def test_transforms_compute_conjugates():
    x = numbers()
    assert torch.equal(torch.vmap(torch.conj)(x), x.conj())
    assert torch.equal(torch.vmap(lambda z: z * 2)(x.conj()), x.conj() * 2)
    primal, tangent = torch.func.jvp(torch.conj, (x,), (x,))
    assert torch.equal(primal, x.conj()) and torch.equal(tangent, x.conj())


@pytest.mark.parametrize(
    "view", [torch.conj, lambda x: x.real[1:], lambda x: x.imag, torch._neg_view]
)
def test_writes_that_transforms_would_lose_are_refused(view):
    def written(x):
        view(x).mul_(2)
        return x.clone()

    with pytest.raises(NotImplementedError, match=r"does not reach .* clone\(\)"):
        torch.vmap(written)(numbers())
    with pytest.raises(NotImplementedError, match="does not reach"):
        torch.func.jvp(written, (numbers(),), (numbers(),))
    expected = numbers()
    view(expected).mul_(2)
    written_outside = numbers()

    def outer(k):
        view(written_outside).mul_(2)
        return k

    torch.vmap(outer)(torch.ones(1))
    assert torch.equal(written_outside, expected)


def test_a_dual_write_through_a_conjugate_from_outside_is_refused():
    x, one = numbers(), torch.ones((), dtype=torch.complex64)
    with pytest.raises(NotImplementedError, match="conjugate view"):
        torch.func.jvp(lambda k: x.conj().mul_(k).sum(), (one,), (one,))


def test_an_empty_pending_result_grows():
    x = numbers()
    y = torch.zeros(0, dtype=torch.complex64).conj()
    assert torch.add(x, x, out=y) is y and y.is_conj()
    assert torch.equal(y, x + x)


def test_patterns_of_sparse_tensors_may_be_pending():
    index = torch._neg_view(torch.tensor([[-1, 0, -1]]))
    values = torch.tensor([1 + 2j, 3j, 1]).conj()
    made = torch.sparse_coo_tensor(index, values, (2,))
    assert made.coalesce().values().tolist() == [-3j, 2 - 2j]


def test_ops_of_programs_that_return_views_get_conjugates():
    with torch.library._scoped_library("pending_views", "FRAGMENT") as library:
        seen = []

        def row(x):
            seen.append(x.is_conj())
            return x[0]

        library.define("row(Tensor(a) x) -> Tensor(a)")
        library.impl("row", row, "CPU")
        library.define("composed(Tensor x) -> Tensor")
        library.impl("composed", row, "CompositeImplicitAutograd")
        library.define("copied(Tensor x) -> Tensor")
        library.impl("copied", lambda x: row(x).clone(), "CPU")
        x = numbers()
        ops = torch.ops.pending_views
        assert ops.row(x.conj()).data_ptr() == x.data_ptr()
        assert ops.row(x.conj()).is_conj() and ops.composed(x.conj()).is_conj()
        assert torch.equal(ops.copied(x.conj()), x.conj()[0])
        assert seen == [True, True, True, False]


def test_data_of_another_tensor_may_be_pending():
    x, y = numbers(), torch.zeros(1, dtype=torch.complex64)
    y.data = x.conj()
    assert y.is_conj() and y.tolist() == CONJUGATES
    y.data = x
    assert not y.is_conj() and y.tolist() == NUMBERS


def test_set_replaces_the_memory_and_not_what_is_pending():
    x = numbers()
    y = torch.zeros(1, dtype=torch.complex64)
    y.set_(x.conj())
    assert not y.is_conj() and y.data_ptr() == x.data_ptr() and y.tolist() == NUMBERS
    z = torch.zeros(1, dtype=torch.complex64).conj()
    z.set_(x, 0, (2, 2), (2, 1))
    assert z.is_conj() and z.data_ptr() == x.data_ptr() and z.tolist() == CONJUGATES
    z.set_(x.conj())
    assert z.is_conj() and z.tolist() == CONJUGATES
    assert z.set_().is_conj()
    negative = torch._neg_view(torch.zeros(1)).set_(torch.tensor([1.0, 2.0]))
    assert negative.is_neg() and negative.tolist() == [-1.0, -2.0]


@pytest.mark.parametrize(
    "view", [torch.conj, torch._neg_view, lambda x: x.imag, lambda x: x.conj().imag[1]]
)
def test_fake_forms_are_pending(view):
    from pellucid._subclasses.fake_tensor import FakeTensorMode

    real = view(numbers())
    fake = FakeTensorMode().from_tensor(real)
    assert (fake.is_conj(), fake.is_neg()) == (real.is_conj(), real.is_neg())
    assert fake.stride() == real.stride()
    assert fake.storage_offset() == real.storage_offset()


@pytest.mark.parametrize("view", [torch.conj, torch._neg_view])
def test_a_write_needs_memory_for_one_copy(view):
    x = torch.zeros(1 << 16, dtype=torch.complex64)
    target = view(x)
    target.add_(1j)
    peak = torch.memory.peak(lambda: target.add_(1j))
    assert peak.by("role")["temporary"] == x.nbytes
    assert target[0] == 2j and x[0] == -2j
