#include "ops/derivatives.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "autograd/saved_value.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "ops/derivation.h"
#include "ops/filling.h"
#include "ops/graph_op.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/records.h"
#include "plan/tile_program.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

KeyBuilder key_of(const OpCall& call, const OpRecord& op, uint64_t needs_grad) {
  KeyBuilder key;
  key.add(needs_grad);
  key.add_call(call, op.kind != OpKind::Pointwise && op.kind != OpKind::Random);
  return key;
}

// The op of a derivative: its schema, kind, origin and the one key known of it. Null if there is nothing to compute.
std::shared_ptr<const OpRecord> make_op(const std::optional<encoded::DerivedOp>& given, ResultLayout layout) {
  if (!given) return nullptr;
  return derivative_op(std::string(given->schema), given->kind, given->promoted,
                       {given->origin.begin(), given->origin.end()}, layout, given->keys);
}

std::unique_ptr<DerivativePlan> make_plan(const encoded::DerivativeRow& given, const OpRecord& op) {
  auto plan = std::make_unique<DerivativePlan>();
  const ResultLayout layout = frozen_op(op).layout;
  plan->op_owner = make_op(given.op, layout == ResultLayout::Images ? layout : ResultLayout::RowMajor);
  plan->op = plan->op_owner.get();
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
  plan->forward_owner = make_op(given.forward, layout);
  plan->forward = plan->forward_owner.get();
  return plan;
}

// Stores the structural arguments of the first call with the plan's key; all calls with the key have the same ones.
void keep_structural(DerivativePlan& plan, const OpCall& call) {
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  const std::vector<Argument>& arguments = op.schema.arguments;
  size_t bytes = 0;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].structural) bytes += payload_bytes(call.args[i]);
  plan.structural_memory = std::make_shared<char[]>(bytes);
  char* cursor = plan.structural_memory.get();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].structural) plan.structural.push_back({static_cast<int16_t>(i), copy_value(call.args[i], cursor)});
}

// Inputs that are indices or masks: integers and bools that take no part in promotion, and the omitted entries of
// a list of indices.
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

FORK_SAFE ForkSafeMutex mutex;
struct Derivations {
  std::unordered_map<const OpRecord*, Derivation> by_op;
};

Derivations& derivations() {
  static auto* made = new Derivations;  // never destroyed, like records
  return *made;
}

void remember_derivation(Rule rule, const OpCall& call, const DerivativePlan& plan) {
  const OpRecord* op = call.op->functional ? call.op->functional : call.op;
  const std::shared_ptr<const OpRecord> owner = owner_of(*op);
  const std::lock_guard lock(mutex);
  Derivations& all = derivations();
  all.by_op.try_emplace(plan.op, Derivation{rule, op, owner, owner != nullptr, plan.arguments, plan.results,
                                            plan.structural, plan.structural_memory});
}

