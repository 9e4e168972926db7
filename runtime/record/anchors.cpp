#include "record/anchors.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "core/allocator.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/owned_results.h"
#include "kernels/copy.h"
#include "ops/graph_op.h"
#include "ops/trace.h"
#include "plan/key.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::record {

namespace {

constexpr size_t kMostForms = 4096;

FORK_SAFE ForkSafeMutex mutex;
struct Forms {
  std::deque<AnchorForm> forms;
  std::unordered_multimap<uint64_t, const AnchorForm*> by_hash;
};
Forms& forms() {
  static auto* made = new Forms;
  return *made;
}

bool can_keep(const pellucid::Value& value) {
  switch (value.tag) {
    case Tag::None:
    case Tag::Tensor:
    case Tag::Int:
    case Tag::Float:
    case Tag::Bool:
    case Tag::DType:
    case Tag::IntList: return true;
    default: return false;
  }
}

}  // namespace

const char* unfit_as_anchor(const OpCall& call) {
  const OpRecord& op = *call.op;
  if (op.kind != OpKind::Fused && op.kind != OpKind::Reduction) return "it is not elementwise";
  const bool gives_new =
      op.variant == Variant::Functional && op.table[static_cast<int>(Key::CPU)].function == run_graph_op;
  if (!gives_new || call.num_args != op.schema.arguments.size()) return "it is not elementwise";
  for (int k = 0; k < call.num_args; ++k)
    if (!can_keep(call.args[k])) return "it takes lists of tensors, or strings";
  return nullptr;
}

const AnchorForm* anchor_form(const OpCall& call, size_t passes) {
  KeyBuilder key;
  key.add_call(call);
  const uint64_t hash = key.hash() ^ reinterpret_cast<uint64_t>(call.op);
  const std::lock_guard guard(mutex);
  Forms& all = forms();
  const auto [first, last] = all.by_hash.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (found->second->op == call.op && std::ranges::equal(found->second->words, key.words())) return found->second;
  if (all.forms.size() == kMostForms) return nullptr;
  keep_op_forever(*call.op);
  AnchorForm& form = all.forms.emplace_back();
  form.op = call.op;
  form.words.assign(key.words().begin(), key.words().end());
  form.request = plan_request(call, 0);
  for (int k = 0; k < call.num_args; ++k)
    if (call.args[k].is_tensor()) form.tensors.push_back(static_cast<uint8_t>(k));
  form.passes = passes;
  form.gives_list = call.op->schema.returns.size() == 1 && call.op->schema.returns[0].is_list;
  all.by_hash.emplace(hash, &form);
  return &form;
}

size_t keep_arguments(Segment& segment, const OpCall& call) {
  const size_t first = segment.arguments.size();
  for (int k = 0; k < call.num_args; ++k) {
    pellucid::Value value = call.args[k].is_tensor() ? pellucid::Value{} : call.args[k];
    if (value.tag == Tag::IntList) {
      const size_t stored = value.broadcast_list ? std::min<size_t>(value.length, 1) : value.length;
      segment.lists.emplace_back(value.integers, value.integers + stored);
      value.integers = segment.lists.back().data();
    }
    segment.arguments.push_back(value);
  }
  return first;
}

namespace {

// Moves the memory of `result` to the value, or copies its elements.
void place_result(const Segment& segment, Value& value, Tensor result) {
  Storage& storage = storage_to_fill(value);
  const std::span<const int64_t> sizes = segment.spaces[value.space].shape();
  const std::span<const int64_t> strides{value.strides, sizes.size()};
  if (result->dtype != value.dtype || !std::ranges::equal(result->shape(), sizes))
    raise(ErrorKind::Runtime,
          "a recorded op's result differs from its meta result; this is a bug in pellucid, please report it");
  if (storage.nbytes == 0 || storage.host) return;
  const bool is_whole = result->offset == 0 && std::ranges::equal(result->stride(), strides);
  if (is_whole && move_memory(*result->storage, storage)) return;
  fill_storage(storage, allocate_block(storage.nbytes, size_class(storage.nbytes)));
  copy_elements(*pellucid::tensor_of(storage, sizes, strides, 0, value.dtype), *result);
}

}  // namespace

void run_into_values(Segment& segment, const OpRecord& op, std::span<pellucid::Value> arguments,
                     std::span<const uint16_t> values) {
  const uint64_t generation = segment.generation;
  pellucid::Value results[kMaxReturns];
  OpCall call{&op, arguments.data(), results, static_cast<uint8_t>(arguments.size()), KeySet(Key::CPU)};
  const KernelEntry& entry = op.table[static_cast<int>(Key::CPU)];
  entry.function(call, entry.context);
  std::vector<Tensor> given;
  OwnedResults(call).take_each([&](Tensor result) { given.push_back(std::move(result)); });
  if (segment.generation != generation) return;
  for (size_t k = 0; k < values.size(); ++k) place_result(segment, segment.values[values[k]], std::move(given.at(k)));
}

void run_anchor(Segment& segment, const Node& node) {
  const auto begin = segment.arguments.begin() + node.first_param;
  const auto count = static_cast<std::ptrdiff_t>(node.op->schema.arguments.size());
  std::vector<pellucid::Value> arguments(begin, begin + count);
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < node.num_operands; ++k) {
    tensors.push_back(segment.tensor_of(segment.operands_of(node)[k]));
    arguments[node.anchor->tensors[k]] = pellucid::Value::of(tensors.back().get());
  }
  std::vector<uint16_t> values(node.num_values);
  std::iota(values.begin(), values.end(), node.first_value);
  run_into_values(segment, *node.op, arguments, values);
}

Tensor Segment::tensor_of(const Operand& operand) const {
  if (operand.is_value) {
    const Value& value = values[operand.number];
    const std::span<const int64_t> sizes = spaces[value.space].shape();
    return pellucid::tensor_of(*value.storage, sizes, {value.strides, sizes.size()}, 0, value.dtype);
  }
  const Input& input = inputs[operand.number];
  const auto ndim = static_cast<size_t>(input.ndim);
  return pellucid::tensor_of(*input.storage, {input.sizes, ndim}, {input.strides, ndim}, input.offset, input.dtype);
}

}  // namespace pellucid::record
