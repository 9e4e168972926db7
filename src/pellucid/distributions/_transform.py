"""``Transform``: the base class of transforms. Read ``transforms.py`` next."""

from __future__ import annotations

import weakref
from typing import Any

from pellucid import Tensor


class Transform:
    """``y = t(x)``, ``x = t.inv(y)``; ``log_abs_det_jacobian(x, y)`` has one number per
    event.

    A subclass defines ``_call``, ``_inverse`` and ``log_abs_det_jacobian``. With
    ``cache_size=1`` the last pair of x and y is cached, and inverting it costs nothing.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size is 0 or 1, not {cache_size}")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inverse_of_this: Any = None
        super().__init__()  # for the other bases of a subclass, such as modules

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inverse_of_this": None}

    @property
    def event_dim(self) -> int:
        """How many dims form one event."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("use domain.event_dim or codomain.event_dim")
        dims: int = self.domain.event_dim
        return dims

    @property
    def inv(self) -> Transform:
        """The inverse."""
        inverse = self._inverse_of_this() if self._inverse_of_this else None
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inverse_of_this = weakref.ref(inverse)
        result: Transform = inverse
        return result

    @property
    def sign(self) -> Any:
        """1 if the transform is increasing, -1 if it is decreasing."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        transform = self.__new__(type(self))
        transform.__dict__.update(self.__dict__)
        Transform.__init__(transform, cache_size)
        return transform

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if not self._cache_size:
            return self._call(x)
        if self._cached_x_y[0] is not x:
            self._cached_x_y = x, self._call(x)
        cached: Tensor = self._cached_x_y[1]
        return cached

    def _inv_call(self, y: Tensor) -> Tensor:
        if not self._cache_size:
            return self._inverse(y)
        if self._cached_x_y[1] is not y:
            self._cached_x_y = self._inverse(y), y
        cached: Tensor = self._cached_x_y[0]
        return cached

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute determinant of the Jacobian at ``x``."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of ``y`` for an x of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of ``x`` for a y of this shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"
