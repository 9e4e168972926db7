// One pass over a pointwise call's arguments: promotion, the key, and what the fast path asks for.
//
// Internal to kernels/: pointwise.cpp and foreach.cpp. In a header because it is the hot path.
#pragma once

#include <bit>
#include <cstring>
#include <optional>

#include "core/defaults.h"
#include "core/generator.h"
#include "kernels/pointwise.h"

namespace pellucid {

inline DType number_dtype(const Value& value) {
  switch (value.tag) {
    case Tag::Bool: return DType::Bool;
    case Tag::Int: return DType::Int64;
    case Tag::Complex: return default_complex_dtype();
    default: return default_dtype();
  }
}

inline void join(std::optional<DType>& into, DType dtype) { into = into ? promote(*into, dtype) : dtype; }

// What one pass over the arguments learns.
struct Gathered {
  PointwiseKey key;
  DType common;
  TensorImpl* shaped = nullptr;   // the first operand with dimensions, else the first operand
  uint32_t zero_dim = 0;          // bit per argument
  bool same_shape = true;         // of the operands with dimensions
  bool contiguous = true;
  bool same_device = true;
};

class Gatherer {
 public:
  Gatherer(const OpCall& call, const PointwiseData& data) : call_(call), data_(data) {}

  Gathered gather() {
    uint64_t promoted_codes = 0;   // 1 in the nibble of each promoted tensor
    uint64_t bits = data_.static_codes;
    for (int i = 0; i < data_.num_arguments; ++i) {
      if (data_.roles[i] >= PointwiseData::Role::Static) continue;
      const Value& value = call_.args[i];
      const bool promotes = data_.promoted >> i & 1;
      if (value.tag == Tag::Tensor) [[likely]] {
        add_tensor(i, *value.tensor);
        if (promotes) promoted_codes |= uint64_t{1} << (4 * i);
        else bits |= static_cast<uint64_t>(value.tensor->dtype) << (4 * i);
        if (promotes) join_tensor(*value.tensor);
      } else {
        const bool none = value.tag == Tag::None;
        bits |= uint64_t{none ? PointwiseKey::None : PointwiseKey::Number} << (4 * i);
        if (promotes && !none) join(number_, number_dtype(value));
      }
    }
    gathered_.common = common();
    bits |= promoted_codes * static_cast<uint64_t>(gathered_.common);
    gathered_.key = PointwiseKey::from_bits(bits);
    gathered_.key.set_common(gathered_.common);
    return gathered_;
  }

 private:
  void add_tensor(int argument, TensorImpl& tensor) {
    if (tensor.ndim == 0) {
      gathered_.zero_dim |= 1u << argument;
      if (!gathered_.shaped) gathered_.shaped = &tensor;
      else gathered_.same_device &= tensor.device == gathered_.shaped->device;
      return;
    }
    gathered_.contiguous &= tensor.is_contiguous();
    TensorImpl* shaped = gathered_.shaped;
    if (!shaped || shaped->ndim == 0) {
      if (shaped) gathered_.same_device &= tensor.device == shaped->device;
      gathered_.shaped = &tensor;
      return;
    }
    gathered_.same_device &= tensor.device == shaped->device;
    if (tensor.ndim != shaped->ndim || tensor.numel != shaped->numel ||
        std::memcmp(tensor.sizes, shaped->sizes, tensor.ndim * sizeof(int64_t)) != 0)
      gathered_.same_shape = false;
  }

  void join_tensor(const TensorImpl& tensor) {
    if (tensor.ndim) join(dimensioned_, tensor.dtype);
    else if (tensor.flags & TensorImpl::kWrappedNumber) [[unlikely]] join(number_, wrapped_dtype(tensor.dtype));
    else join(zero_dim_, tensor.dtype);
  }
  static DType wrapped_dtype(DType dtype) {
    if (category(dtype) == DTypeCategory::Floating) return default_dtype();
    if (category(dtype) != DTypeCategory::Complex) return dtype;
    return default_complex_dtype();
  }

  DType common() const {
    DType result;
    const bool settled = dimensioned_ && (!zero_dim_ || category(*zero_dim_) <= category(*dimensioned_)) &&
                         (!number_ || category(*number_) <= category(*dimensioned_));
    if (settled) [[likely]] result = *dimensioned_;
    else result = promote_classes(dimensioned_, zero_dim_, number_);
    return data_.int_to_float && category(result) < DTypeCategory::Floating ? default_dtype() : result;
  }

  const OpCall& call_;
  const PointwiseData& data_;
  Gathered gathered_;
  std::optional<DType> dimensioned_, zero_dim_, number_;
};

inline const OpRecord& functional_of(const OpRecord& op) { return op.functional ? *op.functional : op; }
inline PointwiseData& pointwise_data(const OpRecord& op) { return static_cast<PointwiseData&>(*functional_of(op).kind_data); }

// The generator a random call draws from: its Generator argument, else the default one.
Generator& generator_of(const OpCall& call);

// The 64-bit slot of a number argument; raises when it does not fit.
uint64_t parameter_bits(const OpCall& call, const ScalarFunction::Parameter& parameter);

inline void check_status(const OpCall& call, const ScalarFunction& function, int64_t status) {
  if (status) [[unlikely]] raise_status(*call.op, status, function.requirements);
}

// Any pointwise call: broadcasting, other layouts and dtypes, out=, Meta, many elements, random words.
void run_general(OpCall& call, const PointwiseData& data, const ScalarFunction& function);

}  // namespace pellucid
