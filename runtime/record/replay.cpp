#include "record/replay.h"

#include <algorithm>
#include <cstring>

#include "autograd/accumulate_grad.h"
#include "autograd/gradient_ops.h"
#include "autograd/handler.h"
#include "autograd/tensor_history.h"
#include "core/call_op.h"
#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/donation.h"
#include "core/error.h"
#include "core/inline_vector.h"
#include "core/owned_results.h"
#include "core/pending.h"
#include "record/program.h"

namespace pellucid::record {
namespace {

// All facts but the existence of the tensor's Python object, which may change.
constexpr uint32_t kLasting = ~(uint32_t{TensorImpl::kPythonState} << 16);
// In its second run, an action lets the op's handler prepare the call.
constexpr uint8_t kPreparedRun = 1;

}  // namespace

TensorFacts::TensorFacts(TensorImpl& tensor)
    : facts(tensor.facts() & kLasting), requires_grad(pellucid::requires_grad(tensor)), keys(tensor.keys),
      geometry(tensor.sizes, tensor.sizes + tensor.ndim) {
  geometry.insert(geometry.end(), tensor.strides, tensor.strides + tensor.ndim);
}

bool TensorFacts::hold_of(TensorImpl& tensor) const {
  if ((tensor.facts() & kLasting) != facts || tensor.keys != keys) return false;
  if (pellucid::requires_grad(tensor) != requires_grad) return false;
  const int64_t* known = geometry.data();
  for (int k = 0; k < tensor.ndim; ++k)
    if (tensor.sizes[k] != known[k] || tensor.strides[k] != known[tensor.ndim + k]) return false;
  return true;
}

HeldFacts::HeldFacts(TensorImpl& tensor)
    : TensorFacts(tensor), storage(tensor.storage), offset(tensor.offset), nbytes(tensor.storage->nbytes) {}

bool HeldFacts::hold_of(TensorImpl& tensor) const {
  return tensor.storage == storage && tensor.offset == offset && storage->nbytes == nbytes &&
         TensorFacts::hold_of(tensor);
}

Conditions::Conditions(std::vector<Tensor> arguments, std::vector<Tensor> held)
    : arguments_(std::move(arguments)), held_(std::move(held)), began_(thread_state), default_dtype_(default_dtype()) {
  for (const Tensor& tensor : arguments_) argument_facts_.emplace_back(*tensor);
  for (const Tensor& tensor : held_) {
    held_facts_.emplace_back(*tensor);
    held_storages_.push_back(tensor->storage);
    const Tensor gradient = tensor->autograd ? grad_of(*tensor) : Tensor();
    gradients_.push_back(gradient ? std::make_unique<TensorFacts>(*gradient) : nullptr);
    was_watched_ |= !is_unwatched_leaf(*tensor);
  }
  std::ranges::sort(held_storages_);
  were_apart_ = gradients_are_apart();
}

bool Conditions::thread_is_same() const {
  const ThreadState& now = thread_state;
  const bool same_keys = now.include == began_.include - Key::Lazy && now.exclude == began_.exclude;
  return same_keys && now.grad_mode == began_.grad_mode && now.inference_mode == began_.inference_mode &&
         !now.anomaly_mode && !now.packs_saved_tensors && !now.launch_recorder && !now.preparation_request &&
         default_dtype() == default_dtype_ && !watched.load(std::memory_order_relaxed);
}

// Whether the tensor's gradient is accumulated by this call alone and no hook sees it.
bool Conditions::is_unwatched_leaf(const TensorImpl& tensor) const {
  const AutogradMeta* meta = tensor.autograd;
  if (!meta) return true;
  if (meta->grad_fn || meta->hooks || meta->extra) return false;
  const AccumulateGrad* accumulator = meta->accumulator.load(std::memory_order_acquire);
  return !accumulator || !accumulator->extras;
}

bool Conditions::leaf_is_same(size_t number) const {
  const TensorImpl& tensor = *held_[number];
  if (!is_unwatched_leaf(tensor)) return false;
  TensorImpl* gradient = tensor.autograd ? tensor.autograd->grad.get() : nullptr;
  const auto& known = gradients_[number];
  return known ? gradient && known->hold_of(*gradient) : !gradient;
}

// A gradient whose storage has one holder shares its memory with no tensor; others are looked up among the held
// tensors.
bool Conditions::gradients_are_apart() const {
  std::vector<const Storage*> shared;
  for (const Tensor& tensor : held_) {
    const TensorImpl* gradient = tensor->autograd ? tensor->autograd->grad.get() : nullptr;
    if (!gradient) continue;
    const bool is_alone = gradient->refs.load(std::memory_order_relaxed) == 1 &&
                          gradient->storage->refs.load(std::memory_order_relaxed) == 1;
    if (!is_alone) shared.push_back(gradient->storage);
  }
  std::ranges::sort(shared);
  return std::ranges::adjacent_find(shared) == shared.end() && std::ranges::none_of(shared, [&](const Storage* own) {
           return std::ranges::binary_search(held_storages_, own);
         });
}

bool Conditions::allow(std::span<TensorImpl* const> arguments) const {
  if (arguments.size() != argument_facts_.size() || !thread_is_same()) return false;
  for (size_t k = 0; k < held_.size(); ++k)
    if (!held_facts_[k].hold_of(*held_[k]) || !leaf_is_same(k)) return false;
  if (!gradients_are_apart()) return false;
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (!argument_facts_[k].hold_of(*arguments[k]) || !is_unwatched_leaf(*arguments[k])) return false;
    if (arguments[k]->autograd && arguments[k]->autograd->grad) return false;
    const Storage* own = arguments[k]->storage;
    if (std::ranges::binary_search(held_storages_, own)) return false;
    for (const Tensor& held : held_)
      if (held->autograd && held->autograd->grad && held->autograd->grad->storage == own) return false;
    for (size_t other = 0; other < k; ++other)
      if (arguments[other]->storage == own) return false;
  }
  return true;
}

