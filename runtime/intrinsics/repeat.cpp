#include "intrinsics/repeat.h"

#include "core/call_event.h"
#include "core/stored_values.h"

namespace pellucid::intrinsics {
namespace {

struct DelegatedCall final : Prepared {
  DelegatedCall(const OpCall& to, StoredValues of, std::unique_ptr<Prepared> what)
      : op(*to.op), keys(to.keys - Key::Lazy), epoch(to.op->epoch.load(std::memory_order_relaxed)),
        values(std::move(of)), work(std::move(what)) {}

  bool run(OpCall& call, std::span<TensorImpl* const> tensors) const override {
    TensorImpl* const first = tensors[0];
    if (!is_current() || dispatch_keys(op, first->keys) - Key::Lazy != keys) [[unlikely]]
      return false;
    Values<kMaxArguments> given(0);
    std::copy_n(values.data(), values.size(), given.data());
    given[0].tensor = first;
    OpCall delegated{&op, given.data(), call.rets, static_cast<uint8_t>(values.size()), keys};
    const CallEvent event(delegated);
    return work->run(delegated, tensors.first(1));
  }
  bool is_current() const override { return op.epoch.load(std::memory_order_relaxed) == epoch && work->is_current(); }

  const OpRecord& op;
  const KeySet keys;     // the keys that chose the kernel
  const uint32_t epoch;  // of the op, at that time
  const StoredValues values;
  const std::unique_ptr<Prepared> work;
};

}  // namespace

void give_call(OpCall& call, const OpRecord& op, std::initializer_list<Value> others) {
  const auto& declared = op.schema.arguments;
  Values<kMaxArguments> given(0);
  Value* next = given.data();
  new (next++) Value(call.args[0]);
  for (const Value& value : others) new (next++) Value(value);
  for (size_t i = others.size() + 1; i < declared.size(); ++i) new (next++) Value(declared[i].default_value);
  OpCall delegated{&op, given.data(), call.rets, static_cast<uint8_t>(declared.size()), {}};
  PreparationRequest* request = preparation_request_of(call);
  if (!request) return dispatch(delegated);
  PreparationRequest own{&delegated, nullptr};
  {
    const PreparationScope scope(own);
    dispatch(delegated);
  }
  StoredValues values({given.data(), declared.size()});
  if (own.made && values.complete() && values.tensors().size() == 1)
    request->made = std::make_unique<DelegatedCall>(delegated, std::move(values), std::move(own.made));
}

}  // namespace pellucid::intrinsics
