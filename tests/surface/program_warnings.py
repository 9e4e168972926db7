"""Programs that warn: a line and the category of PyTorch's warning, "" if it has none.

The categories are PyTorch 2.13's; ``tools/check_mistakes.py`` compares them with it.
Run by test_warnings.py with ``torch``, ``nn`` and ``F``. Some of PyTorch's are given
once in a process: each function is listed once, but where ours differ by arguments.
"""

ADVICE: list[tuple[str, str]] = [
    ("F.kl_div(torch.zeros(2, 3), torch.ones(2, 3))", "UserWarning"),
    ("F.kl_div(torch.zeros(2, 3), torch.ones(2, 3), reduction='sum')", ""),
    ("F.kl_div(torch.zeros(2, 3), torch.ones(2, 3), reduction='batchmean')", ""),
    ("nn.KLDivLoss()(torch.zeros(2, 3), torch.ones(2, 3))", "UserWarning"),
    ("F.mse_loss(torch.ones(3, 1), torch.ones(3))", "UserWarning"),
    ("F.softmax(torch.ones(2))", "UserWarning"),
    ("torch.ones(1, requires_grad=True).item()", ""),
    ("torch.cov(torch.ones(2, 1))", "UserWarning"),
    ("torch.ones(3)[torch.ones(3) > 0]", ""),
    ("torch.meshgrid(torch.ones(2), torch.ones(3))", "UserWarning"),
    ("torch.meshgrid(torch.ones(2), torch.ones(3), indexing='ij')", ""),
    ("torch.ones(2, 3, 4).T", "UserWarning"),
    ("torch.ones(2, 3).T", ""),
    ("torch.tensor(1.0).mT", "UserWarning"),
    ("torch.tensor(1.0).H", "UserWarning"),
    ("torch.tensor(1.0).mH", "UserWarning"),
    ("torch.ones(2).new_tensor(torch.ones(2))", "UserWarning"),
    ("torch.ones(2).new_tensor([1.0])", ""),
    ("torch.ones(2).resize(2)", "UserWarning"),
    ("torch.cross(torch.ones(3, 3), torch.ones(3, 3))", "UserWarning"),
    ("torch.cross(torch.ones(3, 3), torch.ones(3, 3), dim=0)", ""),
    ("torch.chain_matmul(torch.ones(2, 2), torch.ones(2, 2))", "UserWarning"),
    ("torch.range(0, 3)", "UserWarning"),
    ("torch.qr(torch.eye(2))", "UserWarning"),
    ("torch.cholesky(torch.eye(2))", "UserWarning"),
    ("torch.lu(torch.eye(2))", "UserWarning"),
    ("torch.triangular_solve(torch.ones(2, 1), torch.eye(2))", "UserWarning"),
    ("torch.set_default_tensor_type(torch.FloatTensor)", "UserWarning"),
    ("torch.stft(torch.ones(99), 8, return_complex=True)", "UserWarning"),
    ("torch.stft(torch.ones(99), 8, window=torch.ones(8), return_complex=True)", ""),
    (
        "torch.stft(torch.ones(99), 8, window=torch.ones(8), return_complex=False)",
        "UserWarning",
    ),
    ("nn.utils.weight_norm(nn.Linear(2, 2))", "FutureWarning"),
    ("nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))", ""),
    ("nn.NLLLoss2d()", "FutureWarning"),
    ("nn.Hardtanh(min_value=-2.0)", "FutureWarning"),
    ("F.embedding_bag(torch.ones(5, 2), torch.ones(1, 4).long())", "UserWarning"),
    ("torch.cpu.amp.autocast()", "FutureWarning"),
    (
        "nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, "
        "torch.zeros(1, 3) > 0, attn_mask=torch.zeros(3, 3))",
        "UserWarning",
    ),
    ("F.mse_loss(torch.ones(2), torch.ones(2), size_average=False)", "UserWarning"),
    ("nn.Softmax()(torch.ones(2))", "UserWarning"),
    ("(torch.ones(1, requires_grad=True) * 2).grad", "UserWarning"),
    (
        "torch.optim.lr_scheduler.StepLR("
        "torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1), 1).step()",
        "UserWarning",
    ),
    (
        "torch.ones(1, requires_grad=True).sum().backward(create_graph=True)",
        "UserWarning",
    ),
    ("torch.ones(3)[torch.ones(3, dtype=torch.uint8)]", "UserWarning"),
    (
        "torch.ones(3, 4)[torch.ones(3, dtype=torch.uint8)] = torch.ones(3, 4)",
        "UserWarning",
    ),
]
