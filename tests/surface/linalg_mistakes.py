"""Mistakes with linear algebra. Part of ``mistakes.py``."""

LINALG_MISTAKES: dict[str, list[tuple[str, str]]] = {
    "linear algebra": [
        ("torch.linalg.cholesky(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.eig(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.eigvals(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.qr(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.ldl_factor(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.lu(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.lu_factor(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.eigh(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.eigvalsh(torch.eye(3).half())", "NotImplementedError"),
        ("torch.linalg.lu(torch.eye(3).long())", "NotImplementedError"),
        ("torch.linalg.lu_factor(torch.eye(3).long())", "NotImplementedError"),
        ("torch.linalg.eigh(torch.eye(3).long())", "NotImplementedError"),
        ("torch.linalg.eigvalsh(torch.eye(3).long())", "NotImplementedError"),
        ("torch.linalg.cholesky(torch.eye(3).long())", "RuntimeError"),
        ("torch.linalg.eig(torch.eye(3).long())", "RuntimeError"),
        ("torch.linalg.qr(torch.eye(3).long())", "RuntimeError"),
        ("torch.linalg.inv(torch.eye(3).long())", "RuntimeError"),
        ("torch.linalg.det(torch.eye(3).long())", "RuntimeError"),
        (
            "torch.linalg.lstsq(torch.eye(3).long(), torch.eye(3).long())",
            "RuntimeError",
        ),
        ("torch.linalg.inv(torch.eye(3).half())", "RuntimeError"),
        (
            "torch.linalg.solve(torch.eye(3).half(), torch.eye(3).half())",
            "NotImplementedError",
        ),
        ("torch.linalg.lstsq(torch.ones(3), torch.ones(3))", "RuntimeError"),
        ("torch.linalg.lstsq(torch.ones(3, 2), torch.ones(2, 1))", "RuntimeError"),
        (
            "torch.linalg.lstsq(torch.ones(3, 2), torch.ones(3, 1).double())",
            "RuntimeError",
        ),
        (
            "torch.linalg.lstsq(torch.ones(3, 2), torch.ones(3, 1), driver='qr')",
            "RuntimeError",
        ),
        (
            "a, p = torch.eye(3), torch.ones(3).int(); "
            "torch.linalg.lu_solve(a[0], p, a)",
            "RuntimeError",
        ),
        (
            "torch.linalg.lu_solve(torch.eye(3), torch.ones(3), torch.eye(3))",
            "RuntimeError",
        ),
        (
            "a, p = torch.eye(3), torch.ones(3).int(); "
            "torch.linalg.lu_solve(a.double(), p, a)",
            "RuntimeError",
        ),
        (
            "a, p = torch.eye(3), torch.ones(3).int(); torch.lu_solve(a, a[0], p)",
            "RuntimeError",
        ),
        (
            "torch.lu_unpack(torch.ones(3), torch.tensor([1, 2, 3]).int())",
            "RuntimeError",
        ),
        ("torch.lu_unpack(torch.eye(3), torch.ones(3))", "RuntimeError"),
        ("torch.ormqr(torch.ones(3), torch.ones(3), torch.eye(3))", "RuntimeError"),
        ("torch.ormqr(torch.eye(3), torch.ones(3, 2), torch.eye(3))", "RuntimeError"),
        (
            "torch.ormqr(torch.eye(3), torch.eye(3)[0].half(), torch.eye(3))",
            "RuntimeError",
        ),
        ("torch.ormqr(torch.eye(3), torch.ones(3), torch.ones(2, 3))", "RuntimeError"),
        ("torch.ormqr(torch.eye(3), torch.ones(3), torch.ones(3))", "RuntimeError"),
        ("torch.orgqr(torch.eye(3), torch.ones(3).double())", "RuntimeError"),
        ("torch.cholesky_inverse(torch.ones(()))", "RuntimeError"),
        ("torch.cholesky_inverse(torch.ones(3, 2))", "RuntimeError"),
        ("torch.masked.cumsum(torch.ones(2), 3)", "IndexError"),
        ("a = torch.ones(2, 2); torch.addmm(a, a, a, beta=1j)", "RuntimeError"),
    ],
}