DerivativeVariant make_variant(std::span<const uint8_t> data, Rule rule, const OpCall& call) {
  Decoder in(data);
  const auto given = in.record<encoded::GuardedDerivative>();
  DerivativeVariant variant{make_program(given.guards, {}), nullptr};
  if (!given.derivative) return variant;
  auto plan = make_plan(*given.derivative, call.op->functional ? *call.op->functional : *call.op);
  keep_structural(*plan, call);
  plan->places = places_of(call);
  if (plan->op) remember_derivation(rule, call, *plan);
  variant.plan = std::move(plan);
  return variant;
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

void read_frozen(const OpRecord& op, Derivatives& derivatives) {
  if (derivatives.frozen_read.load(std::memory_order_acquire)) [[likely]]
    return;
  std::lock_guard lock(filling);
  if (derivatives.frozen_read) return;
  if (FrozenOp& frozen = frozen_op(op); frozen.derivatives.size) {
    frozen.own_derivatives = frozen.derivatives.inflate();
    KeyCache<Derivatives::Frozen> made[kNumRules];
    Decoder in(frozen.own_derivatives);
    for (size_t count = in.list(); count--;) {
      auto given = in.record<encoded::KeyedDerivative>();
      KeyBuilder key;
      key.add(given.mask);
      key.add_items(given.key, op.schema);
      made[static_cast<int>(given.rule)].add(key).encoded.push_back(given.derivative);
    }
    for (int rule = 0; rule < kNumRules; ++rule) derivatives.frozen[rule].take(made[rule]);
  }
  derivatives.frozen_read.store(true, std::memory_order_release);
}

const std::vector<DerivativeVariant>* decode_frozen(Derivatives::Frozen& found, Rule rule, const OpCall& call) {
  std::lock_guard lock(filling);
  if (!found.variants.load()) {
    auto made = std::make_unique<std::vector<DerivativeVariant>>();
    for (const auto encoded : found.encoded) made->push_back(make_variant(encoded, rule, call));
    found.encoded = {};
    found.variants.store(made.release(), std::memory_order_release);
  }
  return found.variants.load();
}

// The plan of the key in the frozen file, found without a lock once it is decoded. nullopt: the file has none for
// the call.
std::optional<SharedPlan> find_frozen(const OpRecord& op, Derivatives& derivatives, Rule rule, const KeyBuilder& key,
                                      const OpCall& call) {
  read_frozen(op, derivatives);
  Derivatives::Frozen* found = derivatives.frozen[static_cast<int>(rule)].find(key);
  if (!found) return std::nullopt;
  const std::vector<DerivativeVariant>* variants = found->variants.load(std::memory_order_acquire);
  if (!variants) [[unlikely]]
    variants = decode_frozen(*found, rule, call);
  for (const DerivativeVariant& variant : *variants)
    if (serves(variant, call)) return permanent(variant.plan.get());
  return std::nullopt;
}

std::optional<SharedPlan> find_traced(Derivatives& derivatives, Rule rule, const KeyBuilder& key, const OpCall& call) {
  const auto place = derivatives.traced[static_cast<int>(rule)].find(key);
  const auto variants = place ? place->load() : nullptr;
  if (variants)
    for (const auto& variant : *variants)
      if (serves(*variant, call)) return variant->plan;
  return std::nullopt;
}

SharedPlan add_traced(Derivatives& derivatives, Rule rule, const KeyBuilder& key, DerivativeVariant made) {
  const auto variant = std::make_shared<const DerivativeVariant>(std::move(made));
  auto longer = std::make_shared<Derivatives::TracedVariants>(Derivatives::TracedVariants{variant});
  const auto place = derivatives.traced[static_cast<int>(rule)].add(key);
  if (const auto known = place->load()) longer->insert(longer->end(), known->begin(), known->end());
  place->store(std::move(longer));
  return variant->plan;
}

}  // namespace

std::optional<Derivation> derived_from(const OpRecord& op) {
  const std::lock_guard lock(mutex);
  Derivations& all = derivations();
  const auto found = all.by_op.find(&op);
  if (found == all.by_op.end()) return std::nullopt;
  Derivation derivation = found->second;
  if (derivation.is_owned) derivation.op = derivation.op_owner.lock().get();
  return derivation;
}

void forget_derivation(const OpRecord& op) {
  const std::lock_guard lock(mutex);
  Derivations& all = derivations();
  all.by_op.erase(&op);
}

std::atomic<DerivativeFinder> device_derivative{nullptr};

SharedPlan find_rule(Rule rule, const OpCall& call, uint64_t mask) {
  if (const DerivativeFinder finder = device_derivative.load(std::memory_order_relaxed); finder && rule == Rule::Vjp)
    if (SharedPlan plan = finder(call, mask)) return plan;
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  Derivatives& derivatives = *static_cast<Derivatives*>(op.derivative);
  const KeyBuilder key = key_of(call, op, mask);
  if (auto plan = find_frozen(op, derivatives, rule, key, call)) [[likely]]
    return *std::move(plan);
  if (auto plan = find_traced(derivatives, rule, key, call)) return *std::move(plan);
  // Tracing needs the interpreter lock, which a thread that waits for ours may hold.
  const Traced traced = trace(kRuleNames[static_cast<int>(rule)], call, static_cast<int64_t>(mask));
  std::lock_guard lock(filling);
  if (auto plan = find_traced(derivatives, rule, key, call)) return *std::move(plan);  // another thread was faster
  const ProgramScope programs(traced.programs);
  return add_traced(derivatives, rule, key, make_variant(traced.bytes(), rule, call));
}

}  // namespace pellucid
