#include "../../sanitizers/check.h"
#include "autograd/node.h"
#include "core/thread_state.h"
#include "toy_ops.h"

using namespace toy;
using pellucid::grad_fn;
using pellucid::requires_grad;

TEST(views_pass_gradients_on) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  Tensor v = view(x, {4});
  CHECK(grad_fn(*v)->name() == "ViewBackward0");
  backward(sum(mul(v, v)));
  CHECK(grad_numbers(x) == (Numbers{2, 4, 6, 8}));
}

TEST(a_write_in_place_extends_the_history) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor y = mul(x, x);
  mul_(y, w);
  CHECK(grad_fn(*y)->name() == "MulBackward0");
  backward(sum(y));
  CHECK(grad_numbers(x) == (Numbers{6, 16}));
  CHECK(grad_numbers(w) == (Numbers{1, 4}));
}

TEST(an_op_in_place_that_saves_its_result) {
  Tensor x = leaf({0.5, 1}, {2}, pellucid::DType::Float64);
  Tensor y = mul(x, tensor({1, 1}, {2}, pellucid::DType::Float64));
  exp_(y);
  backward(sum(y));
  CHECK(grad_numbers(x) == numbers(y));
}

TEST(multiplying_a_tensor_by_itself_in_place) {
  Tensor x = leaf({1, 2}, {2});
  const auto run = [&] {
    Tensor y = mul(x, tensor({3, 3}, {2}));
    mul_(y, y);
    backward(sum(y));
  };
  run();
  CHECK(grad_numbers(x) == (Numbers{18, 36}));
  pellucid::set_grad(*x, {});
  const int64_t before = live_blocks();
  run();
  pellucid::set_grad(*x, {});
  CHECK(live_blocks() == before);
}

TEST(a_write_through_a_view_rebases_the_base) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}), w = leaf({5, 6}, {2});
  Tensor y = mul(x, x);
  Tensor row = select(y, 0), other = select(y, 1);
  mul_(row, w);
  CHECK(grad_fn(*y)->name() == "CopySlices");
  CHECK(grad_fn(*row)->name() == "AsStridedBackward0");
  CHECK(grad_fn(*other)->name() == "AsStridedBackward0");
  backward(sum(y), true);
  CHECK(grad_numbers(x) == (Numbers{10, 24, 6, 8}));
  CHECK(grad_numbers(w) == (Numbers{1, 4}));
  pellucid::set_grad(*x, {});
  backward(sum(mul(row, other)));
  CHECK(grad_numbers(x) == (Numbers{10 * 9, 24 * 16, 5 * 6, 24 * 8}));
}

TEST(a_base_without_gradients_gets_them_through_a_view) {
  Tensor base = tensor({0, 0, 0, 0}, {2, 2}), w = leaf({5, 6}, {2});
  Tensor before = select(base, 1), row = select(base, 0);
  CHECK(!requires_grad(*before));
  call("copy_", {pellucid::Value::of(row.get()), pellucid::Value::of(w.get())});
  CHECK(requires_grad(*base) && requires_grad(*row) && requires_grad(*before));
  CHECK(grad_fn(*base)->name() == "CopySlices");
  Tensor all = view(base, {4});
  backward(sum(mul(all, all)));
  CHECK(grad_numbers(w) == (Numbers{10, 12}));
}

TEST(a_view_made_before_its_base_had_gradients_is_recorded) {
  Tensor base = tensor({1, 2, 3, 4}, {2, 2}), w = leaf({2, 2}, {2});
  Tensor row = select(base, 1);
  mul_(base, w);
  CHECK(requires_grad(*row));
  backward(sum(mul(row, tensor({1, 10}, {2}))));
  CHECK(grad_numbers(w) == (Numbers{3, 40}));
}

TEST(many_writes_through_views) {
  Tensor w = leaf({1, 2}, {2});
  Tensor base = tensor(Numbers(20, 0), {10, 2});
  for (int64_t i = 0; i < 10; ++i) {
    Tensor row = select(base, i), value = mul(w, tensor({double(i), double(i)}, {2}));
    call("copy_", {pellucid::Value::of(row.get()), pellucid::Value::of(value.get())});
  }
  backward(sum(base));
  CHECK(grad_numbers(w) == (Numbers{45, 45}));
}

TEST(second_order_through_a_write_into_a_view) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}, pellucid::DType::Float64);
  Tensor y = mul(x, x), row = select(y, 0);
  mul_(row, row);  // x0^4
  Tensor dx = grad(sum(y), {x}, true, true)[0];
  CHECK(numbers(dx) == (Numbers{4, 32, 6, 8}));
  CHECK(numbers(grad(sum(dx), {x})[0]) == (Numbers{12, 48, 2, 2}));
}

TEST(writes_to_leaves_are_refused) {
  Tensor x = leaf({1, 2}, {2}), one = tensor({1, 1}, {2});
  CHECK_RAISES("a leaf Variable that requires grad", mul_(x, one));
  CHECK_RAISES("a view of a leaf Variable that requires grad", mul_(view(x, {2}), one));
  CHECK(numbers(x) == (Numbers{1, 2}));
  pellucid::thread_state.grad_mode = false;
  mul_(x, one);
  pellucid::thread_state.grad_mode = true;
}

TEST(writes_to_ambiguous_views_are_refused) {
  Tensor base = tensor({1, 2, 3, 4}, {2, 2}), w = leaf({1, 1}, {2});
  pellucid::thread_state.grad_mode = false;
  Tensor row = select(base, 0);
  pellucid::thread_state.grad_mode = true;
  CHECK_RAISES("no_grad mode", mul_(row, w));
  Tensor y = mul(leaf({1, 2, 3, 4}, {2, 2}), base);
  CHECK_RAISES("several views", mul_(unbind(y)[0], w));
}

TEST(views_made_under_no_grad_count_as_leaves) {
  Tensor x = leaf({1, 2}, {2});
  pellucid::thread_state.grad_mode = false;
  Tensor v = view(x, {2});
  pellucid::thread_state.grad_mode = true;
  CHECK(requires_grad(*v) && pellucid::is_leaf(*v));
  backward(sum(mul(v, v)));
  CHECK(grad_numbers(v) == (Numbers{2, 4}) && grad_numbers(x).empty());
}

TEST(detached_tensors_share_memory_and_version) {
  Tensor x = leaf({1, 2}, {2});
  Tensor y = mul(x, x), d = pellucid::detach(*y);
  CHECK(!requires_grad(*d) && d->storage == y->storage);
  Tensor z = sum(mul(y, y));
  mul_(d, tensor({2, 2}, {2}));
  CHECK_RAISES("modified", backward(z));
  Tensor data = pellucid::tensor_data(*y);
  Tensor u = sum(mul(y, y));
  mul_(data, tensor({2, 2}, {2}));
  backward(u);
}

TEST(as_strided_has_derivatives_of_every_order) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}, pellucid::DType::Float64);
  const int64_t sizes[] = {3, 2}, strides[] = {0, 1};
  Tensor y = pellucid::as_strided(*x, sizes, strides, 2);  // the second row, three times
  Tensor dx = grad(sum(mul(mul(y, y), y)), {x}, true, true)[0];
  CHECK(numbers(dx) == (Numbers{0, 0, 81, 144}));
  Tensor second = grad(sum(dx), {x}, true, true)[0];
  CHECK(numbers(second) == (Numbers{0, 0, 54, 72}));
  CHECK(numbers(grad(sum(second), {x})[0]) == (Numbers{0, 0, 18, 18}));
}