const char* Conditions::broken_by_call() const {
  const ThreadState& now = thread_state;
  const bool same_modes = now.grad_mode == began_.grad_mode && now.inference_mode == began_.inference_mode &&
                          now.anomaly_mode == began_.anomaly_mode && now.include == began_.include &&
                          now.exclude == began_.exclude && default_dtype() == default_dtype_;
  if (!same_modes) return "the call changes a mode of its thread";
  bool watched_now = was_watched_;
  for (size_t k = 0; k < held_.size(); ++k) {
    watched_now |= !is_unwatched_leaf(*held_[k]);
    if (!held_facts_[k].hold_of(*held_[k]))
      return "the call changes more than the elements of a tensor that the program holds";
  }
  if (watched_now) return "a hook sees a gradient, or a tensor that is held has a history";
  if (!were_apart_) return "a gradient shares memory with a tensor that the program holds";
  for (size_t k = 0; k < arguments_.size(); ++k) {
    if (!argument_facts_[k].hold_of(*arguments_[k])) return "the call changes more than the elements of an argument";
    if (now.grad_mode && requires_grad(*arguments_[k])) return "an argument requires gradients";
  }
  return nullptr;
}

Replay::Replay(Recipe recipe, Conditions conditions) : recipe_(std::move(recipe)), conditions_(std::move(conditions)) {}
Replay::~Replay() = default;

Recomputed Replay::recompute(const MemoryBudget& budget) {
  if (runs_) raise(ErrorKind::Runtime, "a replay that has run cannot recompute results");
  return record::recompute(recipe_, budget);
}

bool Replay::is_current() const {
  return std::ranges::all_of(recipe_.actions, [](const Action& action) {
    return !action.op || action.op->epoch.load(std::memory_order_relaxed) == action.epoch;
  });
}

// Made at the beginning of the third run: an op is prepared in its second.
const Program* Replay::program_of_run() const {
  constexpr int kJoinedRun = kPreparedRun + 1;
  if (runs_ <= kJoinedRun && runs_++ == kJoinedRun) program_ = Program::join(recipe_, conditions_.held());
  return program_.get();
}

Replay::Run::Run(const Replay& replay, std::span<TensorImpl* const> arguments)
    : replay_(replay), program_(replay.program_of_run()),
      values_(replay.recipe_.slots.size() + (program_ ? program_->num_extra() : 0)) {
  for (size_t k = 0; k < replay.recipe_.slots.size(); ++k) {
    const SlotOrigin& origin = replay.recipe_.slots[k];
    switch (origin.kind) {
      case SlotOrigin::Kind::Argument: values_[k] = arguments[origin.number]; break;
      case SlotOrigin::Kind::Held: values_[k] = replay.conditions_.held()[origin.number].get(); break;
      case SlotOrigin::Kind::Gradient:  // one that the call drops must not outlive that
        if (origin.is_used) values_[k] = grad_of(*replay.conditions_.held()[origin.number]).leak();
        break;
      case SlotOrigin::Kind::Made: break;
    }
  }
}

