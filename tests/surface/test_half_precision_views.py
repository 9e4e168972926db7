"""Views of half precision share memory, though halves are computed in float32."""

import pytest

import pellucid as torch

VIEWS = {
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "T": lambda x: x[0].T,
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "expand": lambda x: x[:, None].expand(2, 3, 3, 4),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "view of what is strided": lambda x: x[..., ::2].view(3, 2, 2),
    "reshape of what is strided": lambda x: x[..., ::2].reshape(-1),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name, dtype):
    wide = torch.arange(24.0).reshape(2, 3, 4)
    x = wide.to(dtype)
    view, expected = VIEWS[name](x), VIEWS[name](wide)
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert view.stride() == expected.stride()
    assert view.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_writes_through_views_arrive(dtype):
    x = torch.zeros(2, 3, dtype=dtype)
    x.t().add_(1)
    x.diagonal().fill_(5)
    assert x.tolist() == [[5, 1, 1], [1, 5, 1]]


def test_a_view_of_a_leaf_is_not_written_where_gradients_are_recorded():
    x = torch.zeros(2, 3, dtype=torch.bfloat16, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.t().add_(1)


def test_gradients_go_through_views():
    x = torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True)
    (x.t().reshape(-1) * torch.arange(6.0).to(torch.bfloat16)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
