"""``ExponentialFamily``: the marker base class of exponential families."""

from pellucid.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose log density is linear in sufficient statistics."""
