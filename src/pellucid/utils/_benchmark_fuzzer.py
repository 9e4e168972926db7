"""``Fuzzer``: random tensors of random sizes, dtypes and layouts for benchmarks.

Parameters are drawn first, until the tensors that they describe meet their bounds and
the user's constraints; then the tensors are created. ``benchmark.py`` exports the
names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

import pellucid
from pellucid import Tensor

__all__ = [
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "ParameterAlias",
]

_MOST_DRAWS = 1000  # maximal number of draws of parameters for one sample
_Parameters = dict[str, Any]


@dataclass(frozen=True)
class ParameterAlias:
    """In a distribution: the value of another parameter, by its name."""

    alias_to: str


class FuzzedParameter:
    """A random number, or one of several values.

    ``distribution`` is "uniform" or "loguniform" from ``minval`` to ``maxval``, both
    included, integers unless one of them is a float; or a dict of values and
    their probabilities. A ``strict`` parameter is drawn once per sample: others are
    redrawn if a sample does not meet its constraints.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        has_bounds = minval is not None and maxval is not None
        if isinstance(distribution, dict):
            if minval is not None or maxval is not None:
                raise AssertionError(f"{name!r}: values of a dict have no bounds")
            weights = distribution.values()
            if any(p < 0 for p in weights) or not math.isclose(sum(weights), 1):
                raise AssertionError(
                    f"{name!r}: probabilities are >= 0 and add up to 1, not {weights}"
                )
        elif distribution not in ("uniform", "loguniform"):
            raise AssertionError(
                f"{name!r}: distribution is 'uniform', 'loguniform' or a dict, not "
                f"{distribution!r}"
            )
        elif not has_bounds:
            raise AssertionError(f"{name!r}: {distribution} needs minval and maxval")
        self.name = name
        self.strict = strict
        self._bounds = (minval, maxval)
        self._distribution = distribution

    def sample(self, state: np.random.RandomState) -> Any:
        """A value."""
        if isinstance(self._distribution, dict):
            place = state.choice(
                len(self._distribution), p=[*self._distribution.values()]
            )
            return [*self._distribution][place]
        low, high = self._bounds
        assert low is not None and high is not None
        is_whole = isinstance(low, int) and isinstance(high, int)
        if self._distribution == "loguniform":
            number = float(np.exp(state.uniform(math.log(low), math.log(high))))
            return round(number) if is_whole else number
        if is_whole:
            return int(state.randint(int(low), int(high) + 1))
        return float(state.uniform(low, high))


