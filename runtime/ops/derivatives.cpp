#include "ops/derivatives.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "autograd/saved_value.h"
#include "core/error.h"
#include "ops/derivation.h"
#include "ops/graph_op.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/records.h"

namespace pellucid {

namespace {

KeyBuilder key_of(const OpCall& call, const OpRecord& op, uint64_t needs_grad) {
  KeyBuilder key;
  key.add(needs_grad);
  key.add_call(call, op.kind != OpKind::Pointwise && op.kind != OpKind::Random);
  return key;
}

// An op of a derivative: its schema, kind, origin and the one key that is known of it. None when there is
// nothing to compute.
const OpRecord* make_op(const std::optional<encoded::DerivedOp>& given, ResultLayout layout) {
  if (!given) return nullptr;
  OpRecord* op = define_derivative_op(std::string(given->schema), given->kind, given->promoted,
                                      {given->origin.begin(), given->origin.end()}, layout);
  add_keys(*op, given->keys);
  return op;
}

std::unique_ptr<DerivativePlan> make_plan(const encoded::DerivativeRow& given, const OpRecord& op) {
  auto plan = std::make_unique<DerivativePlan>();
  const ResultLayout layout = frozen_op(op).layout;
  plan->op = make_op(given.op, layout == ResultLayout::Images ? layout : ResultLayout::RowMajor);
  for (const auto& [from, index, element] : given.arguments) plan->arguments.push_back({from, index, element});
  for (const auto& [argument, element, dim] : given.sizes) plan->sizes.push_back({argument, element, dim});
  plan->results = given.results;
  plan->broadcasts = given.broadcasts;
  plan->saved_arguments = given.saved_arguments;
  plan->saved_results = given.saved_results;
  plan->node_name = given.node;
  for (const auto& [gradient, input] : given.passed) {
    const PassedGradient& passed = plan->passed.emplace_back(PassedGradient{gradient, input});
    for (PassedGradient& earlier : plan->passed)
      earlier.is_last = &earlier == &passed || (earlier.is_last && earlier.gradient != passed.gradient);
  }
  plan->forward = make_op(given.forward, layout);
  return plan;
}

// Keeps the structural arguments of the first call with the plan's key: all its calls have the same.
void keep_structural(DerivativePlan& plan, const OpCall& call) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  const std::vector<Argument>& arguments = op.schema.arguments;
  size_t bytes = 0;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].structural) bytes += payload_bytes(call.args[i]);
  plan.structural_memory = std::make_unique<char[]>(bytes);
  char* cursor = plan.structural_memory.get();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].structural) plan.structural.push_back({static_cast<int16_t>(i), copy_value(call.args[i], cursor)});
}

// Integers and bools that do not join the promotion of what is differentiated, and what a list of indices leaves out.
uint64_t places_of(const OpCall& call) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  const uint32_t joining = is_scalar(op.kind) ? frozen_op(op).promoted : 0;
  uint64_t bits = 0;
  uint32_t number = 0;
  const auto add = [&](bool is_place) {
    bits |= static_cast<uint64_t>(is_place && number < 64) << (number % 64);
    ++number;
  };
  for (uint32_t mask = op.schema.tensor_arguments; mask; mask &= mask - 1) {
    const int argument = __builtin_ctz(mask);
    const Value& value = call.args[argument];
    const auto is_place = [&](const TensorImpl& tensor) {
      return !is_differentiable(tensor.dtype) && !(joining >> argument & 1);
    };
    if (is_tensor_list(value))
      for (TensorImpl* tensor : value.list()) add(!tensor || is_place(*tensor));
    else add(value.tag == Tag::Tensor && is_place(*value.tensor));
  }
  return bits;
}

struct Derivations {
  std::mutex mutex;
  std::unordered_map<const OpRecord*, Derivation> by_op;
};

Derivations& derivations() {
  static auto* made = new Derivations;  // never destroyed, as records are not
  return *made;
}

