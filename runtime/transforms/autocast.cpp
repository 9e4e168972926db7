#include "transforms/autocast.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/tensor_history.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "core/named_ops.h"
#include "core/tensor.h"
#include "transforms/level.h"

namespace pellucid {

thread_local constinit AutocastSettings autocast_settings;

namespace {

struct CachedCast {
  Tensor original;  // keeps the key's address in use
  Tensor cast;
};
// On the heap, so that the thread-local block stays small; null while the cache is empty.
thread_local constinit std::unordered_map<const TensorImpl*, CachedCast>* cached_casts = nullptr;

bool takes_part(const TensorImpl& tensor) {
  return tensor.device.type == DeviceType::CPU && category(tensor.dtype) == DTypeCategory::Floating &&
         tensor.dtype != DType::Float64;
}

// A parameter is used by many ops of a region. Nothing is cached while gradients are not recorded, because the
// cast would have no history later. A tensor that a function transform differentiates with respect to exists for
// only one call of the function.
bool is_cacheable(TensorImpl& tensor, DType dtype) {
  return autocast_settings.caches_casts && dtype == autocast_settings.lower && tensor.dtype == DType::Float32 &&
         tensor.requires_grad() && !tensor.base && is_leaf(tensor) && thread_state.grad_mode && !tensor.wrapper &&
         !transformed_calls();
}

Tensor cast(TensorImpl& tensor, DType dtype) {
  const auto compute = [&] { return call_op(NamedOp::ToCopy, {Value::of(&tensor), Value::of_dtype(dtype)}); };
  if (!is_cacheable(tensor, dtype)) return compute();
  if (!cached_casts) cached_casts = new std::unordered_map<const TensorImpl*, CachedCast>;
  const auto found = cached_casts->find(&tensor);
  if (found != cached_casts->end() && found->second.cast.get()->dtype == dtype) return found->second.cast;
  Tensor made = compute();
  cached_casts->insert_or_assign(&tensor, CachedCast{Tensor::share(&tensor), made});
  return made;
}

// Redispatches the call with cast operands below the Autocast key.
class CastCall {
 public:
  CastCall(OpCall& call, CastRule rule) : call_(call), args_(call.num_args) {
    std::copy_n(call.args, call.num_args, args_.data());
    dtype_ = rule == CastRule::Float32 ? DType::Float32 : autocast_settings.lower;
    if (rule == CastRule::Widest) each_tensor([this](TensorImpl* tensor) { return widen_to(tensor); });
  }

  void run() {
    each_tensor([this](TensorImpl* tensor) { return cast_if_other(tensor); });
    OpCall below{call_.op, args_.data(), call_.rets, call_.num_args, {}};
    dispatch(below);
  }

 private:
  TensorImpl* widen_to(TensorImpl* tensor) {
    if (takes_part(*tensor) && tensor->dtype == DType::Float32) dtype_ = DType::Float32;
    return tensor;
  }

  TensorImpl* cast_if_other(TensorImpl* tensor) {
    if (!takes_part(*tensor) || tensor->dtype == dtype_) return tensor;
    owned_.push_back(cast(*tensor, dtype_));
    return owned_.back().get();
  }

  template <class Replace>
  void each_tensor(Replace replace) {
    for (int i = 0; i < call_.num_args; ++i) {
      Value& value = args_[static_cast<size_t>(i)];
      if (value.is_tensor()) value.tensor = replace(value.tensor);
      if (value.tag != Tag::TensorList && value.tag != Tag::OptionalTensorList) continue;
      auto& list = lists_.emplace_back(value.tensors, value.tensors + value.length);
      for (TensorImpl*& tensor : list)
        if (tensor) tensor = replace(tensor);
      value.tensors = list.data();
    }
  }

  OpCall& call_;
  Values<kMaxArguments> args_;
  DType dtype_;
  std::vector<Tensor> owned_;
  std::deque<std::vector<TensorImpl*>> lists_;  // addresses are stable
};

void cast_and_run(OpCall& call, void*) {
  const ExcludeKeys below(Key::Autocast);
  CastCall(call, call.op->cast_rule).run();
}

void register_casts() {
  std::vector<OpRecord*> ops;
  for_each_op(
      [](OpRecord& op, void* found) {
        if (op.cast_rule != CastRule::None) static_cast<std::vector<OpRecord*>*>(found)->push_back(&op);
      },
      &ops);
  for (OpRecord* op : ops) register_kernel(*op, Key::Autocast, {cast_and_run, nullptr}, /*replace=*/true);
  core_hooks.run_with_casts = cast_and_run;
}

}  // namespace

bool is_autocast_enabled() { return thread_state.include.has(Key::Autocast); }

void set_autocast_enabled(bool enabled) {
  [[maybe_unused]] static const bool registered = (register_casts(), true);
  thread_state.include = enabled ? thread_state.include | Key::Autocast : thread_state.include - Key::Autocast;
}

bool holds_casts() { return cached_casts != nullptr; }

void forget_casts() { delete std::exchange(cached_casts, nullptr); }

}  // namespace pellucid
