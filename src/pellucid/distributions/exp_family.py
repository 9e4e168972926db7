"""``ExponentialFamily``: a mark of some distributions."""

from pellucid.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose density is an exponential of sums of statistics."""
