// One pass over a pointwise call's arguments: promotion, the key, and the conditions of the fast path.
//
// Internal to kernels/: for pointwise.cpp and foreach.cpp. In a header because it is the hot path.
#pragma once

#include <bit>
#include <optional>

#include "core/defaults.h"
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

// The result of one pass over the arguments.
struct Gathered {
  PointwiseKey key;
  TensorImpl* shaped = nullptr;    // the first operand with dimensions, else the first operand
  uint32_t broadcast_numbers = 0;  // one bit per argument that is a single value for all elements: 0-d, or expanded
  // The other operands, `shaped` among them, have one shape and are row-major; all are on one device.
  bool regular = true;
};

class Gatherer {
 public:
  Gatherer(const OpCall& call, const PointwiseData& data) : call_(call), data_(data) {}

  Gathered gather() {
    if (data_.refuses_bools) data_.refuse_bools(call_);
    Gathered result;
    PointwiseKey::Bits promoted_places = 0;  // 1 in the byte of each promoted tensor
    PointwiseKey::Bits bits = data_.static_codes;
    for (int i = 0; i < data_.num_arguments; ++i) {
      if (data_.roles[i] >= PointwiseData::Role::Static) continue;
      const Value& value = call_.args[i];
      const bool promotes = data_.promoted >> i & 1;
      if (value.tag == Tag::Tensor) [[likely]] {
        const TensorImpl& tensor = *value.tensor;
        add_tensor(result, i, *value.tensor);
        if (promotes) {
          promoted_places |= PointwiseKey::bits_of(i, 1);
          join(tensor.ndim ? dimensioned_ : zero_dim_class(tensor), number_or_own(tensor));
        } else {
          bits |= PointwiseKey::bits_of(i, static_cast<uint8_t>(tensor.dtype));
        }
      } else {
        const bool none = value.tag == Tag::None;
        bits |= PointwiseKey::bits_of(i, none ? PointwiseKey::None : PointwiseKey::Number);
        if (promotes && !none) join(number_, number_dtype(value));
      }
    }
    if (result.shaped && !result.shaped->is_row_major()) [[unlikely]]
      result.regular = false;
    const DType common = common_dtype();
    result.key = PointwiseKey::from_bits(bits | promoted_places * static_cast<uint64_t>(common));
    result.key.set_common(common);
    return result;
  }

 private:
  // The promoted dtype of a rank of arguments (dimensioned, 0-d, numbers); kAbsent: there are none.
  static constexpr uint8_t kAbsent = 255;
  static void join(uint8_t& into, DType dtype) {
    const uint8_t code = static_cast<uint8_t>(dtype);
    if (into == kAbsent) into = code;
    else if (into != code) into = static_cast<uint8_t>(promote(static_cast<DType>(into), dtype));
  }
  static bool is_wrapped(const TensorImpl& tensor) { return tensor.flags & TensorImpl::kWrappedNumber && !tensor.ndim; }
  uint8_t& zero_dim_class(const TensorImpl& tensor) { return is_wrapped(tensor) ? number_ : zero_dim_; }
  static DType number_or_own(const TensorImpl& tensor) {
    if (!is_wrapped(tensor) || category(tensor.dtype) < DTypeCategory::Floating) [[likely]]
      return tensor.dtype;
    return category(tensor.dtype) == DTypeCategory::Floating ? default_dtype() : default_complex_dtype();
  }

  static void add_tensor(Gathered& result, int argument, TensorImpl& tensor) {
    TensorImpl* shaped = result.shaped;
    if (!tensor.is_row_major()) [[unlikely]] {
      if (is_expanded_number(tensor)) result.broadcast_numbers |= 1u << argument;
      else result.regular = false;
    }
    if (tensor.ndim == 0) result.broadcast_numbers |= 1u << argument;
    if (!shaped) {
      result.shaped = &tensor;
      return;
    }
    result.regular &= tensor.device == shaped->device;
    if (tensor.ndim == 0) return;
    if (shaped->ndim == 0) {
      result.shaped = &tensor;
      return;
    }
    result.regular &= tensor.ndim == shaped->ndim;
    for (int axis = 0; axis < tensor.ndim && result.regular; ++axis)
      result.regular = tensor.sizes[axis] == shaped->sizes[axis];
    if (!shaped->is_row_major()) [[unlikely]]
      result.shaped = &tensor;
  }

  // Such as the gradient of a sum.
  static bool is_expanded_number(const TensorImpl& tensor) {
    for (int axis = 0; axis < tensor.ndim; ++axis)
      if (tensor.strides[axis] != 0 && tensor.sizes[axis] != 1) return false;
    return true;
  }

