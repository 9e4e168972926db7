#include "core/stored_values.h"

namespace pellucid {
namespace {

bool is_list_of_numbers(const Value& value) {
  return value.tag == Tag::IntList || value.tag == Tag::FloatList || value.tag == Tag::BoolList;
}

bool is_list_of_tensors(const Value& value) {
  return value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList;
}

bool is_self_contained(const Value& value) {
  switch (value.tag) {
    case Tag::None:
    case Tag::Tensor:
    case Tag::Int:
    case Tag::Float:
    case Tag::Bool:
    case Tag::DType:
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat:
    case Tag::String: return true;
    default: return false;
  }
}

}  // namespace

StoredValues::StoredValues(std::span<const Value> values) : values_(values.begin(), values.end()) {
  size_t num_numbers = 0, num_listed = 0;
  for (const Value& value : values) {
    if (is_list_of_numbers(value)) num_numbers += value.length;
    else if (is_list_of_tensors(value)) num_listed += value.length;
    else complete_ &= is_self_contained(value);
  }
  numbers_.reserve(num_numbers);  // their elements must not move
  listed_.reserve(num_listed);
  for (Value& value : values_) {
    if (value.tag == Tag::Tensor) tensors_.push_back(&value.tensor);
    if (is_list_of_numbers(value)) {
      const int64_t* items = numbers_.data() + numbers_.size();
      numbers_.insert(numbers_.end(), value.integers, value.integers + value.length);
      value.integers = items;
    } else if (is_list_of_tensors(value)) {
      TensorImpl** items = listed_.data() + listed_.size();
      listed_.insert(listed_.end(), value.tensors, value.tensors + value.length);
      for (uint32_t k = 0; k < value.length; ++k)
        if (items[k]) tensors_.push_back(items + k);
      value.tensors = items;
    }
  }
}

}  // namespace pellucid