class FuzzedTensor:
    """A random tensor. Sizes and steps are numbers or names of parameters.

    A tensor with steps is a slice of a larger one; with probability
    ``1 - probability_contiguous`` its dims are permuted in memory first.
    ``dim_parameter`` names the parameter that says how many of the sizes there are,
    ``roll_parameter`` the one that rotates them. A ``tensor_constructor`` gets the
    size, ``dtype`` and all parameters by name.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = None,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        if steps is not None and len(steps) != len(size):
            raise AssertionError(f"{name!r}: {len(steps)} steps for {len(size)} sizes")
        if cuda:
            raise NotImplementedError(f"{name!r}: there is no CUDA; leave cuda out")
        self.name = name
        self._size = size
        self._steps = (1,) * len(size) if steps is None else steps
        self._probability_contiguous = probability_contiguous
        self._min_elements = min_elements
        self._max_elements = max_elements
        self._max_bytes = max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._roll_parameter = roll_parameter
        self._dtype = pellucid.float32 if dtype is None else dtype
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **_: Any) -> Tensor:
        """Uniform numbers in [0, 1), integers from 0 to 126, or bools."""
        if dtype.is_floating_point or dtype.is_complex:
            return pellucid.rand(size, dtype=dtype)
        high = 2 if dtype is pellucid.bool else 127
        return pellucid.randint(0, high, size, dtype=dtype)

    def satisfies_constraints(self, params: _Parameters) -> bool:
        """Whether the tensor with these parameters is within its bounds."""
        size, allocated = self._sizes(params)[::2]
        count = math.prod(size)
        nbytes = math.prod(allocated) * self._dtype.itemsize
        return (
            (self._min_elements is None or count >= self._min_elements)
            and (self._max_elements is None or count <= self._max_elements)
            and (self._max_bytes is None or nbytes <= self._max_bytes)
        )

    def _sizes(self, params: _Parameters) -> tuple[Any, Any, Any]:
        """(size, steps, size of the memory)."""
        dims = len(self._size)
        if self._dim_parameter is not None:
            dims = params[self._dim_parameter]
        size, steps = (
            [params[n] if isinstance(n, str) else n for n in values[:dims]]
            for values in (self._size, self._steps)
        )
        if self._roll_parameter is not None:
            shift = params[self._roll_parameter] % max(dims, 1)
            size, steps = (a[-shift:] + a[:-shift] for a in (size, steps))
        return (
            tuple(size),
            tuple(steps),
            tuple(n * step for n, step in zip(size, steps, strict=True)),
        )

    def _make_tensor(
        self, params: _Parameters, state: np.random.RandomState
    ) -> tuple[Tensor, dict[str, Any]]:
        """A tensor and its properties."""
        size, steps, allocated = self._sizes(params)
        tensor = self._constructor(size=allocated, dtype=self._dtype, **params)
        order = list(range(len(size)))
        if len(size) > 1 and state.rand() > self._probability_contiguous:
            order = [int(d) for d in state.permutation(len(size))]
            back = [order.index(d) for d in range(len(size))]
            tensor = tensor.permute(order).contiguous().permute(back)
        tensor = tensor[tuple(slice(None, None, step) for step in steps)]
        return tensor, {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }


class FuzzedSparseTensor(FuzzedTensor):
    """A random sparse COO tensor.

    ``sparse_dim``, ``density`` and ``coalesced`` name parameters: the number of sparse
    dims, the fraction of specified positions, and whether they are distinct.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | None = None,
        nnz: str | None = None,
        density: str | None = None,
        coalesced: str | None = None,
        dtype: Any = None,
        cuda: bool = False,
    ) -> None:
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
        )
        self._sparse_dim, self._nnz = sparse_dim, nnz
        self._density, self._coalesced = density, coalesced

    @staticmethod
    def sparse_tensor_constructor(
        size: Sequence[int], dtype: Any, sparse_dim: int, nnz: int, is_coalesced: bool
    ) -> Tensor:
        """``nnz`` random positions and values; unless ``is_coalesced``, half as many
        positions, each twice.
        """
        places = np.prod(size[:sparse_dim], dtype=np.int64)
        flat = pellucid.randperm(int(places))[:nnz]
        values = FuzzedTensor.default_tensor_constructor(
            [len(flat), *size[sparse_dim:]], dtype
        )
        if not is_coalesced and len(flat) > 1:
            flat[len(flat) // 2 :] = flat[: len(flat) - len(flat) // 2].clone()
        index = pellucid.stack(pellucid.unravel_index(flat, tuple(size[:sparse_dim])))
        tensor = pellucid.sparse_coo_tensor(index, values, tuple(size))
        return tensor.coalesce() if is_coalesced else tensor

    def _make_tensor(
        self, params: _Parameters, state: np.random.RandomState
    ) -> tuple[Tensor, dict[str, Any]]:
        size = self._sizes(params)[0]

        def value_of(name: str | None, default: Any) -> Any:
            return default if name is None else params[name]

        sparse_dim = min(value_of(self._sparse_dim, len(size)), len(size))
        density = value_of(self._density, 0.5)
        nnz = value_of(self._nnz, math.ceil(math.prod(size[:sparse_dim]) * density))
        is_coalesced = bool(value_of(self._coalesced, True))
        tensor = self.sparse_tensor_constructor(
            size, self._dtype, sparse_dim, nnz, is_coalesced
        )
        return tensor, {
            "numel": tensor.numel(),
            "shape": tensor.size(),
            "is_coalesced": tensor.is_coalesced(),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": tensor.sparse_dim(),
            "dense_dim": tensor.dense_dim(),
            "nnz": tensor._nnz(),
            "dtype": str(self._dtype),
        }


class Fuzzer:
    """Samples of tensors with random parameters.

    ``parameters`` and ``tensors`` may be lists of lists. ``constraints`` are functions
    of the dict of all parameters; if one returns False, the sample is redrawn.

    Example::

        fuzzer = Fuzzer(
            [FuzzedParameter(k, 16, 1024, "loguniform") for k in ("m", "n")],
            [FuzzedTensor("x", size=("m", "n"), probability_contiguous=0.7)],
            seed=0,
        )
        for tensors, properties, params in fuzzer.take(10):
            Timer("x.sum()", globals=tensors).blocked_autorange()
    """

    def __init__(
        self,
        parameters: Iterable[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Iterable[FuzzedTensor | Iterable[FuzzedTensor]],
        constraints: Iterable[Callable[[_Parameters], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = (
            int(np.random.RandomState().randint(2**31)) if seed is None else seed
        )
        self._parameters = _unpacked(parameters, FuzzedParameter)
        self._tensors = _unpacked(tensors, FuzzedTensor)
        self._constraints = tuple(constraints or ())
        names = [item.name for item in (*self._parameters, *self._tensors)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"duplicate names of parameters and tensors: {twice}")
        self._drawn = self._rejected = 0

    def take(
        self, n: int
    ) -> Iterator[tuple[dict[str, Tensor], dict[str, Any], _Parameters]]:
        """``n`` times (tensors, their properties, parameters), by name."""
        state = np.random.RandomState(self._seed)
        pellucid.manual_seed(int(state.randint(2**31)))
        for _ in range(n):
            params = self._parameters_of_sample(state)
            sampled = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield (
                {name: tensor for name, (tensor, _) in sampled.items()},
                {name: how for name, (_, how) in sampled.items()},
                params,
            )

    @property
    def rejection_rate(self) -> float:
        """The fraction of draws that did not meet the constraints."""
        return self._rejected / self._drawn if self._drawn else 0.0

    def _parameters_of_sample(self, state: np.random.RandomState) -> _Parameters:
        strict = {p.name: p.sample(state) for p in self._parameters if p.strict}
        for _ in range(_MOST_DRAWS):
            params = {
                p.name: strict[p.name] if p.strict else p.sample(state)
                for p in self._parameters
            }
            for name, value in params.items():
                while isinstance(value, ParameterAlias):
                    value = params[value.alias_to]
                params[name] = value
            self._drawn += 1
            if all(f(params) for f in self._constraints) and all(
                t.satisfies_constraints(params) for t in self._tensors
            ):
                return params
            self._rejected += 1
        raise ValueError(
            f"Fuzzer: none of {_MOST_DRAWS} draws met the constraints; the last one "
            f"was {params}"
        )


def _unpacked(items: Iterable[Any], kind: type) -> tuple[Any, ...]:
    return tuple(
        chain.from_iterable(
            [item] if isinstance(item, kind) else item for item in items
        )
    )
