"""Parts of tensors: tensor_split, and hsplit, vsplit, dsplit along their dims."""

from itertools import pairwise

from pellucid_compiler.composites import api, composite, require
from pellucid_compiler.composites.views import wrapped


def _splittable(x, dim):
    dim = wrapped(dim, x.dim())
    require(x.dim() > 0, "tensor_split: a scalar has no dim to split")
    return dim


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, "
    "Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"
)
def split_by_tensor(x, places, dim):
    """``tensor_split`` with the number of parts, or the indices, given as a tensor."""
    require(
        places.dim() in (0, 1) and places.dtype == api.int64,
        "tensor_split: the indices or sections are of int64 in a tensor of "
        "no dim or one, not {} in {} dims",
        places.dtype,
        places.dim(),
    )
    require(
        not places.is_meta,
        "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {}",
        places.device,
    )
    if places.dim() == 0:
        return split_evenly(x, int(places), dim)
    return split_at(x, places.tolist(), dim)


@composite(
    "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) "
    "-> Tensor(a)[]"
)
def split_evenly(x, sections, dim):
    """Views of so many parts along ``dim``, whose sizes differ by at most one."""
    dim = _splittable(x, dim)
    require(sections > 0, "tensor_split: {} parts; give at least one", sections)
    least, more = divmod(x.shape[dim], sections)
    parts, begin = [], 0
    for k in range(sections):
        size = least + (k < more)
        parts.append(x.narrow(dim, begin, size))
        begin += size
    return parts


@composite(
    "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) "
    "-> Tensor(a)[]"
)
def split_at(x, indices, dim):
    """Views of the parts along ``dim`` that end at ``indices``."""
    dim = _splittable(x, dim)
    size = x.shape[dim]
    parts = []
    for begin, end in pairwise([0, *indices, size]):
        begin, end, _ = slice(begin, end).indices(size)
        parts.append(x.narrow(dim, begin, max(end - begin, 0)))
    return parts


def _require_dims(name, x, least):
    require(
        x.dim() >= least,
        "{} takes tensors of {} dimensions or more, not {}",
        name,
        least,
        x.dim(),
    )


def _split_into(name, x, sections, dim):
    size = x.shape[dim]
    require(
        sections > 0 and size % sections == 0,
        "{}: a size of {} does not divide into {} parts",
        name,
        size,
        sections,
    )
    return split_evenly(x, sections, dim)


@composite("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def hsplit(x, sections):
    """Equal parts along the second dim; for a vector, along its only one."""
    _require_dims("hsplit", x, 1)
    return _split_into("hsplit", x, sections, min(x.dim() - 1, 1))


@composite("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def hsplit_at(x, indices):
    """Parts along the second dim; for a vector, along its only one."""
    _require_dims("hsplit", x, 1)
    return split_at(x, indices, min(x.dim() - 1, 1))


@composite("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def vsplit(x, sections):
    """Equal parts along the first dim."""
    _require_dims("vsplit", x, 2)
    return _split_into("vsplit", x, sections, 0)


@composite("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def vsplit_at(x, indices):
    """Parts along the first dim."""
    _require_dims("vsplit", x, 2)
    return split_at(x, indices, 0)


@composite("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def dsplit(x, sections):
    """Equal parts along the third dim."""
    _require_dims("dsplit", x, 3)
    return _split_into("dsplit", x, sections, 2)


@composite("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def dsplit_at(x, indices):
    """Parts along the third dim."""
    _require_dims("dsplit", x, 3)
    return split_at(x, indices, 2)