void remember_derivation(Rule rule, const OpCall& call, const DerivativePlan& plan) {
  Derivations& all = derivations();
  std::lock_guard lock(all.mutex);
  all.by_op.try_emplace(plan.op, Derivation{rule, call.op->functional ? call.op->functional : call.op, &plan});
}

void add_variant(Derivatives::Found& found, std::span<const uint8_t> data, Rule rule, const OpCall& call) {
  Decoder in(data);
  const auto given = in.record<encoded::GuardedDerivative>();
  auto variant = std::make_unique<DerivativeVariant>();
  variant->guards = make_program(given.guards, {});
  std::unique_ptr<DerivativePlan> plan;
  if (given.derivative) {
    plan = make_plan(*given.derivative, call.op->functional ? *call.op->functional : *call.op);
    keep_structural(*plan, call);
    plan->places = places_of(call);
  }
  if (plan && plan->op) remember_derivation(rule, call, *plan);
  variant->plan = plan.release();
  variant->next = found.first.load(std::memory_order_relaxed);
  found.first.store(variant.release(), std::memory_order_release);
}

bool serves(const DerivativeVariant& variant, const OpCall& call) {
  const RegisterProgram& guards = variant.guards;
  if (guards.instructions.empty()) return true;
  const FlatTensors inputs(call);
  constexpr size_t kInline = 64;
  Register few[kInline];
  std::vector<Register> many(guards.initial.size() > kInline ? guards.initial.size() : 0);
  Register* registers = many.empty() ? few : many.data();
  std::ranges::copy(guards.initial, registers);
  return run_program(guards, 0, guards.instructions.size(), call, inputs.data(), registers);
}

const DerivativeVariant* choose(const Derivatives::Found& found, const OpCall& call) {
  const DerivativeVariant* variant = found.first.load(std::memory_order_acquire);
  while (variant && !serves(*variant, call)) variant = variant->next;
  return variant;
}

void read_frozen(const OpRecord& op, Derivatives& derivatives) {
  if (std::exchange(derivatives.frozen_read, true)) return;
  const std::span<const uint8_t> block = frozen_op(op).derivatives;
  if (block.empty()) return;
  Decoder in(block);
  for (size_t count = in.list(); count--;) {
    auto given = in.record<encoded::KeyedDerivative>();
    KeyBuilder key;
    key.add(given.mask);
    key.add_specification(given.key, op.schema);
    derivatives.by_key[static_cast<int>(given.rule)].add(key).frozen.push_back(given.derivative);
  }
}

}  // namespace

const Derivation* derived_from(const OpRecord& op) {
  Derivations& all = derivations();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_op.find(&op);
  return found == all.by_op.end() ? nullptr : &found->second;
}

const DerivativePlan* find_rule(Rule rule, const OpCall& call, uint64_t mask) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  Derivatives& derivatives = *static_cast<Derivatives*>(op.derivative);
  const KeyBuilder key = key_of(call, op, mask);
  auto& by_key = derivatives.by_key[static_cast<int>(rule)];
  if (Derivatives::Found* found = by_key.find(key)) [[likely]]
    if (const DerivativeVariant* variant = choose(*found, call)) return variant->plan;
  std::unique_lock lock(derivatives.mutex);
  read_frozen(op, derivatives);
  Derivatives::Found& found = by_key.add(key);
  for (const auto encoded : std::exchange(found.frozen, {})) add_variant(found, encoded, rule, call);
  if (const DerivativeVariant* variant = choose(found, call)) return variant->plan;
  // Tracing wants the interpreter, which a thread that waits for the lock may hold.
  lock.unlock();
  const std::string traced = trace(kRuleNames[static_cast<int>(rule)], call, static_cast<int64_t>(mask));
  lock.lock();
  if (const DerivativeVariant* variant = choose(found, call)) return variant->plan;  // another thread was faster
  add_variant(found, {reinterpret_cast<const uint8_t*>(traced.data()), traced.size()}, rule, call);
  return found.first.load()->plan;
}

}  // namespace pellucid
