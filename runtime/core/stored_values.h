// A copy of a call's arguments that outlives the call: with their lists of numbers, without its tensors.
//
// Used by python/inline_cache.cpp and composite/repeat.cpp, which give the tensors of the next call.
#pragma once

#include <span>
#include <vector>

#include "core/value.h"

namespace pellucid {

class StoredValues {
 public:
  StoredValues() = default;
  explicit StoredValues(std::span<const Value> values);
  StoredValues(StoredValues&&) = default;  // lists stay where they are
  StoredValues& operator=(StoredValues&&) = default;

  // False: a value is of a kind that leads to memory of its call alone.
  bool complete() const { return complete_; }
  size_t size() const { return values_.size(); }
  Value* data() { return values_.data(); }
  const Value* data() const { return values_.data(); }
  // The slots of the tensors, those of lists too, in argument order.
  std::span<TensorImpl** const> tensors() const { return tensors_; }

 private:
  bool complete_ = true;
  std::vector<Value> values_;
  std::vector<int64_t> numbers_;
  std::vector<TensorImpl*> listed_;
  std::vector<TensorImpl**> tensors_;
};

}  // namespace pellucid
