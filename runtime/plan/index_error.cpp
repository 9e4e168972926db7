#include "plan/index_error.h"

#include <optional>
#include <string>

#include "core/error.h"
#include "kernels/host_shadow.h"
#include "plan/key.h"

namespace pellucid {
namespace {

std::optional<int64_t> first_outside(TensorImpl& indices, int64_t low, int64_t high) {
  const Tensor readable = on_host(indices);
  TensorImpl& tensor = *readable;
  const bool is_wide = tensor.dtype == DType::Int64;
  if (!is_wide && tensor.dtype != DType::Int32) return std::nullopt;
  for (int64_t number = 0; number < tensor.numel; ++number) {
    int64_t place = 0, rest = number;
    for (int d = tensor.ndim; d-- > 0; rest /= tensor.sizes[d]) place += rest % tensor.sizes[d] * tensor.strides[d];
    const void* element = tensor.host() + place * static_cast<int64_t>(item_size(tensor.dtype));
    const int64_t index = is_wide ? *static_cast<const int64_t*>(element) : *static_cast<const int32_t*>(element);
    if (index < low || index >= high) return index;
  }
  return std::nullopt;
}

// `text` with the numbers for its first {} and the one after it.
std::string filled(std::string text, int64_t first, int64_t second) {
  for (const int64_t number : {first, second})
    if (const size_t place = text.find("{}"); place != std::string::npos)
      text.replace(place, 2, std::to_string(number));
  return text;
}

[[noreturn]] void raise_outside(const Plan& plan, const OpCall& call, const IndexedDim& indexed, int64_t size,
                                int64_t index) {
  if (!plan.index_message.empty()) throw Error(plan.index_error, filled(plan.index_message, index, size));
  const std::string of =
      indexed.size_dim < 0 ? "elements in row-major order" : "dimension " + std::to_string(indexed.dim);
  raise(plan.index_error, "%s(): index out of range in self: index %lld is out of bounds for %s with size %lld",
        call.op->schema.name.c_str(), static_cast<long long>(index), of.c_str(), static_cast<long long>(size));
}

}  // namespace

void raise_index_error(const Plan& plan, const OpCall& call, int64_t element) {
  const FlatTensors inputs(call);
  for (const IndexedDim& indexed : plan.indexed) {
    const TensorImpl& of = *inputs.span()[indexed.size_of];
    const int64_t size = indexed.size_dim < 0 ? of.numel : of.sizes[indexed.size_dim];
    const auto index = first_outside(*inputs.span()[indexed.index], indexed.wraps ? -size : 0, size);
    if (index) raise_outside(plan, call, indexed, size, *index);
  }
  raise(plan.index_error, "%s(): an index is out of bounds (element %lld of the indices)", call.op->schema.name.c_str(),
        static_cast<long long>(element));
}

}  // namespace pellucid
