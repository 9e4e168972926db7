// A copy of a call's arguments that outlives the call: it includes lists of numbers but no tensors.
//
// Used by python/inline_cache.cpp and intrinsics/repeat.cpp, which fill in the tensors of the next call.
#pragma once

#include <span>
#include <vector>

#include "core/value.h"

namespace pellucid {

class StoredValues {
 public:
  StoredValues() = default;
  explicit StoredValues(std::span<const Value> values);
  StoredValues(const StoredValues& other) : StoredValues(std::span(other.values_)) {}
  StoredValues(StoredValues&&) = default;  // lists do not move
  StoredValues& operator=(StoredValues&&) = default;

  // False if a value's kind refers to memory of its call only.
  bool complete() const { return complete_; }
  size_t size() const { return values_.size(); }
  Value* data() { return values_.data(); }
  const Value* data() const { return values_.data(); }
  // The slots of the tensors, including those in lists, in argument order.
  std::span<TensorImpl** const> tensors() const { return tensors_; }

 private:
  bool complete_ = true;
  std::vector<Value> values_;
  std::vector<int64_t> numbers_;
  std::vector<TensorImpl*> listed_;
  std::vector<TensorImpl**> tensors_;
};

}  // namespace pellucid
