"""Distances and angles of vectors and of rows."""

from pellucid_compiler.composites import api, composite, require


@composite("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", out=True, seen=True)
def dist(a, b, p):
    """The ``p`` norm of all elements of ``self - other``."""
    return api.linalg.vector_norm(a - b, p)


@composite(
    "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
    method=False,
)
def cdist(x1, x2, p, compute_mode):
    """The ``p`` distances of all rows of ``x1`` (..., P, M) and all rows of ``x2``
    (..., R, M): (..., P, R).
    """
    for x in (x1, x2):
        require(
            x.is_floating_point(),
            "cdist only supports floating-point dtypes, not {}: convert with .float()",
            x.dtype,
        )
    require(
        x1.dim() >= 2 and x2.dim() >= 2,
        "cdist compares rows of matrices, and the tensors have {} and {} "
        "dims; unsqueeze(0) makes one row of a vector",
        x1.dim(),
        x2.dim(),
    )
    require(
        x1.shape[-1] == x2.shape[-1],
        "cdist: rows of {} and {} elements",
        x1.shape[-1],
        x2.shape[-1],
    )
    return api.ops.aten._cdist_forward.default(x1, x2, p, compute_mode)


@composite(
    "pdist(Tensor self, float p=2.) -> Tensor",
    method=False,
    also=("nn.functional.pdist",),
)
def pdist(x, p):
    """The ``p`` distances of all pairs of rows, in the order of ``combinations``."""
    require(x.dim() == 2, "pdist takes a matrix, not {} dims", x.dim())
    require(
        x.is_floating_point(),
        "pdist takes floating-point numbers, not {}: convert with .float()",
        x.dtype,
    )
    require(p >= 0, "pdist: p is {}; give 0, a positive number or infinity", p)
    count = x.shape[0]
    places = api.triu_indices(count, count, 1, device=x.device)
    return api.ops.aten._cdist_forward.default(x, x, p, None)[places[0], places[1]]


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, "
    "bool keepdim=False) -> Tensor",
    method=False,
    also=("nn.functional.pairwise_distance",),
)
def pairwise_distance(x1, x2, p, eps, keepdim):
    """The ``p`` norm over the last dim of ``x1 - x2 + eps``."""
    return api.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


@composite(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    method=False,
    also=("nn.functional.cosine_similarity",),
)
def cosine_similarity(x1, x2, dim, eps):
    """The product over ``dim`` of ``x1`` and ``x2``, each over its norm (at least
    ``eps``), when both have the shape that they broadcast to.
    """
    dtype = api.promote_types(x1.dtype, x2.dtype)
    require(
        dtype.is_floating_point,
        "cosine_similarity takes floating-point numbers, not {}",
        dtype,
    )
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        x1, x2 = api.broadcast_tensors(x1, x2)
    norm1 = api.linalg.vector_norm(x1, 2, dim, keepdim=True)
    norm2 = api.linalg.vector_norm(x2, 2, dim, keepdim=True)
    with api.no_grad():
        floor1, floor2 = norm1.clamp_min(eps) - norm1, norm2.clamp_min(eps) - norm2
    return ((x1 / (norm1 + floor1)) * (x2 / (norm2 + floor2))).sum(dim)
