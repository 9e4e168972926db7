"""Activation functions."""

from pellucid.lang import exp, log1p, pointwise, where


@pointwise("sigmoid(Tensor self) -> Tensor", int_to_float=True)
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + exp(-x))


@sigmoid.partials("accuracy: the derived slope is 0 * inf below -745")
def _(x, y):
    return y * (1 - y)


@pointwise(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    namespace="nn.functional",
)
def softplus(x, beta, threshold):
    """``log(1 + exp(beta x)) / beta``; linear above ``threshold``, where exp
    could overflow.
    """
    return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)


@softplus.partials("accuracy: the derived second slope loses 7 digits at x = 20")
def _(x, beta, threshold, y):
    return where(x * beta > threshold, 1.0, sigmoid(x * beta))
