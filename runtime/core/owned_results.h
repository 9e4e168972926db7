// OwnedResults: owns the boxed results of a finished call, one reference each. Results that are neither taken nor
// passed on are released at the end of the scope, also when an exception leaves it.
//
// For code that calls an op and unpacks its results, and for handlers that may fail after their op ran. A call
// that raises leaves no results: construct the scope after the call.
#pragma once

#include <utility>

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

class OwnedResults {
 public:
  explicit OwnedResults(const OpCall& call) : rets_(call.rets), count_(call.op->schema.returns.size()) {}
  ~OwnedResults() {
    if (rets_) [[unlikely]]
      release();
  }
  OwnedResults(const OwnedResults&) = delete;
  OwnedResults& operator=(const OwnedResults&) = delete;

  // Passes ownership of the results on to the caller's caller.
  void pass_on() { rets_ = nullptr; }

  // Calls visit(Tensor) with each tensor, including the elements of lists; a null tensor for an absent one.
  template <class Visit>
  void take_each(Visit&& visit) {
    for (size_t i = 0; i < count_; ++i) {
      Value& result = rets_[i];
      if (is_list(result)) {
        for (TensorImpl*& tensor : elements(result)) visit(Tensor::adopt(std::exchange(tensor, nullptr)));
        free_list(result);
      } else {
        visit(result.tag == Tag::Tensor ? Tensor::adopt(std::exchange(result.tensor, nullptr)) : Tensor());
      }
    }
    rets_ = nullptr;
  }

 private:
  static bool is_list(const Value& value) {
    return value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList;
  }
  static std::span<TensorImpl*> elements(const Value& list) {
    return {const_cast<TensorImpl**>(list.tensors), list.length};
  }
  static void free_list(Value& list) {
    delete[] const_cast<TensorImpl**>(list.tensors);
    list = Value{};
  }
  void release();

  Value* rets_;  // null: passed on, or taken
  size_t count_;
};

}  // namespace pellucid
