"""Parts of messages that programs search for: a program and the part.

Libraries decide by the text of PyTorch's errors what went wrong: array-api-compat reads
its list of devices from one, accelerate tells exhausted memory by another. Those parts
are the same here; what stands around them is not. Run by test_mistakes.py;
``tools/check_mistakes.py`` compares them with an installed PyTorch.
"""

MESSAGE_PARTS: list[tuple[str, str]] = [
    ('torch.device("notadevice")', "device type at start of device string: notadevice"),
    ("torch.ones(2, 3).t().view(6)", "view size is not compatible"),
    ("torch.ones(4).view(3)", "is invalid for input of size 4"),
    (
        "torch.ones(2, 3) @ torch.ones(2, 3)",
        "mat1 and mat2 shapes cannot be multiplied",
    ),
    (
        "torch.nn.Linear(3, 2)(torch.ones(2, 4))",
        "mat1 and mat2 shapes cannot be multiplied (2x4 and 3x2)",
    ),
    (
        "nn.Linear(3,2).load_state_dict(nn.Linear(4,2).state_dict())",
        "size mismatch for weight",
    ),
    (
        "nn.Linear(3,2).load_state_dict(nn.Linear(4,2).state_dict())",
        "Error(s) in loading state_dict for Linear",
    ),
    (
        'nn.Linear(3,2).load_state_dict({"x": torch.ones(1)})',
        "Unexpected key(s) in state_dict",
    ),
    (
        'nn.Linear(3,2).load_state_dict({"x": torch.ones(1)})',
        "Missing key(s) in state_dict",
    ),
    (
        "x = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()",
        "Trying to backward through the graph a second time",
    ),
    (
        "torch.ones(2, requires_grad=True).add_(1)",
        "a leaf Variable that requires grad is being used in an in-place operation",
    ),
    (
        "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()",
        "one of the variables needed for gradient computation has been modified by an inplace operation",
    ),
    (
        "torch.ones(2).sum().backward()",
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    (
        "torch.ones(3) + torch.ones(4)",
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    ),
    ("torch.ones(3)[5]", "index 5 is out of bounds for dimension 0 with size 3"),
    (
        "bool(torch.ones(2))",
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    (
        "float(torch.ones(2))",
        "only one element tensors can be converted to Python scalars",
    ),
    ("torch.ones(2).item()", "a Tensor with 2 elements cannot be converted to Scalar"),
    (
        "torch.ones(2, requires_grad=True).backward()",
        "grad can be implicitly created only for scalar outputs",
    ),
    ("torch.ones(1 << 50)", "DefaultCPUAllocator: can't allocate memory"),
    (
        "torch.ones(2, requires_grad=True).numpy()",
        "Can't call numpy() on Tensor that requires grad",
    ),
    ("torch.ones(4).reshape(5)", "shape '[5]' is invalid for input of size 4"),
    (
        "torch.tensor([1]).requires_grad_()",
        "only Tensors of floating point dtype can require gradients",
    ),
    ("torch.ones(2).nope", "'Tensor' object has no attribute 'nope'"),
    ("nn.Linear(2, 2).nope", "'Linear' object has no attribute 'nope'"),
    (
        "torch.ones(2, 3).expand(4, 3)",
        "The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension 0",
    ),
    ('torch.ones(2).to("xyz")', "device type at start of device string: xyz"),
    ("torch.ones(3, 4).view(-1, 5)", "shape '[-1, 5]' is invalid for input of size 12"),
    ("torch.optim.SGD([], lr=0.1)", "optimizer got an empty parameter list"),
    (
        "torch.utils.data.DataLoader([1,2], batch_size=2, collate_fn=None).nope",
        "object has no attribute 'nope'",
    ),
    (
        "x = torch.ones(3, requires_grad=True)\nx[0] = 1",
        "a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    (
        "x = torch.ones(2, requires_grad=True)\ny = torch.ones(2, requires_grad=True)\ntorch.autograd.grad(x.sum(), y)",
        "appears to not have been used in the graph",
    ),
    (
        "x = torch.ones(2, requires_grad=True)\nx.mul_(2)",
        "a leaf Variable that requires grad",
    ),
    ("torch.ones(0).item()", "a Tensor with 0 elements cannot be converted to Scalar"),
    ("bool(torch.ones(0))", "Boolean value of Tensor with no values is ambiguous"),
]
