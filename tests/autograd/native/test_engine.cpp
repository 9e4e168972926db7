#include <cmath>
#include <thread>

#include "../../sanitizers/check.h"
#include "autograd/backward_pass.h"
#include "toy_ops.h"

using namespace toy;
using pellucid::Node;
using pellucid::Ref;

TEST(gradients_of_a_product) {
  Tensor x = leaf({1, 2, 3}, {3}), y = leaf({4, 5, 6}, {3});
  backward(sum(mul(x, y)));
  CHECK(grad_numbers(x) == (Numbers{4, 5, 6}));
  CHECK(grad_numbers(y) == (Numbers{1, 2, 3}));
}

TEST(gradients_accumulate_over_passes_and_uses) {
  Tensor x = leaf({1, 2}, {2});
  for (int pass = 0; pass < 3; ++pass) backward(sum(mul(x, x)));
  CHECK(grad_numbers(x) == (Numbers{6, 12}));
}

TEST(broadcast_operands_get_gradients_of_their_own_shape) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}), row = leaf({10, 20}, {2}), one = leaf({2}, {1, 1});
  backward(sum(mul(mul(x, row), one)));
  CHECK(grad_numbers(x) == (Numbers{20, 40, 20, 40}));
  CHECK(grad_numbers(row) == (Numbers{8, 12}));
  CHECK(grad_of(*row)->ndim == 1 && grad_of(*one)->ndim == 2);
  CHECK(grad_numbers(one) == (Numbers{160}));
}

TEST(gradients_have_the_dtype_of_their_leaf) {
  Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2}, pellucid::DType::Float64);
  backward(sum(mul(x, y)));
  CHECK(grad_of(*x)->dtype == pellucid::DType::Float32);
  CHECK(grad_of(*y)->dtype == pellucid::DType::Float64);
}

TEST(saved_results_and_second_order) {
  Tensor x = leaf({0.5}, {1}, pellucid::DType::Float64);
  Tensor first = grad(sum(mul(exp(x), exp(x))), {x}, true, true)[0];  // 2 exp(2x)
  Tensor second = grad(sum(first), {x}, true, true)[0];
  Tensor third = grad(sum(second), {x})[0];
  CHECK(std::abs(numbers(first)[0] - 2 * std::exp(1.0)) < 1e-12);
  CHECK(std::abs(numbers(second)[0] - 4 * std::exp(1.0)) < 1e-12);
  CHECK(std::abs(numbers(third)[0] - 8 * std::exp(1.0)) < 1e-12);
}

TEST(nothing_leaks_when_a_graph_is_dropped_without_backward) {
  Tensor x = leaf({1, 2}, {2});
  sum(exp(exp(x)));
  const int64_t before = live_blocks();
  for (int i = 0; i < 10; ++i) sum(exp(mul(exp(x), x)));
  CHECK(live_blocks() == before);
}

TEST(nothing_leaks_over_training_steps) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  const auto step = [&] {
    backward(sum(exp(mul(mul(x, w), w))));
    pellucid::set_grad(*x, {});
    pellucid::set_grad(*w, {});
  };
  step();
  const int64_t before = live_blocks();
  for (int i = 0; i < 1000; ++i) step();
  CHECK(live_blocks() == before);
}

TEST(a_chain_of_100000_nodes_runs_and_is_released) {
  Tensor x = leaf({1}, {1}), one = tensor({1}, {1});
  const int64_t before = live_blocks();
  {
    Tensor y = mul(x, one);
    for (int i = 0; i < 100000; ++i) y = mul(y, one);
    backward(y, true);
    CHECK(grad_numbers(x) == (Numbers{1}));
    Tensor dx = grad(y, {x}, true, true)[0];
    CHECK(numbers(dx) == (Numbers{1}));
  }
  pellucid::set_grad(*x, {});
  CHECK(live_blocks() <= before + 1);  // the accumulator
}

TEST(backward_twice_is_an_error) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = sum(mul(x, x));
  backward(y, true);
  backward(y);
  CHECK_RAISES("second time", backward(y));
  CHECK_RAISES("retain_graph=True", backward(y));
}

TEST(roots_and_gradients_are_checked) {
  Tensor x = leaf({1, 2}, {2}), plain = tensor({1}, {1});
  CHECK_RAISES("implicitly created only for scalar", backward(mul(x, x)));
  CHECK_RAISES("does not require grad", backward(plain));
  Tensor y = sum(x);
  CHECK_RAISES("to not have been used", grad(y, {leaf({1}, {1})}, true));
  CHECK(!grad(y, {leaf({1}, {1})}, true, false, true)[0]);
  const pellucid::Target root{y.get(), {}};
  const Tensor wrong = tensor({1, 2, 3}, {3});
  CHECK_RAISES("Mismatch in shape", pellucid::run_backward({&root, 1}, {&wrong, 1}, {}, {}));
}

