#include "autograd/anomaly.h"

#include <cmath>
#include <deque>
#include <mutex>
#include <optional>

#include "autograd/engine.h"
#include "autograd/gradient_ops.h"
#include "autograd/hooks.h"
#include "autograd/non_finite.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/format.h"
#include "core/hooks.h"
#include "threads/fork_safe_mutex.h"
#include "timeline/session.h"

namespace pellucid {
namespace {

uint32_t here() { return stack_number ? stack_number() : 0; }

std::string called_here(uint32_t stack) { return stack ? ", called here:\n" + stack_text(stack) : ""; }

// ---------------------------------------------------------------------------------- in-place writes

struct Write {
  uint64_t memory;   // id of the storage, or address of the tensor's own version cell
  uint32_t version;  // produced by the write
  const OpRecord* op;
  uint32_t stack;
};

constexpr size_t kRememberedWrites = 4096;
FORK_SAFE ForkSafeMutex writes_mutex;
std::deque<Write>& writes() {
  static auto* remembered = new std::deque<Write>;  // never destroyed: threads may outlive the program's end
  return *remembered;
}

uint64_t memory_of(const TensorImpl& tensor) {
  return tensor.own_version ? reinterpret_cast<uint64_t>(tensor.own_version) : storage_id(*tensor.storage);
}

void remember_write(const OpRecord& op, const TensorImpl& tensor) {
  Write write{memory_of(tensor), tensor.version().load(), &op, here()};
  std::lock_guard lock(writes_mutex);
  // A nested op finishes first; the outer one is what the user called, so it replaces the nested one's entry.
  std::erase_if(writes(), [&](const Write& old) { return old.memory == write.memory && old.version == write.version; });
  writes().push_back(std::move(write));
  if (writes().size() > kRememberedWrites) writes().pop_front();
}

// ------------------------------------------------------------------------------- NaN and infinities

// The first op of this thread whose result is non-finite although its arguments are finite.
struct Origin {
  std::string what;  // "aten::log made -inf at element [1] of its result 0"
  uint32_t stack = 0;
};
struct Origins {
  std::optional<Origin> nan, infinity;
};
Origins& origins() {
  thread_local Origins* found = new Origins;  // never freed: calls may run while a thread ends
  return *found;
}
thread_local bool looking = false;  // at results, which itself calls ops
struct Looking {
  Looking() { looking = true; }
  ~Looking() { looking = false; }
};

Origin describe(const OpCall& call, size_t result, TensorImpl& tensor, const NonFinite& found) {
  Origin origin;
  origin.what = call.op->qualified_name + " made " + found.text() + " at element " +
                format_sizes(found.place(tensor.shape())) + " of its result " + std::to_string(result);
  if (const Node* node = running_node()) {
    origin.what += ", in the backward pass (" + node->name() + ")";
    if (node->extras) origin.stack = node->extras->forward_stack;
  } else {
    origin.stack = here();
  }
  return origin;
}

bool any_argument(const OpCall& call, bool nan) {
  for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[__builtin_ctz(mask)];
    if (value.tag == Tag::Tensor && find_non_finite(*value.tensor, nan)) return true;
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list())
        if (tensor && find_non_finite(*tensor, nan)) return true;
  }
  return false;
}

void look_at_result(const OpCall& call, size_t number, TensorImpl& tensor) {
  Origins& first = origins();
  for (const bool nan : {true, false}) {
    std::optional<Origin>& origin = nan ? first.nan : first.infinity;
    if (origin) continue;
    const auto found = find_non_finite(tensor, nan);
    if (found && (call.op->variant == Variant::InPlace || !any_argument(call, nan)))
      origin = describe(call, number, tensor, *found);
  }
}

// Whether values are supplied rather than computed: full, empty, uninitialised memory.
bool makes_values(const OpRecord& op) { return op.kind == OpKind::Factory || op.schema.tensor_arguments == 0; }

void examine(const OpCall& call, Key key) {
  if (!thread_state.anomaly_mode || looking) return;
  const Looking scope;
  const auto& arguments = call.op->schema.arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].written && call.args[i].tag == Tag::Tensor) remember_write(*call.op, *call.args[i].tensor);
  if (anomaly_checks_nan && kBackends.has(key) && !makes_values(*call.op))
    for (size_t i = 0; i < call.op->schema.returns.size(); ++i)
      if (call.rets[i].tag == Tag::Tensor) look_at_result(call, i, *call.rets[i].tensor);
}

std::string text_of(const Origin& origin) { return origin.what + called_here(origin.stack); }

}  // namespace

uint32_t (*stack_number)() = nullptr;
std::string (*stack_text)(uint32_t) = nullptr;
constinit thread_local bool anomaly_checks_nan = true;

void install_anomaly_mode() { examine_results = examine; }

void set_anomaly_mode(bool enabled, bool check_nan) {
  anomaly_checks_nan = check_nan;
  if (std::exchange(thread_state.anomaly_mode, enabled) == enabled) return;
  if (!enabled) return watch_less(kWatchValues);
  origins() = {};
  watch_more(kWatchValues);
}

void remember_forward_stack(Node& node) { extras_of(node).forward_stack = here(); }

void warn_of_forward_call(const Node& node) {
  if (!node.extras || !node.extras->forward_stack) {
    warn(
        "the backward pass failed in %s, whose forward call was made outside anomaly mode:\n"
        "run the forward pass under it too to see where.",
        node.name().c_str());
    return;
  }
  warn("the backward pass failed in %s. Its forward call was made here:\n%s", node.name().c_str(),
       stack_text(node.extras->forward_stack).c_str());
}

void check_for_nan(const Node& node, std::span<const Tensor> grads_out) {
  for (size_t i = 0; i < grads_out.size(); ++i) {
    if (!grads_out[i]) continue;
    const auto found = find_non_finite(*grads_out[i], true);
    if (!found) continue;
    const std::string origin = first_non_finite();
    raise(ErrorKind::Runtime, "%s returned nan values in its output number %zu, first at element %s.%s%s",
          node.name().c_str(), i, format_sizes(found->place(grads_out[i]->shape())).c_str(),
          origin.empty() ? "" : "\nThe first such value: ", origin.c_str());
  }
}

std::string writer_of(const TensorImpl& tensor, uint32_t version) {
  const uint64_t memory = memory_of(tensor);
  std::optional<Write> found;
  {
    std::lock_guard lock(writes_mutex);
    for (const Write& write : writes())
      if (write.memory == memory && write.version == version) found = write;
  }
  return found ? found->op->qualified_name + called_here(found->stack) : std::string();
}

std::string first_non_finite() {
  const Origins& first = origins();
  std::string text;
  // A NaN often follows from an earlier infinity: name both, the infinity first.
  if (first.infinity) text = text_of(*first.infinity);
  if (first.nan) text += (text.empty() ? "" : "\n") + text_of(*first.nan);
  return text;
}

}  // namespace pellucid
