"""Semi-structured weights: of four consecutive elements two are stored, for float32 one
of two. See docs/sparse.md.

A tensor is a subclass with its components as attributes, as in PyTorch: ``packed``, the
stored elements, and ``meta``, their positions. Products decode it and multiply: this
saves memory, not time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import pellucid
from pellucid import Tensor
from pellucid._package.calls.deprecation import advise
from pellucid.sparse._semi_structured_conversions import (
    sparse_semi_structured_from_dense_cutlass as _encoded,
)
from pellucid.sparse._semi_structured_conversions import (
    sparse_semi_structured_to_dense_cutlass as _decoded,
)

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "to_sparse_semi_structured",
]


class _Sizes(NamedTuple):
    """The sizes of a dtype's matrices must be multiples of these."""

    sparse_min_rows: int
    sparse_min_cols: int
    dense_min_rows: int
    dense_min_cols: int


class SparseSemiStructuredTensor(Tensor):
    """A matrix that stores a fixed number of elements of every group.

    The base of PyTorch's two formats; made by ``from_dense`` of one of them.
    """

    _DEFAULT_ALG_ID: ClassVar[int] = 0
    _DTYPE_SHAPE_CONSTRAINTS: ClassVar[dict[Any, _Sizes]] = {}
    _FORCE_CUTLASS: ClassVar[bool] = True
    _FUSE_TRANSPOSE: ClassVar[bool] = False
    _PROTOTYPE_WARNING_SHOWN: ClassVar[bool] = False
    BACKEND: ClassVar[str]
    SPARSE_DISPATCH: ClassVar[dict[Any, Callable[..., Any]]]
    _PARTS = ("packed", "meta", "packed_t", "meta_t", "compressed_swizzled_bitmask")

    packed: Tensor | None
    meta: Tensor | None
    packed_t: Tensor | None
    meta_t: Tensor | None
    compressed_swizzled_bitmask: Tensor | None
    fuse_transpose_cusparselt: bool
    alg_id_cusparselt: int
    __torch_function__: Any = pellucid._C._disabled_torch_function_impl

    @staticmethod
    def __new__(
        cls: type[SparseSemiStructuredTensor],
        shape: Any,
        packed: Tensor | None,
        meta: Tensor | None,
        packed_t: Tensor | None,
        meta_t: Tensor | None,
        compressed_swizzled_bitmask: Tensor | None = None,
        fuse_transpose_cusparselt: bool = False,
        alg_id_cusparselt: int = 0,
        requires_grad: bool = False,
    ) -> Any:
        if not cls._PROTOTYPE_WARNING_SHOWN:
            SparseSemiStructuredTensor._PROTOTYPE_WARNING_SHOWN = True
            advise(
                "SparseSemiStructuredTensor is a prototype in PyTorch: it may change"
            )
        cls._load_dispatch_table()
        stored = packed if packed is not None else packed_t
        if stored is None:
            raise ValueError("at least one of packed and packed_t is needed")
        made: Any = Tensor._make_wrapper_subclass(
            cls,
            shape,
            dtype=stored.dtype,
            device=stored.device,
            layout=stored.layout,
            requires_grad=requires_grad,
        )
        parts = packed, meta, packed_t, meta_t, compressed_swizzled_bitmask
        for name, part in zip(cls._PARTS, parts, strict=True):
            setattr(made, name, part)
        made.fuse_transpose_cusparselt = fuse_transpose_cusparselt
        made.alg_id_cusparselt = alg_id_cusparselt
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{type(self).__name__}(shape={self.shape})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (type(self), *self._facts(), self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = self.detach().clone().requires_grad_(self.requires_grad)
        return memo.setdefault(id(self), copied)

    def __tensor_flatten__(self) -> tuple[list[str], tuple[Any, ...]]:
        there = [name for name in self._PARTS if getattr(self, name) is not None]
        return there, (self.shape, *self._settings(), self.requires_grad)

    @classmethod
    def __tensor_unflatten__(
        cls, inner_tensors: Any, tensor_meta: Any, outer_size: Any, outer_stride: Any
    ) -> Any:
        shape, *settings = tensor_meta
        parts = (inner_tensors.get(name) for name in cls._PARTS)
        return cls(shape, *parts, *settings)

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        rule = cls.SPARSE_DISPATCH.get(func._overloadpacket)
        if rule is None:
            raise NotImplementedError(
                f"{cls.__name__} has no {func.__name__}: products, t(), detach() and "
                "clone() are there; use to_dense() for others"
            )
        return rule(func, types, args, kwargs)

    @classmethod
    def _load_dispatch_table(cls, custom_dispatch_table: Any = None) -> None:
        """Builds the table of ops once, including the caller's own ops."""
        if getattr(cls, "SPARSE_DISPATCH", None) is None:
            table = {getattr(pellucid.ops.aten, name): r for name, r in _RULES.items()}
            cls.SPARSE_DISPATCH = table | (custom_dispatch_table or {})

    @classmethod
    def from_dense(
        cls, original_tensor: Tensor, alg_id: int = _DEFAULT_ALG_ID
    ) -> SparseSemiStructuredTensor:
        """The matrix in this format."""
        raise NotImplementedError(f"{cls.__name__} is the base of the formats")

    def _mm(self, B: Tensor, *, bias: Tensor | None = None, **options: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no product")

    def to_dense(self, *args: Any, **kwargs: Any) -> Tensor:
        """The matrix, with 0 for elements that are not stored."""
        if self.requires_grad and pellucid.is_grad_enabled():
            identity = pellucid.eye(self.shape[-1], dtype=self.dtype)
            product: Tensor = pellucid.mm(self, identity)
            return product
        return self._whole()

    def values(self) -> Tensor:
        """The stored elements."""
        return self._stored("packed").detach()

    def indices(self) -> Tensor:
        """The words with the positions of the stored elements."""
        return self._stored("meta")

    def _stored(self, name: str) -> Tensor:
        part: Tensor | None = getattr(self, name)
        if part is None:
            raise RuntimeError(
                f"a transposed {type(self).__name__} has no {name}: t() it first"
            )
        return part

    def _whole(self) -> Tensor:
        if self.packed is not None and self.meta is not None:
            return _decoded(self.packed, self.meta)
        return _decoded(self._stored("packed_t"), self._stored("meta_t")).t()

    def _settings(self) -> tuple[bool, int]:
        return self.fuse_transpose_cusparselt, self.alg_id_cusparselt

    def _facts(self) -> tuple[Any, ...]:
        """The components for a new tensor like this one, without its gradient."""
        parts = (getattr(self, name) for name in self._PARTS)
        return (pellucid.Size(self.shape), *parts, *self._settings())

    @classmethod
    def _validate_device_dim_dtype_shape(cls, original_tensor: Tensor) -> None:
        """RuntimeError for a matrix that the format does not support."""
        x = original_tensor
        if x.device.type != "cpu":
            raise RuntimeError(f"a matrix on the CPU is expected, not on {x.device}")
        if x.dim() != 2:
            raise RuntimeError(f"a matrix is expected, not a tensor of {x.dim()} dims")
        if not x.is_contiguous():
            raise RuntimeError("the matrix is not contiguous: call contiguous() first")
        sizes = cls._DTYPE_SHAPE_CONSTRAINTS.get(x.dtype)
        if sizes is None:
            raise RuntimeError(f"{cls.__name__} has no format for {x.dtype}")
        multiples = sizes.sparse_min_rows, sizes.sparse_min_cols
        pairs = list(zip(x.shape, multiples, strict=True))
        if any(size < least or size % least for size, least in pairs):
            raise RuntimeError(
                f"the sizes of a matrix of {x.dtype} are multiples of {multiples}, and "
                f"this one has {tuple(x.shape)}"
            )


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """CUTLASS's format: stored elements and words in separate tensors."""

    BACKEND = "cutlass"
    _DTYPE_SHAPE_CONSTRAINTS: ClassVar[dict[Any, _Sizes]] = {
        pellucid.int8: _Sizes(16, 128, 16, 16),
        pellucid.float16: _Sizes(32, 64, 8, 8),
        pellucid.bfloat16: _Sizes(32, 64, 8, 8),
        pellucid.float32: _Sizes(32, 32, 4, 4),
    }

    @classmethod
    def from_dense(
        cls,
        original_tensor: Tensor,
        alg_id: int = SparseSemiStructuredTensor._DEFAULT_ALG_ID,
    ) -> SparseSemiStructuredTensor:
        """The matrix in this format; see ``to_sparse_semi_structured``."""
        cls._validate_device_dim_dtype_shape(original_tensor)
        packed, meta = _encoded(original_tensor.detach())
        parts = packed, meta, None, None, None
        made: SparseSemiStructuredTensor = cls(
            original_tensor.shape, *parts, requires_grad=original_tensor.requires_grad
        )
        return made

    def _mm(
        self,
        B: Tensor,
        *,
        bias: Tensor | None = None,
        should_transpose_dense: bool = False,
        **options: Any,
    ) -> Tensor:
        """``self @ B + bias``, or ``(self @ B.t() + bias).t()``."""
        if isinstance(B, SparseSemiStructuredTensor):
            raise ValueError("two semi-structured matrices cannot be multiplied")
        if self.dim() != 2 or B.dim() != 2:
            raise NotImplementedError(
                f"{type(self).__name__}: products of matrices alone, without batches"
            )
        dense = B.t() if should_transpose_dense else B
        made = self._product(dense, bias)
        return made.t() if should_transpose_dense else made

    def _product(self, dense: Tensor, bias: Tensor | None) -> Tensor:
        if self.dtype != dense.dtype:
            raise RuntimeError(
                f"both matrices need one dtype, they have {self.dtype} and "
                f"{dense.dtype}"
            )
        is_int8 = self.dtype == pellucid.int8
        multiply = pellucid._int_mm if is_int8 else pellucid.mm
        made: Tensor = multiply(self._whole(), dense)
        return made if bias is None else made + bias.unsqueeze(-1)


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The format of cuSPARSELt, which only that GPU library supports."""

    BACKEND = "cusparselt"
    _DTYPE_SHAPE_CONSTRAINTS: ClassVar[dict[Any, _Sizes]] = {
        pellucid.float8_e4m3fn: _Sizes(32, 32, 16, 16),
        pellucid.int8: _Sizes(32, 32, 16, 16),
        pellucid.float16: _Sizes(16, 16, 8, 8),
        pellucid.bfloat16: _Sizes(16, 16, 8, 8),
    }

    @classmethod
    def from_dense(
        cls,
        original_tensor: Tensor,
        alg_id: int = SparseSemiStructuredTensor._DEFAULT_ALG_ID,
    ) -> SparseSemiStructuredTensor:
        """Raises NotImplementedError: there is no cuSPARSELt."""
        cls._validate_device_dim_dtype_shape(original_tensor)
        raise NotImplementedError(
            "Could not run 'aten::_cslt_compress' with arguments from the 'CPU' "
            "backend: take SparseSemiStructuredTensorCUTLASS"
        )


def to_sparse_semi_structured(
    original_tensor: Tensor,
    transposed: bool = False,
    alg_id: int = SparseSemiStructuredTensor._DEFAULT_ALG_ID,
) -> SparseSemiStructuredTensor:
    """A matrix with two of four elements stored, of float32 with one of two.

    In CUTLASS's format, unless the program clears
    ``SparseSemiStructuredTensor._FORCE_CUTLASS``. RuntimeError for a dtype or sizes
    that the format does not support. Other nonzero elements are lost.
    Example::

        >>> import pellucid as torch
        >>> weight = torch.tensor([0.0, 1.0]).tile(32, 16)
        >>> sparse = torch.sparse.to_sparse_semi_structured(weight)
        >>> torch.equal(sparse.to_dense(), weight)
        True
    """
    if transposed:
        advise("transposed= has no effect and will be removed", FutureWarning)
    is_cutlass = SparseSemiStructuredTensor._FORCE_CUTLASS
    kind: type[SparseSemiStructuredTensor] = (
        SparseSemiStructuredTensorCUTLASS
        if is_cutlass
        else SparseSemiStructuredTensorCUSPARSELT
    )
    return kind.from_dense(original_tensor, alg_id=alg_id)


def _rebuilt(kind: Any, *facts: Any) -> Any:
    """Called by pickles."""
    return kind(*facts)


# The implementations of ops: (op, types, arguments, named arguments).


def _detach(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return type(args[0])(*args[0]._facts())


def _clone(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    facts = (x.clone() if isinstance(x, Tensor) else x for x in args[0]._facts())
    return type(args[0])(*facts)


def _transpose(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    shape, packed, meta, packed_t, meta_t, mask, *settings = args[0]._facts()
    mask = mask if mask is None else mask.transpose(0, 1)
    turned = pellucid.Size(tuple(shape)[::-1])
    return type(args[0])(turned, packed_t, meta_t, packed, meta, mask, *settings)


def _view(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if tuple(args[1]) != tuple(args[0].shape):
        raise NotImplementedError(
            f"a semi-structured matrix has no view of the shape {tuple(args[1])}: it "
            f"has {tuple(args[0].shape)}"
        )
    return args[0]


def _product(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    first, second = args
    if first.dim() != 2 or second.dim() != 2:
        raise NotImplementedError(
            "products of semi-structured matrices are of two matrices, without batches"
        )
    if isinstance(first, SparseSemiStructuredTensor):
        return first._mm(second)
    return second.t()._mm(first, should_transpose_dense=True)


def _sum_of_product(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    bias, first, second = args
    if kwargs:
        raise NotImplementedError(f"addmm of a semi-structured matrix with {kwargs}")
    if first.dim() != 2 or second.dim() != 2 or bias.dim() != 1:
        raise NotImplementedError(
            "addmm of a semi-structured matrix takes a vector and two matrices"
        )
    if isinstance(first, SparseSemiStructuredTensor):
        raise NotImplementedError("addmm: only the last matrix can be semi-structured")
    return second.t()._mm(first, bias=bias, should_transpose_dense=True)


def _linear(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    x, weight, *bias = args
    rows = x.reshape(-1, x.shape[-1])
    given = bias[0] if bias else None
    made = weight._mm(rows, bias=given, should_transpose_dense=True)
    return made.reshape(*x.shape[:-1], made.shape[-1])


_RULES: dict[str, Callable[..., Any]] = {
    "detach": _detach,
    "clone": _clone,
    "t": _transpose,
    "view": _view,
    "mm": _product,
    "matmul": _product,
    "addmm": _sum_of_product,
    "linear": _linear,
}
