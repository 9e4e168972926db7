// Repeated calls of intrinsics: an intrinsic's decision depends only on the facts of its call (core/call_facts.h),
// so the next call with the same facts skips it. Included only by files of this folder.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "core/call_facts.h"
#include "intrinsics/give.h"

namespace pellucid::intrinsics {

// Returns the results of `op` on the intrinsic's first tensor and `others`, which are not tensors. Preparing that
// call also prepares the intrinsic's.
void give_call(OpCall& call, const OpRecord& op, std::initializer_list<Value> others);

template <class Make>
struct PreparedFactory final : Prepared {
  explicit PreparedFactory(Make how) : make(std::move(how)) {}
  bool run(OpCall& call, std::span<TensorImpl* const> tensors) const override {
    give(call, make(tensors));
    return true;
  }
  const Make make;
};

// Repeated calls return `describe()(tensors)`; `describe` runs only if preparation is requested.
template <class Describe>
void prepare_factory(OpCall& call, Describe&& describe) {
  PreparationRequest* request = preparation_request_of(call);
  if (request) request->made = std::make_unique<PreparedFactory<decltype(describe())>>(describe());
}

// Returns `make(tensors)` of the intrinsic's tensors, in this call and in repeated ones.
template <class Make>
void give_made(OpCall& call, Make make) {
  TensorImpl* const first[] = {call.num_args && call.args[0].is_tensor() ? call.args[0].tensor : nullptr};
  give(call, make(std::span<TensorImpl* const>(first, first[0] ? 1 : 0)));
  prepare_factory(call, [&] { return std::move(make); });
}

// Returns the intrinsic's first tensor unchanged.
inline void give_unchanged(OpCall& call) {
  give_made(call, [](std::span<TensorImpl* const> tensors) { return Tensor::share(tensors[0]); });
}

}  // namespace pellucid::intrinsics
