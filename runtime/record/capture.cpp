#include "record/capture.h"

#include <algorithm>

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "core/donation.h"
#include "core/owned_results.h"
#include "core/pending.h"
#include "record/clock.h"
#include "timeline/session.h"

namespace pellucid::record {
namespace {

thread_local Capture* capturing = nullptr;

// Disables the inline caches while capturing, so that every call passes the handler at Key::Lazy.
void bypass_inline_caches(bool wanted) { wanted ? watch_more(kWatchObservers) : watch_less(kWatchObservers); }

bool is_own(const OpRecord& op) {
  constexpr std::string_view kOwn[] = {"aten::", "pellucid::", "derivative::"};
  return std::ranges::any_of(kOwn, [&](std::string_view space) { return op.qualified_name.starts_with(space); });
}

// Why a replay cannot repeat the call; null if it can.
const char* unfit(const OpCall& call, KeySet below) {
  if (!(below - kBackends).empty()) return "a mode or a subclass sees an op";
  if (!is_own(*call.op)) return "code that is not an op of Pellucid runs";
  if (call.op->kind == OpKind::DataDependent) return "a size follows from values";
  if (call.op->kind == OpKind::Composite) return "an op calls other ops that cannot be captured";
  for (int k = 0; k < call.num_args; ++k) {
    if (call.args[k].tag != Tag::OptionalTensorList) continue;
    for (const TensorImpl* index : call.args[k].list())
      if (index && (index->dtype == DType::Bool || index->dtype == DType::UInt8)) return "a size follows from a mask";
  }
  return nullptr;
}

}  // namespace

Capture* Capture::of_this_thread() { return capturing; }

Capture::Capture(std::vector<Tensor> arguments, std::vector<Tensor> held)
    : began_(thread_state), arguments_(std::move(arguments)), held_(std::move(held)) {
  using Kind = SlotOrigin::Kind;
  for (uint32_t k = 0; k < arguments_.size(); ++k) add_outside(arguments_[k], {Kind::Argument, k});
  for (uint32_t k = 0; k < held_.size(); ++k) add_outside(held_[k], {Kind::Held, k});
  for (uint32_t k = 0; k < held_.size(); ++k)
    if (held_[k]->autograd)
      if (const Tensor gradient = grad_of(*held_[k])) add_outside(gradient, {Kind::Gradient, k});
  capturing = this;
  bypass_inline_caches(true);
}

Capture::~Capture() {
  if (!is_open_) return;
  capturing = nullptr;
  bypass_inline_caches(false);
}

void Capture::fail(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
}

Capture::View Capture::view_of(const TensorImpl& tensor) {
  return {tensor.dtype,
          tensor.offset,
          {tensor.sizes, tensor.sizes + tensor.ndim},
          {tensor.strides, tensor.strides + tensor.ndim},
          static_cast<bool>(tensor.flags & TensorImpl::kWrappedNumber),
          pending_of(tensor)};
}

Slot Capture::add_slot(SlotOrigin origin, const TensorImpl& tensor) {
  origin.dtype = tensor.dtype;
  recipe_.slots.push_back(origin);
  views_.push_back(view_of(tensor));
  return static_cast<Slot>(views_.size() - 1);
}

void Capture::add_outside(const Tensor& tensor, SlotOrigin origin) {
  const auto [place, is_new] = roots_.try_emplace(storage_id(*tensor->storage));
  Root& root = place->second;
  const Slot slot = add_slot(origin, *tensor);
  const bool is_of_argument = !is_new && recipe_.slots[root.slot].kind == SlotOrigin::Kind::Argument;
  if (is_of_argument) fail("an argument shares memory with another argument, or with a tensor that the program holds");
  if (is_new) root = {slot, tensor->storage->version.load(), {}, tensor};
  root.slots.push_back(slot);
}

Capture::Root* Capture::find_root(const TensorImpl& tensor) {
  const auto found = roots_.find(storage_id(*tensor.storage));
  return found == roots_.end() ? nullptr : &found->second;
}

Slot Capture::operand_slot(TensorImpl& tensor, const char* reader) {
  constexpr int kUnusual = TensorImpl::kNoMemory | TensorImpl::kOwnVersion;
  if (tensor.flags & kUnusual || tensor.wrapper || tensor.device != Device{}) {
    fail("a tensor is not a plain one on the CPU");
    return kNoSlot;
  }
  const bool is_number = tensor.flags & TensorImpl::kWrappedNumber;
  if (is_number && !find_root(tensor)) note_made(tensor, true);  // a number of the program: the same in each call
  Root* root = find_root(tensor);
  if (!root) {
    fail(std::string(reader) + " reads a tensor that neither an op made nor the program is known to hold");
    return kNoSlot;
  }
  if (root->version != tensor.storage->version.load()) fail("memory is written by code that is not an op");
  const View view = view_of(tensor);
  for (const Slot slot : root->slots)
    if (views_[slot] == view) return slot;
  if (is_number) fail("an op reads a view of a number");
  Action action;
  action.kind = Action::Kind::View;
  action.source = root->slot;
  action.dtype = tensor.dtype;
  // The offset must be a whole number of elements of this dtype.
  const int64_t of_root = views_[root->slot].offset * static_cast<int64_t>(item_size(views_[root->slot].dtype));
  if (of_root % static_cast<int64_t>(item_size(tensor.dtype))) fail("a view of another dtype is not aligned");
  action.offset = tensor.offset - of_root / static_cast<int64_t>(item_size(tensor.dtype));
  action.sizes = view.sizes;
  action.strides = view.strides;
  action.pending = view.pending;
  action.slot = add_slot({SlotOrigin::Kind::Made}, tensor);
  root->slots.push_back(action.slot);
  const Slot made = action.slot;
  recipe_.actions.push_back(std::move(action));
  return made;
}

// Whether the call counts elements from the start of an argument's memory: later arguments may be other parts of theirs.
bool Capture::reads_place_of_argument(const OpCall& call) {
  const auto& parameters = call.op->schema.arguments;
  const auto place = std::ranges::find(parameters, "storage_offset", &pellucid::Argument::name);
  if (place == parameters.end() || call.args[0].tag != Tag::Tensor) return false;
  const Root* root = find_root(*call.args[0].tensor);
  return root && recipe_.slots[root->slot].kind == SlotOrigin::Kind::Argument;
}

std::optional<Action> Capture::describe(const OpCall& call) {
  Action action;
  action.kind = Action::Kind::Call;
  action.op = call.op;
  action.op_owner = call.op->self.lock();
  action.arguments = StoredValues({call.args, call.num_args});
  if (!action.arguments.complete()) {
    fail("an op takes an argument of a kind that cannot be stored");
    return std::nullopt;
  }
  for (TensorImpl** tensor : action.arguments.tensors())
    action.operands.push_back(operand_slot(**tensor, call.op->qualified_name.c_str()));
  if (reads_place_of_argument(call)) fail("an op depends on where an argument is in its memory");
  for (size_t k = 0; k < action.arguments.size(); ++k) {
    Value& value = action.arguments.data()[k];
    if (value.tag == Tag::String) value.string = recipe_.texts.emplace_back(value.string, value.length).c_str();
  }
  return action;
}

// False if the call only returned views of known tensors and wrote nothing.
bool Capture::take_results(Action& action, const OpCall& call) {
  const bool is_functional = call.op->variant == Variant::Functional;
  bool has_effect = !is_functional || call.op->kind == OpKind::Random;
  const auto take = [&](TensorImpl* tensor) {
    Root* root = tensor ? find_root(*tensor) : nullptr;
    action.numels.push_back(tensor ? tensor->numel : 0);
    if (!tensor || root) return action.results.push_back(kNoSlot);
    const Slot slot = add_slot({SlotOrigin::Kind::Made}, *tensor);
    roots_[storage_id(*tensor->storage)] = {slot, tensor->storage->version.load(), {slot}, {}};
    action.results.push_back(slot);
    has_effect = true;
  };
  for (size_t k = 0; k < call.op->schema.returns.size(); ++k) {
    const Value& result = call.rets[k];
    if (result.tag == Tag::TensorList || result.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : result.list()) take(tensor);
    else take(result.tag == Tag::Tensor ? result.tensor : nullptr);
  }
  const std::span<TensorImpl** const> tensors = action.arguments.tensors();
  for (size_t k = 0; k < tensors.size(); ++k) {
    TensorImpl** const tensor = tensors[k];
    Root* root = find_root(**tensor);
    if (!root) continue;
    if (views_[action.operands[k]] != view_of(**tensor)) fail("an op changes the shape of a tensor in place");
    const uint32_t version = (*tensor)->storage->version.load();
    const bool was_written = std::exchange(root->version, version) != version;
    if (!was_written) continue;
    action.writes = has_effect = true;
    action.written.push_back(action.operands[k]);
    recipe_.writes |= static_cast<bool>(root->outside);
  }
  return has_effect;
}

void Capture::see_results(const OpCall& call) {
  for (size_t k = 0; k < call.op->schema.returns.size(); ++k) {
    const Tag tag = call.rets[k].tag;
    if (tag != Tag::Tensor && tag != Tag::TensorList && tag != Tag::OptionalTensorList && tag != Tag::None)
      fail("an op returns results other than tensors");
  }
}

void Capture::run(OpCall& call, KeySet below) {
  const ExcludeKeys now(Key::Lazy);
  if (const char* reason = unfit(call, below)) fail(reason);
  if (thread_state.inference_mode != began_.inference_mode) fail("inference mode changes in the call");
  std::optional<Action> action = failure_.empty() ? describe(call) : std::nullopt;
  const clockid_t clock = working_clock();
  const int64_t start = nanoseconds_of(clock);
  std::vector<TensorImpl*> operands, reusable;
  if (action)
    for (TensorImpl** const tensor : action->arguments.tensors()) operands.push_back(*tensor);
  try {
    Donation trial{&call, operands, &reusable};
    const DonationScope scope(trial);
    dispatch(call, below);
  } catch (...) {
    fail("an op failed");
    throw;
  }
  see_results(call);
  if (!action || !failure_.empty()) return;
  action->nanoseconds = nanoseconds_of(clock) - start;
  for (const TensorImpl* tensor : reusable)
    action->reusable.push_back(
        action->operands[static_cast<size_t>(std::ranges::find(operands, tensor) - operands.begin())]);
  action->epoch = call.op->epoch.load(std::memory_order_relaxed);
  if (take_results(*action, call)) recipe_.actions.push_back(std::move(*action));
}

void Capture::note_gradient(TensorImpl& leaf, TensorImpl* gradient) {
  Action action;
  action.kind = Action::Kind::Gradient;
  if (!is_held(leaf, action.leaf)) return fail("a tensor that the program is not known to hold gets a gradient");
  if (gradient) action.slot = operand_slot(*gradient, "a leaf");
  if (!failure_.empty()) return;
  const auto is_taken = [&](const Action& earlier) {
    return gradient && earlier.kind == Action::Kind::Gradient && earlier.slot == action.slot;
  };
  if (std::ranges::any_of(recipe_.actions, is_taken)) fail("two leaves get one gradient");
  recipe_.actions.push_back(std::move(action));
}

void Capture::note_made(TensorImpl& made, bool is_filled) {
  std::string bytes;
  if (is_filled) bytes.assign(static_cast<const char*>(made.storage->host), made.storage->nbytes);
  const uint32_t version = made.storage->version.load();
  if (Root* known = find_root(made)) {  // filled again before it was read
    for (Action& earlier : recipe_.actions)
      if (earlier.slot == known->slot && earlier.kind == Action::Kind::Make) earlier.bytes = std::move(bytes);
    known->version = version;
    return;
  }
  Action action;
  action.kind = Action::Kind::Make;
  action.bytes = std::move(bytes);
  action.dtype = made.dtype;
  action.sizes.assign(made.sizes, made.sizes + made.ndim);
  action.strides.assign(made.strides, made.strides + made.ndim);
  action.is_number = made.flags & TensorImpl::kWrappedNumber;
  action.slot = add_slot({SlotOrigin::Kind::Made}, made);
  roots_[storage_id(*made.storage)] = {action.slot, version, {action.slot}, {}};
  recipe_.actions.push_back(std::move(action));
}

Slot Capture::slot_of_result(TensorImpl& tensor) {
  const Root* root = find_root(tensor);
  const bool is_of_call = root && !root->outside && recipe_.slots[root->slot].kind == SlotOrigin::Kind::Made;
  if (!is_of_call || views_[root->slot] != view_of(tensor) || tensor.base) {
    fail("the call returns a view, or a tensor that no op made");
    return kNoSlot;
  }
  if (root->version != tensor.storage->version.load()) fail("a result is written by code that is not an op");
  return root->slot;
}

bool Capture::is_argument(const TensorImpl& tensor, uint32_t& number) const {
  const auto found = std::ranges::find(arguments_, &tensor, [](const Tensor& known) { return known.get(); });
  number = static_cast<uint32_t>(found - arguments_.begin());
  return found != arguments_.end();
}

bool Capture::is_held(const TensorImpl& tensor, uint32_t& number) const {
  const auto found = std::ranges::find(held_, &tensor, [](const Tensor& known) { return known.get(); });
  number = static_cast<uint32_t>(found - held_.begin());
  return found != held_.end();
}

Recipe Capture::finish(std::span<const Slot> outliving) {
  is_open_ = false;
  capturing = nullptr;
  bypass_inline_caches(false);
  for (const auto& [id, root] : roots_)
    if (root.outside && root.outside->storage->version.load() != root.version)
      fail("memory is written by code that is not an op");
  for (const auto& [id, root] : roots_)
    for (const Slot slot : root.slots) recipe_.slots[slot].memory = root.slot;
  std::vector<size_t> last(recipe_.slots.size(), SIZE_MAX);
  const auto use = [&](Slot slot, size_t action) {
    if (slot != kNoSlot) last[slot] = action;
  };
  for (size_t k = 0; k < recipe_.actions.size(); ++k) {
    const Action& action = recipe_.actions[k];
    use(action.slot, k);
    use(action.source, k);
    for (const Slot slot : action.operands) use(slot, k);
    for (const Slot slot : action.results) use(slot, k);
  }
  for (Slot slot = 0; slot < last.size(); ++slot) {
    recipe_.slots[slot].is_used = last[slot] != SIZE_MAX;
    const auto kind = recipe_.slots[slot].kind;
    const bool is_owned = kind == SlotOrigin::Kind::Made || kind == SlotOrigin::Kind::Gradient;
    if (is_owned && last[slot] != SIZE_MAX && std::ranges::find(outliving, slot) == outliving.end())
      recipe_.actions[last[slot]].released.push_back(slot);
  }
  recipe_.find_donated();
  return std::move(recipe_);
}

}  // namespace pellucid::record
