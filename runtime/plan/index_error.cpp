#include "plan/index_error.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/geometry.h"
#include "kernels/host_shadow.h"

namespace pellucid {
namespace {

// An index tensor, and the dimension that it indexes.
struct Indices {
  TensorImpl* tensor;
  int64_t dim, size;
};

std::optional<int64_t> first_outside(const Indices& indices) {
  const Tensor readable = on_host(*indices.tensor);
  TensorImpl& tensor = *readable;
  const bool is_wide = tensor.dtype == DType::Int64;
  if (!is_wide && tensor.dtype != DType::Int32) return std::nullopt;
  for (int64_t number = 0; number < tensor.numel; ++number) {
    int64_t place = 0, rest = number;
    for (int d = tensor.ndim; d-- > 0; rest /= tensor.sizes[d]) place += rest % tensor.sizes[d] * tensor.strides[d];
    const void* element = tensor.host() + place * static_cast<int64_t>(item_size(tensor.dtype));
    const int64_t index = is_wide ? *static_cast<const int64_t*>(element) : *static_cast<const int32_t*>(element);
    if (index < -indices.size || index >= indices.size) return index;
  }
  return std::nullopt;
}

[[noreturn]] void raise_outside(const OpCall& call, ErrorKind kind, const Indices& indices, int64_t index) {
  raise(kind, "%s(): index out of range in self: index %lld is out of bounds for dimension %lld with size %lld",
        call.op->schema.name.c_str(), static_cast<long long>(index), static_cast<long long>(indices.dim),
        static_cast<long long>(indices.size));
}

// index(x, [None, i]): the k-th tensor indexes dimension k.
void check_list(const OpCall& call, ErrorKind kind, const TensorImpl& self, const Value& list) {
  int64_t dim = 0;
  for (TensorImpl* tensor : list.list()) {
    if (dim >= self.ndim) return;
    const Indices indices{tensor, dim, self.sizes[dim]};
    if (const auto index = tensor ? first_outside(indices) : std::nullopt) raise_outside(call, kind, indices, *index);
    dim += tensor && tensor->dtype == DType::Bool ? tensor->ndim : 1;
  }
}

}  // namespace

void raise_index_error(const OpCall& call, ErrorKind kind, int64_t element) {
  const auto& arguments = call.op->schema.arguments;
  const TensorImpl* self = nullptr;
  int64_t dim = 0;
  bool has_dim = false;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const Value& value = call.args[k];
    const std::string& name = arguments[k].name;
    if (!self && value.is_tensor()) self = value.tensor;
    if (!self) continue;
    if (name == "dim" && value.tag == Tag::Int) {
      has_dim = true;
      dim = wrap_dim(value.integer, self->ndim);
    }
    if (name == "indices" && (value.tag == Tag::OptionalTensorList || value.tag == Tag::TensorList))
      check_list(call, kind, *self, value);
    if (!value.is_tensor() || value.tensor == self || !self->ndim) continue;
    if (name == "target") {  // classes are the second dimension, or the first of a single example
      const Indices classes{value.tensor, 0, self->sizes[std::min<int>(self->ndim - 1, 1)]};
      const auto label = first_outside(classes);
      if (label) raise(kind, "Target %lld is out of bounds.", static_cast<long long>(*label));
    }
    if (name != "index" && name != "indices") continue;
    const bool is_flat = !has_dim && name == "index";  // take, put: indices into the flattened tensor
    const Indices indices{value.tensor, dim, is_flat ? self->numel : self->sizes[dim]};
    const auto index = first_outside(indices);
    if (index && is_flat)
      raise(kind, "%s(): out of range: tried to access index %lld on a tensor of %lld elements.",
            call.op->schema.name.c_str(), static_cast<long long>(*index), static_cast<long long>(self->numel));
    if (index) raise_outside(call, kind, indices, *index);
  }
  raise(kind, "%s(): an index is out of bounds (element %lld of the indices)", call.op->schema.name.c_str(),
        static_cast<long long>(element));
}

}  // namespace pellucid
