"""Calls ``lltm.cpp``."""


def run(torch, module):
    class LLTMFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, weights, bias, old_h, old_cell):
            outputs = module.forward(input, weights, bias, old_h, old_cell)
            new_h, new_cell = outputs[:2]
            ctx.save_for_backward(*outputs[1:], weights)
            return new_h, new_cell

        @staticmethod
        def backward(ctx, grad_h, grad_cell):
            found = module.backward(
                grad_h.contiguous(), grad_cell.contiguous(), *ctx.saved_tensors
            )
            d_old_h, d_input, d_weights, d_bias, d_old_cell = found
            return d_input, d_weights, d_bias, d_old_h, d_old_cell

    torch.manual_seed(1)
    shapes = ((4, 3), (15, 8), (1, 15), (4, 5), (4, 5))
    given = [torch.randn(s, dtype=torch.double).requires_grad_() for s in shapes]
    new_h, new_cell = LLTMFunction.apply(*given)
    torch.set_printoptions(precision=3)
    print(new_h, new_cell)
    (new_h.sum() + new_cell.sum()).backward()
    print(given[1].grad[0])
    print(torch.autograd.gradcheck(LLTMFunction.apply, given))
    torch.set_printoptions(precision=4)
    print(module.forward.__doc__.splitlines()[-1])
