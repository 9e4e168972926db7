"""Calls ``functions.cpp``."""


def run(torch, module):
    torch.manual_seed(0)
    x, w, b = (torch.randn(s, dtype=torch.double) for s in ((3, 2), (4, 2), (4,)))
    given = [t.requires_grad_() for t in (x, w, b)]
    print(torch.allclose(module.linear(*given), x @ w.t() + b))
    print(torch.autograd.gradcheck(module.linear, given))
    print(torch.autograd.gradcheck(module.linear, given[:2]))
    print(module.linear(x, w).grad_fn.name())
    print(torch.autograd.gradgradcheck(lambda x: module.mul(x, 3.0), (x,)))
    for tensor in module.inside():
        print(tensor, tensor.requires_grad)
    first, second = module.sign(x)
    (grad,) = torch.autograd.grad(second.sum(), x)
    print(first.shape, second.shape, grad)
    print(torch.autograd.grad(module.sign(x)[0].sum(), x)[0])
    print(module.options(torch.ones(2, dtype=torch.float)))
    try:
        module.linear(x, b)
    except RuntimeError as error:
        print("must be" in str(error) or "2D" in str(error) or "dim" in str(error))
