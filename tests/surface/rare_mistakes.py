"""Mistakes that random programs found: errors of PyTorch's type where sizes are read
before they are checked, or a dtype is refused. Part of ``mistakes.py``.
"""

RARE_MISTAKES: dict[str, list[tuple[str, str]]] = {
    "dims that are missing": [
        ("torch.baddbmm(torch.ones(3), torch.ones(3), torch.ones(3))", "IndexError"),
        ("torch.baddbmm(*3 * [torch.ones(2, 3)])", "IndexError"),
        (
            "torch.addbmm(torch.ones(2), torch.ones(2, 2), torch.ones(2, 2, 2))",
            "RuntimeError",
        ),
        ("torch.addbmm(*3 * [torch.ones(2, 2)])", "IndexError"),
        ("torch.addbmm(*3 * [torch.ones(())])", "IndexError"),
        ("torch.mv(torch.ones(()), torch.ones(3))", "IndexError"),
        ("torch.mv(torch.ones(3), torch.ones(3))", "RuntimeError"),
        (
            "torch.batch_norm(torch.ones(3), None, None, None, None, True, 0.1, 0.1, "
            "False)",
            "IndexError",
        ),
        ("torch.rms_norm(torch.ones(2, 3), [2, 2, 1])", "ValueError"),
        ("F.adaptive_max_pool2d(torch.ones(3), [1, 1])", "ValueError"),
        ("F.adaptive_avg_pool3d(torch.ones(2, 3), [1, 1, 1])", "ValueError"),
        ("F.max_unpool2d(torch.ones(3), torch.arange(3), 2)", "IndexError"),
        ("torch.cross(torch.ones(3, 3), torch.ones(3), dim=0)", "RuntimeError"),
        (
            "torch.embedding_renorm_(torch.ones(1, 2, 2), torch.tensor([0]), 1.0, 2.0)",
            "RuntimeError",
        ),
    ],
    "sizes and numbers": [
        ("torch.zeros(2, 0).kthvalue(1, 1)", "IndexError"),
        ("torch.tensor(1.0).index_select(0, torch.arange(3))", "RuntimeError"),
        (
            "torch.lstm_cell(torch.ones(2, 3), [torch.ones(2, 3)], "
            "*2 * [torch.ones(12, 3)])",
            "RuntimeError",
        ),
        ("torch.trapezoid(torch.ones(3), dx=True)", "RuntimeError"),
        ("torch.cumulative_trapezoid(torch.ones(3), dx=1j)", "RuntimeError"),
        (
            "torch.addr(torch.ones(3, 3), torch.ones(3), torch.ones(3), beta=True)",
            "RuntimeError",
        ),
        (
            "torch._scaled_mm(*2 * [torch.ones(2, 2)], *2 * [torch.ones(())])",
            "ValueError",
        ),
    ],
    "dtypes without a kernel": [
        (
            "torch.bitwise_left_shift(*2 * [torch.tensor([True])])",
            "NotImplementedError",
        ),
        ("torch.arange(3).cumsum(0, dtype=torch.bool)", "NotImplementedError"),
        ("torch.arange(3).cumprod(0, dtype=torch.bool)", "NotImplementedError"),
        ("torch.arange(2, dtype=torch.bool)", "NotImplementedError"),
        ("torch.range(0, 1, dtype=torch.bool)", "NotImplementedError"),
        ("torch.ones(2, dtype=torch.complex64).mvlgamma(1)", "NotImplementedError"),
        ("torch.arange(3).repeat_interleave(torch.ones(3))", "NotImplementedError"),
        ("torch.ones(3).norm(0, dtype=torch.half)", "RuntimeError"),
        ("torch.ones(3).half().norm(dtype=torch.bfloat16)", "RuntimeError"),
        ("torch.norm_except_dim(torch.arange(3))", "RuntimeError"),
        ("torch.ones(2, 2).cumsum_(0, dtype=torch.float64)", "RuntimeError"),
        ("torch.ones(2, 2).cumprod_(0, dtype=torch.int64)", "RuntimeError"),
    ],
    "writes at an index whose operands share the memory": [
        (f"x = torch.zeros(3, dtype=torch.int64); {call}", "RuntimeError")
        for call in (
            "x.scatter_(0, x, x)",
            "x.scatter_(0, x, 2)",
            "x.scatter_add_(0, torch.tensor([0, 1, 2]), x)",
            "x.scatter_reduce_(0, torch.tensor([0, 1, 2]), x, 'amax')",
            "x.index_add_(0, x, torch.arange(3))",
            "x.index_copy_(0, torch.tensor([0, 1, 2]), x)",
            "x.index_fill_(0, x, 2)",
            "x.index_put_((x,), torch.arange(3))",
            "x.put_(torch.tensor([0, 1, 2]), x)",
            "torch.gather(x, 0, x, out=x)",
            "torch.take(torch.arange(3), x, out=x)",
        )
    ],
    "dtypes of norms and powers": [
        (
            "torch.linalg.matrix_norm(torch.eye(2).double(), 1, dtype=torch.float32)",
            "RuntimeError",
        ),
        ("torch.linalg.vander(torch.tensor([True, False]))", "RuntimeError"),
    ],
    "no elements": [
        ("torch.linalg.vector_norm(torch.ones(0), -1)", "RuntimeError"),
        ("torch.linalg.vector_norm(torch.ones(0, 2), torch.inf, 0)", "RuntimeError"),
        ("torch.norm(torch.ones(0), -1, [0])", "RuntimeError"),
        ("torch.tensor(1).repeat_interleave(2, 0)", "IndexError"),
    ],
}