  DType common_dtype() const {
    DType result;
    if (dimensioned_ != kAbsent && zero_dim_ == kAbsent && number_ == kAbsent) [[likely]] {
      result = static_cast<DType>(dimensioned_);
    } else {
      const auto known = [](uint8_t code) {
        return code == kAbsent ? std::nullopt : std::optional(static_cast<DType>(code));
      };
      result = promote_classes(known(dimensioned_), known(zero_dim_), known(number_));
    }
    return data_.int_to_float && category(result) < DTypeCategory::Floating ? default_dtype() : result;
  }

  const OpCall& call_;
  const PointwiseData& data_;
  uint8_t dimensioned_ = kAbsent, zero_dim_ = kAbsent, number_ = kAbsent;
};

// The operands of a call that needs neither promotion nor broadcasting: row-major CPU tensors of one shape, the
// promoted ones of one dtype, and numbers that do not widen it. Most calls are of this kind.
struct UniformCall {
  PointwiseKey key;
  TensorImpl* shaped = nullptr;

  bool fits(const OpCall& call, const PointwiseData& data) {
    uint64_t words[2] = {static_cast<uint64_t>(data.static_codes), static_cast<uint64_t>(data.static_codes >> 64)};
    // A shift of one word takes fewer instructions than one of the whole key.
    const auto add = [&](unsigned i, uint8_t code) { words[i / 8] |= uint64_t{code} << 8 * (i % 8); };
    bool any_promoted = false;
    DTypeCategory widest = DTypeCategory::Bool;
    for (unsigned i = 0; i < data.num_arguments; ++i) {
      if (data.roles[i] >= PointwiseData::Role::Static) continue;
      const Value& value = call.args[i];
      const bool promotes = data.promoted >> i & 1;
      if (value.tag == Tag::Tensor) [[likely]] {
        TensorImpl& tensor = *value.tensor;
        if (!has_shape(tensor)) return false;
        if (promotes) {
          if (any_promoted && tensor.dtype != common_) return false;
          any_promoted = true;
          common_ = tensor.dtype;
        }
        add(i, static_cast<uint8_t>(tensor.dtype));
      } else if (value.tag == Tag::None) {
        add(i, PointwiseKey::None);
      } else {
        if (promotes && value.tag == Tag::Bool && data.refuses_bools) return false;
        if (promotes) widest = std::max(widest, category(number_dtype(value)));
        add(i, PointwiseKey::Number);
      }
    }
    if (!any_promoted) return false;
    const DTypeCategory own = category(common_);
    if (widest > own || (data.int_to_float && own < DTypeCategory::Floating)) return false;
    key = PointwiseKey::from_bits(PointwiseKey::Bits{words[1]} << 64 | words[0]);
    key.set_common(common_);
    return true;
  }

 private:
  bool has_shape(TensorImpl& tensor) {
    constexpr uint16_t kNeeded = TensorImpl::kRowMajor, kChecked = kNeeded | TensorImpl::kWrappedNumber;
    if ((tensor.flags & kChecked) != kNeeded || tensor.device.type != DeviceType::CPU) return false;
    if (!shaped) {
      shaped = &tensor;
      return true;
    }
    if (tensor.ndim != shaped->ndim) return false;
    for (int axis = 0; axis < tensor.ndim; ++axis)
      if (tensor.sizes[axis] != shaped->sizes[axis]) return false;
    return true;
  }

  DType common_{};
};

inline const OpRecord& functional_of(const OpRecord& op) { return op.functional ? *op.functional : op; }
inline PointwiseData& pointwise_data(const OpRecord& op) {
  return static_cast<PointwiseData&>(*functional_of(op).kind_data);
}

// Owns the results of a call until they are handed over.
class OutputList {
 public:
  OutputList() = default;
  ~OutputList() {
    for (int k = 0; k < count_; ++k) Tensor::adopt(tensors_[k]);
  }
  OutputList(const OutputList&) = delete;
  OutputList& operator=(const OutputList&) = delete;

  void add(Tensor tensor) { tensors_[count_++] = tensor.leak(); }
  TensorImpl* operator[](int k) const { return tensors_[k]; }
  // An op may return fewer tensors than it writes (fused optimizer steps return none).
  void give(OpCall& call) {
    const int returned = std::min(count_, static_cast<int>(call.op->schema.returns.size()));
    for (int k = 0; k < returned; ++k) call.rets[k] = Value::of(tensors_[k]);
    for (int k = returned; k < count_; ++k) Tensor::adopt(tensors_[k]);
    count_ = 0;
  }

 private:
  int count_ = 0;
  TensorImpl* tensors_[kMaxMapOutputs];
};

// The 64-bit slot of a number argument; raises if the number does not fit.
uint64_t parameter_bits(const OpCall& call, const ElementFunction::Parameter& parameter);

inline void check_status(const OpCall& call, const ElementFunction& function, int64_t status) {
  if (status) [[unlikely]]
    raise_status(*call.op, status, function.requirements);
}

// Handles any pointwise call: broadcasting, other layouts and dtypes, out=, Meta, many elements, random words.
void run_general(OpCall& call, const PointwiseData& data, const ElementFunction& function);

}  // namespace pellucid
