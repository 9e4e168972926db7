"""Calls ``muladd.cpp``."""


def run(torch, module):
    ops = torch.ops.extension_cpp
    a, b = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
    print(module.__name__, ops.mymuladd(a, b, 0.5))
    print(ops.mymuladd(a.to("meta"), b.to("meta"), 0.5).device)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a, None

    torch.library.register_autograd(
        "extension_cpp::mymuladd", backward, setup_context=setup
    )
    a.requires_grad_()
    ops.mymuladd(a, b, 1).sum().backward()
    print(a.grad)
    out = torch.empty(2, 3)
    print(ops.myadd_out(a.detach(), b, out), out)
    print(ops.myscale_(out, 2) is out, out)
    try:
        ops.mymuladd(a.detach(), b.double(), 1)
    except RuntimeError as error:
        print(str(error).split("  (")[0].splitlines()[0])
