"""``Distribution``: the base class. Read ``exp_family.py`` next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pellucid
from pellucid import Tensor
from pellucid._package.calls.argument_checks import all_true
from pellucid.distributions import constraints
from pellucid.distributions.utils import lazy_property

Size = pellucid.Size


class Distribution:
    """A distribution over tensors, or a batch of them.

    A sample has the shape ``sample_shape + batch_shape + event_shape``; ``log_prob``
    has one number per event. ``rsample`` is differentiable in the parameters.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[Mapping[str, constraints.Constraint]] = {}
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether arguments and values are checked by default."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()
        super().__init__()  # for the other bases of a subclass

    def _check_arguments(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not isinstance(value, Tensor) or not value.numel():
                continue
            if not all_true(constraint.check(value)):
                raise ValueError(
                    f"{type(self).__name__}: the parameter {name} of shape "
                    f"{tuple(value.shape)} must satisfy {constraint}, but found "
                    f"invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one sample."""
        return self._event_shape

    @property
    def support(self) -> constraints.Constraint:
        """The set of possible values."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected squared distance to the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to ``batch_shape``.

        A subclass with further parameters overrides this and passes an object of its
        own as ``_instance``, to be filled.
        """
        shape = Size(batch_shape)
        expanded = self._get_checked_instance(type(self), _instance)
        expanded.__dict__.update(self.__dict__)
        for name in list(expanded.__dict__):
            if isinstance(getattr(type(self), name, None), lazy_property):
                del expanded.__dict__[name]
        for name in self._given_parameters():
            value = getattr(self, name)
            tail = value.shape[len(self.batch_shape) :]
            setattr(expanded, name, value.expand(shape + tail))
        expanded._batch_shape = shape
        return expanded

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An object without parameters, or the one that a subclass passes."""
        own = type(self).__init__
        if _instance is None and own is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has a constructor of its own and must define "
                "expand() too"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _given_parameters(self) -> list[str]:
        """The tensors among the parameters."""
        return [
            name
            for name in self.arg_constraints
            if isinstance(self.__dict__.get(name), Tensor)
        ]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """A sample without history."""
        with pellucid.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A sample that is differentiable in the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def sample_n(self, n: int) -> Tensor:
        """The old name of ``sample((n,))``."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values, in a new first dim."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The expected ``-log_prob``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        """Raises unless ``value`` is in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("the value given to log_prob must be a Tensor")
        tail = len(value.shape) - len(self._event_shape)
        if value.shape[tail:] != self._event_shape:
            raise ValueError(
                f"a value of shape {tuple(value.shape)} does not end in the event "
                f"shape {tuple(self._event_shape)}"
            )
        try:
            pellucid.broadcast_shapes(
                value.shape, self._batch_shape + self._event_shape
            )
        except RuntimeError as error:
            raise ValueError(
                f"a value of shape {tuple(value.shape)} does not broadcast with the "
                f"shape {tuple(self._batch_shape + self._event_shape)} of a sample"
            ) from error
        try:
            support = self.support
        except NotImplementedError:
            return
        if not all_true(support.check(value)):
            raise ValueError(
                f"{type(self).__name__}: the value must be within the support "
                f"{support}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name in self._given_parameters():
            value = getattr(self, name)
            text = value if value.numel() == 1 else value.size()
            parts.append(f"{name}: {text}")
        return f"{type(self).__name__}({', '.join(parts)})"
