"""Activations of more than one element: prelu, glu."""

from pellucid_compiler.catalogue.activation import sigmoid
from pellucid_compiler.catalogue.real_only import require_real
from pellucid_compiler.declare import ask, loop, require, tabulate, where, wrap_dim


@loop(
    "prelu(Tensor self, Tensor weight) -> Tensor",
    refuses=("integers", "bool"),
    out=False,
    node="PreluKernelBackward0",
    layout="operand",
    autocast="lower",
    also=("nn.functional.prelu",),
)
def prelu(x, weight):
    """``x`` where positive, else ``weight x``; one weight for all or one per channel
    (He 2015).
    """
    require(
        x.dtype == weight.dtype,
        f"prelu: self is {x.dtype} and weight {weight.dtype}; convert one of them",
    )
    require(
        weight.rank <= 1,
        f"prelu: the weight has rank {weight.rank}; give a number or a vector",
    )
    per_channel = weight.rank == 1 and not ask(weight.shape[0] == 1)
    if per_channel:
        require(x.rank > 0, "prelu: a tensor of rank 0 has no channels")
        channels = x.shape[1] if x.rank > 1 else 1
        require(
            weight.shape[0] == channels,
            "prelu: {} weights for {} channels; give one, or one for each",
            weight.shape[0],
            channels,
        )

    def element(*p):
        slope = weight[p[1]] if per_channel else weight[[0] * weight.rank]
        return where(x[p] > 0, x[p], slope * x[p])

    return tabulate(x.shape, element)


@loop(
    "glu(Tensor self, int dim=-1) -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward="glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
    casts_out=True,
)
def glu(x, dim):
    """``a sigmoid(b)``, a and b the halves of ``x`` along ``dim`` (Dauphin 2017)."""
    require_real("glu", x)
    require(x.rank > 0, "glu: a tensor of rank 0 has no halves")
    dim = wrap_dim(dim, x.rank)
    size = x.shape[dim]
    require(size % 2 == 0, "glu: dim {} has the odd size {} and no halves", dim, size)
    shape = [*x.shape[:dim], size // 2, *x.shape[dim + 1 :]]

    def element(*p):
        gate = x[[*p[:dim], p[dim] + size // 2, *p[dim + 1 :]]]
        return x[p] * sigmoid(gate)

    return tabulate(shape, element)
