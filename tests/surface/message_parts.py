"""Parts of messages that programs search for: a program and the part.

Libraries decide by the text of PyTorch's errors what went wrong: array-api-compat reads
its list of devices from one, accelerate tells exhausted memory by another. Those parts
are the same here; what is around them is not. Run by test_mistakes.py;
``tools/check_mistakes.py`` compares them with an installed PyTorch.
"""

MESSAGE_PARTS: list[tuple[str, str]] = [
    ('torch.device("notadevice")', "device type at start of device string: notadevice"),
    ('torch.device("cuda:x")', "Invalid device string: 'cuda:x'"),
    (
        "torch.randn(2, -1)",
        "Trying to create tensor with negative dimension -1: [2, -1]",
    ),
    (
        "torch.arange(0, 1, -1)",
        "upper bound and lower bound inconsistent with step sign",
    ),
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
        "size mismatch for weight: copying a param with shape torch.Size([2, 4]) from checkpoint, "
        "the shape in current model is torch.Size([2, 3])",
    ),
    (
        "nn.Linear(3,2).load_state_dict(nn.Linear(4,2).state_dict())",
        "Error(s) in loading state_dict for Linear",
    ),
    (
        'nn.Linear(3,2).load_state_dict({"x": torch.ones(1)})',
        'Unexpected key(s) in state_dict: "x"',
    ),
    (
        'nn.Linear(3,2).load_state_dict({"x": torch.ones(1)})',
        'Missing key(s) in state_dict: "weight", "bias"',
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
        "torch.zeros(3, 4)[torch.tensor([0, 7])]",
        "index 7 is out of bounds for dimension 0 with size 3",
    ),
    (
        "torch.zeros(3, 4).gather(0, torch.tensor([[5]]))",
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    ("nn.Embedding(3, 4)(torch.tensor([3]))", "index out of range in self"),
    (
        "torch.einsum('ij,jk', torch.ones(2, 3), torch.ones(4, 5))",
        "subscript j has size 4 for operand 1",
    ),
    (
        "torch.einsum('ij', torch.ones(2, 3, 4))",
        "the number of subscripts",
    ),
    (
        "torch.einsum('ij,jk', torch.ones(2, 3))",
        "fewer operands",
    ),
    (
        "torch.einsum('ij->ii', torch.ones(2, 3))",
        "output subscript i appears more than once",
    ),
    (
        "torch.einsum('ij->ik', torch.ones(2, 3))",
        "output subscript k does not appear",
    ),
    (
        "torch.zeros(3).take(torch.tensor([9]))",
        "tried to access index 9 on a tensor of 3 elements",
    ),
    (
        "nn.functional.nll_loss(torch.zeros(2, 3), torch.tensor([0, 5]))",
        "Target 5 is out of bounds",
    ),
    (
        "nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 5]))",
        "Target 5 is out of bounds",
    ),
    (
        "torch.zeros(3).gather(0, torch.tensor([-1]))",
        "index -1 is out of bounds for dimension 0 with size 3",
    ),
    (
        "torch.zeros(3, 4).sum(2)",
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    (
        "torch.zeros(3, 4).unflatten(5, (2, 2))",
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
    ),
    (
        "torch.cat([torch.zeros(2, 3), torch.zeros(3, 4)])",
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1",
    ),
    (
        "torch.stack([torch.zeros(2, 3), torch.zeros(3, 4)])",
        "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [3, 4] at entry 1",
    ),
    (
        "torch.mm(torch.zeros(2, 3), torch.zeros(3, 2).double())",
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    (
        "torch.bmm(torch.zeros(2, 3, 4), torch.zeros(2, 5, 4))",
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]",
    ),
    (
        "nn.Conv2d(3, 4, 3)(torch.zeros(1, 2, 8, 8))",
        "expected input[1, 2, 8, 8] to have 3 channels, but got 2 channels instead",
    ),
    (
        "nn.functional.layer_norm(torch.zeros(2, 3), [4])",
        "expected input with shape [*, 4], but got input of size[2, 3]",
    ),
    (
        "nn.functional.batch_norm(torch.zeros(2, 3), torch.zeros(4), torch.ones(4))",
        "running_mean should contain 3 elements not 4",
    ),
    (
        "torch.zeros(2, 3)[torch.ones(4) > 0]",
        "The shape of the mask [4] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0",
    ),
    (
        "nn.functional.mse_loss(torch.zeros(2, 3), torch.zeros(2, 5))",
        "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1",
    ),
    ("torch.zeros(2, device='meta').sum().item()", "cannot be called on meta tensors"),
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
    (
        "nn.BatchNorm1d(3)(torch.zeros(1, 3))",
        "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])",
    ),
    (
        "nn.LSTM(3, 4)(torch.zeros(2, 5, 7))",
        "input.size(-1) must be equal to input_size. Expected 3, got 7",
    ),
    ("nn.MultiheadAttention(5, 2)", "embed_dim must be divisible by num_heads"),
    (
        "nn.functional.binary_cross_entropy(torch.zeros(2, 3), torch.zeros(2, 4))",
        "Using a target size (torch.Size([2, 4])) that is different to the input size (torch.Size([2, 3]))",
    ),
    (
        "nn.functional.binary_cross_entropy_with_logits(torch.zeros(2, 3), torch.zeros(2, 4))",
        "Target size (torch.Size([2, 4])) must be the same as input size (torch.Size([2, 3]))",
    ),
    (
        "nn.functional.dropout(torch.zeros(2), 1.5)",
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
    (
        "nn.functional.interpolate(torch.zeros(1, 2, 3), 5, mode='bilinear')",
        "Got 3D input, but bilinear mode needs 4D input",
    ),
    ("torch.tensor([[1, 2], [3]])", "expected sequence of length 2 at dim 1 (got 1)"),
    (
        "torch.zeros(2, dtype=torch.int64).requires_grad_()",
        "only Tensors of floating point dtype can require gradients",
    ),
    (
        "torch.zeros(4).split([1, 2])",
        "split_with_sizes expects split_sizes to sum exactly to 4 (input tensor's size at dimension 0), but got split_sizes=[1, 2]",
    ),
    ("torch.zeros(4).reshape(-1, -1)", "only one dimension can be inferred"),
]