TEST(a_failed_pass_leaves_the_graph_usable_and_leaks_nothing) {
  Tensor x = leaf({1, 2}, {2});
  const auto fail = [&] {
    Tensor y = exp(x), z = sum(mul(mul(x, x), y));
    mul_(y, tensor({2, 2}, {2}));
    CHECK_RAISES("modified by an inplace operation", backward(z, true));
    CHECK_RAISES("is at version 1; expected version 0", backward(z));
  };
  fail();
  pellucid::set_grad(*x, {});
  const int64_t before = live_blocks();
  for (int i = 0; i < 10; ++i) fail();
  CHECK(live_blocks() == before);
}

TEST(gradients_of_inner_tensors_are_returned) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = mul(x, x), z = sum(mul(y, x));
  auto grads = grad(z, {y, x});
  CHECK(numbers(grads[0]) == (Numbers{1, 2}));
  CHECK(numbers(grads[1]) == (Numbers{3, 12}));
  CHECK(!pellucid::grad_of(*x));
}

TEST(only_the_path_to_the_inputs_runs) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor side = exp(w);
  Tensor z = sum(mul(mul(x, x), side));
  mul_(side, tensor({1, 1}, {2}));  // breaks the product's saved value only
  CHECK_RAISES("modified", grad(z, {x}, true));
  Tensor inner = exp(w), root = sum(mul(x, inner));
  CHECK(numbers(grad(root, {x})[0]) == numbers(inner));
}

TEST(a_pass_reaches_nothing_below_its_inputs) {
  Tensor x = leaf({1, 2}, {2}), below = exp(x), y = mul(below, below), z = sum(mul(y, y));
  const auto node_of = [](const Tensor& t) { return Ref<Node>::adopt(pellucid::retained_edge(*t).node); };
  const Ref<Node> first = node_of(below), input = node_of(y), last = node_of(z);
  const pellucid::Edge inputs[] = {{input.get(), 0}};
  pellucid::BackwardPass pass({});
  pass.add_root({last.get(), 0}, tensor({1}, {}));
  pass.discover(inputs);
  CHECK(first->depth < input->depth && input->depth < last->depth);
  CHECK(input->pass == &pass && first->pass == nullptr);
}

TEST(backward_can_accumulate_into_chosen_inputs) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor y = mul(x, w);
  Tensor z = sum(mul(y, w));
  const pellucid::Target root{z.get(), {}}, inputs[] = {{x.get(), {}}, {y.get(), {}}};
  const Tensor none;
  pellucid::run_backward({&root, 1}, {&none, 1}, inputs, {});
  CHECK(grad_numbers(x) == (Numbers{9, 16}));
  CHECK(grad_numbers(y) == (Numbers{3, 4}));
  CHECK(grad_numbers(w).empty());
}

TEST(lists_of_tensors_and_lists_of_results) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  std::vector<Tensor> rows = unbind(x);
  backward(sum(mul(rows[0], rows[0])));  // the second row's gradient is undefined
  CHECK(grad_numbers(x) == (Numbers{2, 4, 0, 0}));
  Tensor a = leaf({1}, {1}), b = leaf({2}, {1});
  const Tensor list[] = {a, b};
  backward(sum(stack_sum(list)));
  CHECK(grad_numbers(a) == (Numbers{1}) && grad_numbers(b) == (Numbers{1}));
}

TEST(leaves_that_share_a_gradient_do_not_share_memory) {
  Tensor x = leaf({1, 2}, {2}), y = leaf({3, 4}, {2});
  backward(sum(call("add.Tensor", {pellucid::Value::of(x.get()), pellucid::Value::of(y.get())})[0]));
  CHECK(pellucid::grad_of(*x)->storage != pellucid::grad_of(*y)->storage);
}

TEST(passes_over_one_graph_run_on_several_threads) {
  Tensor x = leaf({1, 2, 3}, {3}), w = leaf({2, 2, 2}, {3});
  Tensor shared = mul(x, w);
  for (int i = 0; i < 20; ++i) shared = mul(shared, w);
  std::vector<Tensor> roots;
  for (int i = 0; i < 4; ++i) roots.push_back(sum(mul(shared, tensor({1, 1, 1}, {3}))));
  backward(roots[0], true);
  const Numbers once = grad_numbers(x);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int pass = 0; pass < 50; ++pass) backward(roots[static_cast<size_t>(i)], true);
    });
  for (std::thread& thread : threads) thread.join();
  Numbers expected = once;
  for (double& value : expected) value *= 201;
  CHECK(grad_numbers(x) == expected);
}
