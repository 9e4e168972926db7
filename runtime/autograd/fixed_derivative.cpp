#include "autograd/fixed_derivative.h"

#include <memory>
#include <utility>

#include "autograd/handler.h"
#include "core/dispatcher.h"

namespace pellucid {
namespace {

struct FixedDerivative final : KindData {
  explicit FixedDerivative(DerivativePlan given) : plan(std::move(given)) {}
  const DerivativePlan plan;
};

SharedPlan plan_of(const OpCall& call, uint64_t) { return permanent(&fixed_derivative(*call.op)); }

}  // namespace

const DerivativePlan& fixed_derivative(const OpRecord& op) {
  return static_cast<const FixedDerivative&>(*op.kind_data).plan;
}

void give_derivative(OpRecord& op, DerivativePlan plan) {
  static const DerivativeFinder finder = plan_of;
  op.kind_data = std::make_unique<FixedDerivative>(std::move(plan));
  register_kernel(op, Key::Autograd, {autograd_handler, const_cast<DerivativeFinder*>(&finder)});
  register_kernel(op, Key::ViewInPlace, {view_handler, nullptr});
}

}  // namespace pellucid
