"""One-hot vectors of classes."""

from pellucid_compiler.composites import api, composite, require


@composite(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    namespace="nn",
    also=("nn.functional.one_hot",),
    tags="dynamic_output_shape",
)
def one_hot(x, num_classes):
    """1 at the index of each element's class in a new last dim, 0 elsewhere; int64.

    By default, ``num_classes`` is one more than the greatest class.
    """
    if num_classes == -1:
        require(
            x.numel() > 0,
            "one_hot: an empty tensor does not tell the number of classes: give "
            "num_classes",
        )
        num_classes = int(x.max().item()) + 1
    return api._C._pellucid._one_hot(x, num_classes)