Replay::Run::~Run() {
  for (size_t k = 0; k < values_.size(); ++k)
    if (values_[k] && is_owned(k)) Tensor::adopt(values_[k]);
}

bool Replay::Run::is_owned(size_t tensor) const {
  if (tensor >= replay_.recipe_.slots.size()) return true;
  const SlotOrigin::Kind kind = replay_.recipe_.slots[tensor].kind;
  return kind == SlotOrigin::Kind::Made || kind == SlotOrigin::Kind::Gradient;
}

void Replay::Run::set(Slot slot, Tensor tensor) { values_[slot] = tensor.leak(); }

void Replay::Run::run() {
  const ExcludeKeys below(kHistoryKeys);
  if (program_) return program_->run(*this);
  for (const Action& action : replay_.recipe_.actions) {
    perform(action);
    for (const Slot slot : action.released) Tensor::adopt(std::exchange(values_[slot], nullptr));
  }
}

void Replay::Run::perform(const Action& action) {
  switch (action.kind) {
    case Action::Kind::Call: return call(action);
    case Action::Kind::View: return view(action);
    case Action::Kind::Make: {
      Tensor made = empty_strided(action.sizes, action.strides, action.dtype);
      std::memcpy(made->storage->host, action.bytes.data(), action.bytes.size());
      if (action.is_number) made->flags |= TensorImpl::kWrappedNumber;
      return set(action.slot, std::move(made));
    }
    case Action::Kind::Gradient:
      has_effects_ = true;
      set_grad(*replay_.conditions_.held()[action.leaf],
               action.slot == kNoSlot ? Tensor() : Tensor::share(values_[action.slot]));
  }
}

void Replay::Run::view(const Action& action) {
  TensorImpl& source = *values_[action.source];
  const auto item = [](DType dtype) { return static_cast<int64_t>(item_size(dtype)); };
  const int64_t offset = source.offset * item(source.dtype) / item(action.dtype) + action.offset;
  Tensor made = tensor_of(*source.storage, action.sizes, action.strides, offset, action.dtype);
  if (!action.pending.empty()) set_pending(*made, action.pending);
  set(action.slot, std::move(made));
}

namespace {

void run_action(const Action& action, OpCall& call, std::span<TensorImpl* const> tensors) {
  Preparation& known = action.preparation;
  if (known.prepared && known.prepared->run(call, tensors)) [[likely]]
    return;
  call.keys = {};
  if (known.runs < kPreparedRun) {
    ++known.runs;
    return dispatch(call);
  }
  if (known.runs == kPreparedRun) {
    ++known.runs;
    PreparationRequest request{&call, nullptr};
    const PreparationScope scope(request);
    dispatch(call);
    known.prepared = std::move(request.made);
    return;
  }
  dispatch(call);
}

}  // namespace

void Replay::Run::call(const Action& action) {
  const std::span<TensorImpl** const> places = action.arguments.tensors();
  std::vector<TensorImpl*> many;
  TensorImpl* few[kMaxArguments];
  TensorImpl** tensors = few;
  if (places.size() > kMaxArguments) {
    many.resize(places.size());
    tensors = many.data();
  }
  for (size_t k = 0; k < places.size(); ++k) tensors[k] = *places[k] = values_[action.operands[k]];
  Values<kMaxReturns> results(action.op->schema.returns.size());
  OpCall call{action.op, const_cast<Value*>(action.arguments.data()), results.data(),
              static_cast<uint8_t>(action.arguments.size()), KeySet(Key::CPU)};
  has_effects_ |= action.has_effects();
  InlineVector<TensorImpl*, 4> spent;
  for (const Slot slot : action.donated)
    if (TensorImpl* const tensor = values_[slot]; is_worth_donating(*tensor) && owns_memory_alone(*tensor))
      spent.push_back(tensor);
  Donation donation{&call, {spent.begin(), spent.size()}};
  {
    const DonationScope scope(donation);
    run_action(action, call, {tensors, places.size()});
  }
  size_t next = 0;
  bool is_as_captured = true;
  OwnedResults(call).take_each([&](Tensor tensor) {
    const Slot slot = action.results[next];
    // Ops with data-dependent sizes are not captured. This check covers ops that are not marked as data-dependent.
    is_as_captured &= (tensor ? tensor->numel : 0) == action.numels[next++];
    if (slot != kNoSlot) set(slot, std::move(tensor));
  });
  if (!is_as_captured)
    raise(ErrorKind::Runtime, "the size of %s's result in a replay differs from the captured one; please report it",
          action.op->schema.name.c_str());
}

}  // namespace pellucid::record
