#include "autograd/hooks.h"

#include "../../sanitizers/check.h"
#include "toy_ops.h"

using namespace toy;
using pellucid::Hook;
using pellucid::Ref;

namespace {

std::vector<std::string> order;

struct Note final : Hook {
  std::string label;
  double factor;
  Note(std::string label, double factor) : label(std::move(label)), factor(factor) {}
  void call(std::span<Tensor> gradients, std::span<const Tensor>) override {
    order.push_back(label);
    if (factor == 1 || gradients.empty() || !gradients[0]) return;
    gradients[0] = mul(gradients[0], tensor({factor}, {1}));
  }
};
Ref<Hook> note(const char* label, double factor = 1) { return Ref<Hook>::adopt(new Note(label, factor)); }

}  // namespace

TEST(hooks_run_in_order_and_replace_gradients) {
  order.clear();
  Tensor x = leaf({1, 2}, {2});
  Tensor y = mul(x, tensor({2, 2}, {2}));
  auto& extras = pellucid::extras_of(*pellucid::grad_fn(*y));
  extras.before.push_back(note("node before"));
  extras.after.push_back(note("node after"));
  extras.tensor_hooks.push_back({0, note("tensor", 10)});
  pellucid::retain_grad(*y);
  pellucid::hooks_of_leaf(*x).before.push_back(note("leaf", 3));
  pellucid::hooks_of_leaf(*x).after_accumulation.push_back(note("accumulated"));
  backward(sum(y));
  CHECK(order == (std::vector<std::string>{"tensor", "node before", "node after", "leaf", "accumulated"}));
  CHECK(grad_numbers(y) == (Numbers{10, 10}));
  CHECK(grad_numbers(x) == (Numbers{60, 60}));
}

TEST(a_retained_gradient_belongs_to_the_value_after_a_write) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = mul(x, tensor({2, 2}, {2}));
  pellucid::retain_grad(*y);
  mul_(y, tensor({3, 3}, {2}));
  backward(sum(y));
  CHECK(grad_numbers(y) == (Numbers{1, 1}) && grad_numbers(x) == (Numbers{6, 6}));
}

TEST(a_tensor_that_retains_its_gradient_may_die_first) {
  Tensor x = leaf({1, 2}, {2}), z;
  {
    Tensor y = mul(x, tensor({2, 2}, {2}));
    pellucid::retain_grad(*y);
    z = sum(call("add.Tensor", {pellucid::Value::of(y.get()), pellucid::Value::of(y.get())})[0]);
  }
  backward(z);
  CHECK(grad_numbers(x) == (Numbers{4, 4}));
}
