"""Calls ``scatter.cpp``."""

LIBRARY = True


def run(torch, _):
    ops = torch.ops.scatter
    src = torch.arange(12.0).reshape(4, 3).requires_grad_()
    index = torch.tensor([0, 2, 0, 2])
    out = ops.scatter_sum(src, index, 0, None, None)
    (out * torch.arange(9.0).reshape(3, 3)).sum().backward()
    print(out.tolist(), src.grad.tolist(), out.grad_fn.name())
    print(ops.scatter_sum(src.detach(), index, 0, None, 4).shape)
    given = torch.ones(3, 3)
    print(ops.scatter_sum(src.detach(), index, 0, given, None) is given, given.tolist())
    indptr = torch.tensor([0, 1, 1, 4])
    x = src.detach().flip(0).requires_grad_()
    values, places = ops.segment_max(x, indptr)
    values.sum().backward()
    print(values.tolist(), places.tolist(), places.requires_grad, x.grad.tolist())
    for dtype in (torch.half, torch.bfloat16, torch.int32, torch.double):
        for reduce in ("sum", "mean", "min"):
            out, arg = ops.segment(src.detach().to(dtype), indptr, None, reduce)
            print(out.dtype, out.tolist(), arg is None or arg.tolist())
    print(ops.segment_max.default._schema)
    print(ops.segment.default._schema)
    try:
        ops.segment(src.detach(), indptr[None, None], None, "sum")
    except RuntimeError as error:
        print(str(error).splitlines()[0])
    try:
        ops.segment(src.detach().bool(), indptr, None, "sum")
    except NotImplementedError as error:
        print(str(error).splitlines()[0])
