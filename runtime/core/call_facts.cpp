#include "core/call_facts.h"

#include <cstring>

#include "core/defaults.h"
#include "core/tensor.h"

namespace pellucid {

inline void CallFacts::add(uint64_t word) {
  if (count_ == kMaxWords) [[unlikely]] {
    complete_ = false;
    return;
  }
  words_[count_++] = word;
  hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15ull;
}

inline void CallFacts::add_tensor(TensorImpl& tensor) {
  if (num_tensors_ == kMaxTensors) [[unlikely]] {
    complete_ = false;
    return;
  }
  tensors_[num_tensors_++] = &tensor;
  const uint64_t is_number = tensor.flags & TensorImpl::kWrappedNumber ? 1 : 0;  // weak in promotion
  add(static_cast<uint64_t>(Tag::Tensor) | static_cast<uint64_t>(tensor.dtype) << 8 | uint64_t{tensor.ndim} << 16 |
      static_cast<uint64_t>(tensor.device.type) << 24 | is_number << 32 |
      uint64_t{static_cast<uint8_t>(tensor.device.index)} << 40);
  for (int d = 0; d < tensor.ndim; ++d) {
    add(static_cast<uint64_t>(tensor.sizes[d]));
    add(static_cast<uint64_t>(tensor.strides[d]));
  }
}

inline void CallFacts::add_value(const Value& value) {
  const uint64_t tag = static_cast<uint64_t>(value.tag);
  switch (value.tag) {
    case Tag::None: return add(tag);
    case Tag::Tensor: return add_tensor(*value.tensor);
    case Tag::Int:
    case Tag::Float:
    case Tag::Bool:
    case Tag::DType:
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat: add(tag); return add(static_cast<uint64_t>(value.integer));
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList:
      add(tag | uint64_t{value.broadcast_list} << 8 | uint64_t{value.length} << 16);
      for (uint32_t k = 0; k < (value.broadcast_list ? 1 : value.length); ++k)
        add(static_cast<uint64_t>(value.integers[k]));
      return;
    case Tag::TensorList:
    case Tag::OptionalTensorList:
      add(tag | uint64_t{value.length} << 16);
      for (TensorImpl* tensor : value.list())
        if (tensor) add_tensor(*tensor);
        else add(0);
      return;
    case Tag::String:
      add(tag | uint64_t{value.length} << 16);
      for (uint32_t first = 0; first < value.length; first += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, value.string + first, std::min<size_t>(value.length - first, sizeof word));
        add(word);
      }
      return;
    default: complete_ = false;
  }
}

CallFacts::CallFacts(const OpCall& call) {
  add(static_cast<uint64_t>(default_dtype()) | static_cast<uint64_t>(call.op->variant) << 8);
  for (int k = 0; k < call.num_args && complete_; ++k) add_value(call.args[k]);
}

}  // namespace pellucid
