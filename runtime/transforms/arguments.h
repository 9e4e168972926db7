// A call's arguments with some tensors replaced; and the results of calls.
#pragma once

#include <deque>
#include <vector>

#include "autograd/op_node.h"
#include "core/call_op.h"
#include "core/dispatcher.h"

namespace pellucid {

inline const OpRecord& functional_of(const OpRecord& op) { return op.functional ? *op.functional : op; }

// Copies of the argument values; tensors passed to `own` live as long as this object.
class Arguments {
 public:
  explicit Arguments(const OpCall& call) : values_(call.args, call.args + call.num_args) {}

  // Replaces every tensor by change(tensor, number); numbering as in autograd/derivative.h.
  template <class Change>
  void change_tensors(const OpRecord& op, Change&& change) {
    unsigned number = 0;
    for (uint32_t mask = op.schema.tensor_arguments; mask; mask &= mask - 1) {
      Value& value = values_[static_cast<size_t>(__builtin_ctz(mask))];
      if (value.tag != Tag::TensorList && value.tag != Tag::OptionalTensorList) {
        if (value.tag == Tag::Tensor) value.tensor = change(value.tensor, number);
        ++number;
        continue;
      }
      std::vector<TensorImpl*>& list = lists_.emplace_back(value.tensors, value.tensors + value.length);
      for (TensorImpl*& tensor : list) {
        if (tensor) tensor = change(tensor, number);
        ++number;
      }
      value.tensors = list.data();
    }
  }
  TensorImpl* own(Tensor tensor) { return owned_.emplace_back(std::move(tensor)).get(); }
  Value& operator[](size_t index) { return values_[index]; }
  Value* data() { return values_.data(); }
  // A call of `op` with these arguments, with its results in `rets`.
  OpCall call(const OpRecord& op, Value* rets) {
    return {&op, values_.data(), rets, static_cast<uint8_t>(values_.size()), {}};
  }

 private:
  std::vector<Value> values_;
  std::deque<std::vector<TensorImpl*>> lists_;
  std::deque<Tensor> owned_;
};

// Replaces every tensor that a call returned by change(tensor, number), with lists flattened.
template <class Change>
void change_results(OpCall& call, Change&& change) {
  unsigned number = 0;
  for (size_t i = 0; i < call.op->schema.returns.size(); ++i) {
    Value& value = call.rets[i];
    if (value.tag == Tag::Tensor) {
      value = Value::of(change(Tensor::adopt(value.tensor), number++).leak());
    } else if (value.tag == Tag::TensorList) {
      auto** list = const_cast<TensorImpl**>(value.tensors);
      for (uint32_t k = 0; k < value.length; ++k) list[k] = change(Tensor::adopt(list[k]), number++).leak();
    } else {
      ++number;
    }
  }
}

}  // namespace pellucid
