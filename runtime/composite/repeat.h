// Repeated calls of composites: what one decided follows from the facts of its call (core/call_facts.h), so
// that the next call with these facts goes straight to the outcome. Included by the files of this folder only.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "composite/give.h"
#include "core/call_facts.h"

namespace pellucid::composite {

// Returns the results of `op` on the composite's first tensor and `others`, which are not tensors. Preparing that
// call prepares the composite's.
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

// Repeated calls return `describe()(tensors)`; `describe` runs only when preparation is requested.
template <class Describe>
void prepare_factory(OpCall& call, Describe&& describe) {
  PreparationRequest* request = preparation_request_of(call);
  if (request) request->made = std::make_unique<PreparedFactory<decltype(describe())>>(describe());
}

// Gives `make(tensors)` of the composite's tensors, now and in repeated calls.
template <class Make>
void give_made(OpCall& call, Make make) {
  TensorImpl* const first[] = {call.num_args && call.args[0].is_tensor() ? call.args[0].tensor : nullptr};
  give(call, make(std::span<TensorImpl* const>(first, first[0] ? 1 : 0)));
  prepare_factory(call, [&] { return std::move(make); });
}

// Gives the composite's first tensor, as it is.
inline void give_unchanged(OpCall& call) {
  give_made(call, [](std::span<TensorImpl* const> tensors) { return Tensor::share(tensors[0]); });
}

}  // namespace pellucid::composite
