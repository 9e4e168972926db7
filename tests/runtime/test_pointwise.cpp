#include <bit>
#include <cmath>

#include "../sanitizers/check.h"
#include "core/dispatcher.h"
#include "core/generator.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/pointwise.h"
#include "test_kernels.h"

using namespace kernels_for_tests;

namespace {

// The smallest stand-in for the catalogue: add with alpha, in three dtypes, and lt.
template <class T>
int64_t less(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t*) {
  for (int64_t outer = 0; outer < sizes[1]; ++outer)
    for (int64_t inner = 0; inner < sizes[0]; ++inner) {
      const auto at = [&](int k) { return data[k] + inner * strides[2 * k] + outer * strides[2 * k + 1]; };
      write<bool>(at(0), read<T>(at(1)) < read<T>(at(2)));
    }
  return 0;
}

// out = a + p0 * p1, for a number in the place of the second tensor
template <class T, class P>
int64_t add_number(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t* params) {
  const P product = std::bit_cast<P>(params[0]) * std::bit_cast<P>(params[1]);
  for (int64_t outer = 0; outer < sizes[1]; ++outer)
    for (int64_t inner = 0; inner < sizes[0]; ++inner) {
      const auto at = [&](int k) { return data[k] + inner * strides[2 * k] + outer * strides[2 * k + 1]; };
      write<T>(at(0), static_cast<T>(read<T>(at(1)) + static_cast<T>(product)));
    }
  return 0;
}

int lookups = 0;

KernelFunction kernel_for(const std::string& name, DType common, bool number) {
  if (name == "lt")
    return common == DType::Float32 ? less<float> : common == DType::Float64 ? less<double> : less<int64_t>;
  if (number)
    return common == DType::Float32   ? add_number<float, double>
           : common == DType::Float64 ? add_number<double, double>
                                      : add_number<int64_t, int64_t>;
  return common == DType::Float32   ? add_scaled<float>
         : common == DType::Float64 ? add_scaled<double>
                                    : add_scaled<int64_t>;
}

OpRecord& define(const char* schema, Variant variant, OpRecord* functional) {
  OpRecord& op = *define_op(schema, "tests");
  op.kind = OpKind::Pointwise;
  op.variant = variant;
  op.functional = functional;
  if (!functional) op.kind_data = std::make_unique<PointwiseData>(op.schema, 3u, false, false);
  for (const Key key : {Key::CPU, Key::Meta}) register_kernel(op, key, {handle_pointwise, nullptr});
  return op;
}

struct Ops {
  OpRecord& add =
      define("add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", Variant::Functional, nullptr);
  OpRecord& add_ =
      define("add_(Tensor(a!) self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)", Variant::InPlace, &add);
  OpRecord& add_out = define(
      "add.out(Tensor self, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Variant::Out, &add);
  OpRecord& lt = define("lt(Tensor self, Tensor|Scalar other) -> Tensor", Variant::Functional, nullptr);
};
Ops& ops() {
  static auto* made = new Ops;
  return *made;
}

Tensor call(OpRecord& op, std::vector<Value> arguments) {
  Value results[kMaxReturns];
  OpCall call{&op, arguments.data(), results, static_cast<uint8_t>(arguments.size()), {}};
  dispatch(call);
  return Tensor::adopt(results[0].tensor);
}
Tensor add(const Tensor& a, Value b, Value alpha = Value::of_int(1)) {
  return call(ops().add, {Value::of(a.get()), b, alpha});
}
Tensor add(const Tensor& a, const Tensor& b) { return add(a, Value::of(b.get())); }

template <class T>
Tensor tensor(std::vector<T> values, std::vector<int64_t> sizes, DType dtype) {
  Tensor result = empty(sizes, dtype);
  std::copy(values.begin(), values.end(), result->host_as<T>());
  return result;
}
Tensor floats(std::vector<float> values, std::vector<int64_t> sizes) {
  return tensor<float>(std::move(values), std::move(sizes), DType::Float32);
}
Tensor ints(std::vector<int64_t> values, std::vector<int64_t> sizes) {
  return tensor<int64_t>(std::move(values), std::move(sizes), DType::Int64);
}

std::vector<int64_t> strides_of(const Tensor& t) { return {t->strides, t->strides + t->ndim}; }
std::vector<int64_t> sizes_of(const Tensor& t) { return {t->sizes, t->sizes + t->ndim}; }
using List = std::vector<int64_t>;

}  // namespace

namespace pellucid {

const ElementFunction* find_element_function(const OpCall& call, PointwiseKey key) {
  ++lookups;
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  auto* function = new ElementFunction;
  if (op.schema.name == "noise_") {  // the word itself, as a float
    set_kernel(function->kernel, conversion_kernel(DType::Float32, DType::Int32).get());
    function->num_outputs = function->num_inputs = function->num_draws = 1;
    function->is_plain = false;
    function->outputs[0] = DType::Float32;
    function->inputs[0] = {kFirstDraw, DType::Int32};
    return function;
  }
  const bool number = key.code(1) == PointwiseKey::Number, is_less = op.schema.name == "lt";
  const DType common = key.common();
  const DType slot = category(common) == DTypeCategory::Floating ? DType::Float64 : DType::Int64;
  set_kernel(function->kernel, kernel_for(op.schema.name, common, number));
  function->num_outputs = 1;
  function->outputs[0] = is_less ? DType::Bool : common;
  function->inputs[function->num_inputs++] = {0, common};
  if (number) function->params[function->num_params++] = {1, slot};
  else function->inputs[function->num_inputs++] = {1, common};
  if (!is_less) function->params[function->num_params++] = {2, number ? slot : DType::Float64};
  return function;
}

void check_numbers(const OpCall&, const ElementFunction&) {}

}  // namespace pellucid

TEST(add_of_equal_shapes_and_numbers) {
  const Tensor a = floats({1, 2, 3, 4}, {2, 2}), b = floats({10, 20, 30, 40}, {2, 2});
  const Tensor c = add(a, b);
  CHECK(c->host_as<float>()[3] == 44 && c->is_contiguous() && c->dtype == DType::Float32);
  CHECK(add(a, Value::of_float(0.5))->host_as<float>()[0] == 1.5f);
  CHECK(add(a, Value::of(b.get()), Value::of_int(2))->host_as<float>()[0] == 21);
  const int before = lookups;
  add(a, b);
  CHECK(lookups == before);
}

TEST(promotion_follows_rank_and_category) {
  const Tensor i = ints({1, 2}, {2}), f = floats({0.5f, 1.5f}, {2}), d0 = tensor<double>({2.5}, {}, DType::Float64);
  CHECK(add(i, f)->dtype == DType::Float32 && add(i, f)->host_as<float>()[1] == 3.5f);
  CHECK(add(f, d0)->dtype == DType::Float32 && add(f, d0)->host_as<float>()[0] == 3);
  CHECK(add(i, d0)->dtype == DType::Float64 && add(i, d0)->host_as<double>()[0] == 3.5);
  CHECK(add(i, Value::of_float(0.5))->dtype == DType::Float32);
  CHECK(add(i, Value::of_int(5))->dtype == DType::Int64 && add(i, Value::of_int(5))->host_as<int64_t>()[0] == 6);
  CHECK(add(d0, f)->dtype == DType::Float32 && add(d0, d0)->dtype == DType::Float64 && add(d0, d0)->ndim == 0);
  CHECK(promote_classes(DType::Bool, std::nullopt, DType::Int64) == DType::Int64);
  CHECK(promote_classes(DType::Int32, DType::Int64, std::nullopt) == DType::Int32);
}

TEST(broadcasting_and_layouts) {
  const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3}), row = floats({10, 20, 30}, {3}), column = floats({1, 2}, {2, 1});
  CHECK(add(a, row)->host_as<float>()[5] == 36 && add(row, column)->host_as<float>()[5] == 32);
  CHECK(sizes_of(add(row, column)) == (List{2, 3}));
  CHECK_RAISES("(3) must match the size of tensor b (2) at non-singleton dimension 1", add(a, floats({1, 2}, {2})));
  const int64_t sizes[] = {3, 2}, transposed[] = {1, 3};
  const Tensor t = make_view(*a, sizes, transposed, 0);
  CHECK(strides_of(add(t, t)) == (List{1, 3}));
  CHECK(strides_of(add(t, Value::of_float(1))) == (List{1, 3}));
  CHECK(add(t, floats({1, 1, 1, 1, 1, 1}, {3, 2}))->host_as<float>()[1] == 3);
  CHECK(add(floats({}, {0, 3}), row)->numel == 0);
}

TEST(channels_last_is_kept) {
  const int64_t sizes[] = {2, 3, 4, 5}, strides[] = {60, 1, 15, 3};
  const Tensor x = empty_strided(sizes, strides, DType::Float32);
  std::fill_n(x->host_as<float>(), 120, 1.0f);
  CHECK(strides_of(add(x, x)) == (List{60, 1, 15, 3}));
  CHECK(strides_of(add(x, floats({1, 2, 3}, {3, 1, 1}))) == (List{60, 1, 15, 3}));
}

TEST(in_place_checks_shape_and_dtype_and_bumps_the_version) {
  const Tensor a = floats({1, 2}, {2}), i = ints({1, 2}, {2});
  const Tensor r = call(ops().add_, {Value::of(a.get()), Value::of_float(1), Value::of_int(1)});
  CHECK(r.get() == a.get() && a->host_as<float>()[1] == 3 && a->version() == 1);
  call(ops().add_, {Value::of(a.get()), Value::of(i.get()), Value::of_int(1)});
  CHECK(a->host_as<float>()[1] == 5 && a->version() == 2);
  CHECK_RAISES("result type Float can't be cast to the desired output type Long",
               call(ops().add_, {Value::of(i.get()), Value::of(a.get()), Value::of_int(1)}));
  const Tensor wide = floats({1, 2, 3, 4}, {2, 2});
  CHECK_RAISES("output with shape [2] doesn't match the broadcast shape [2, 2]",
               call(ops().add_, {Value::of(a.get()), Value::of(wide.get()), Value::of_int(1)}));
  const int64_t sizes[] = {3}, zero[] = {0};
  const Tensor expanded = make_view(*a, sizes, zero, 0);
  CHECK_RAISES("single memory location",
               call(ops().add_, {Value::of(expanded.get()), Value::of_float(1), Value::of_int(1)}));
  const Tensor line = floats({1, 2, 3, 4}, {4});
  const int64_t three[] = {3}, one[] = {1};
  const Tensor left = make_view(*line, three, one, 0), right = make_view(*line, three, one, 1);
  CHECK_RAISES("single memory location",
               call(ops().add_, {Value::of(left.get()), Value::of(right.get()), Value::of_int(1)}));
}

TEST(out_is_resized_and_cast) {
  const Tensor a = floats({1, 2}, {2}), empty_out = floats({}, {0}), wide = tensor<double>({0, 0}, {2}, DType::Float64);
  call(ops().add_out, {Value::of(a.get()), Value::of_float(1), Value::of_int(1), Value::of(empty_out.get())});
  CHECK(sizes_of(empty_out) == (List{2}) && empty_out->host_as<float>()[1] == 3);
  call(ops().add_out, {Value::of(a.get()), Value::of_float(1), Value::of_int(1), Value::of(wide.get())});
  CHECK(wide->host_as<double>()[1] == 3);
}

TEST(comparison_gives_bool_and_meta_gives_shapes) {
  const Tensor a = floats({1, 5}, {2}), i = ints({3, 3}, {2});
  const Tensor less_than = call(ops().lt, {Value::of(a.get()), Value::of(i.get())});
  CHECK(less_than->dtype == DType::Bool && less_than->host_as<bool>()[0] && !less_than->host_as<bool>()[1]);
  const int64_t sizes[] = {4, 1};
  const Tensor meta = empty(sizes, DType::Int64, {DeviceType::Meta, -1});
  const Tensor both = call(ops().add, {Value::of(meta.get()), Value::of(meta.get()), Value::of_int(1)});
  CHECK(both->device.type == DeviceType::Meta && sizes_of(both) == (List{4, 1}) && both->dtype == DType::Int64);
  CHECK_RAISES("on the same device", call(ops().add, {Value::of(meta.get()), Value::of(a.get()), Value::of_int(1)}));
}

TEST(wide_calls_use_threads_and_give_the_same) {
  Random random;
  const int64_t sizes[] = {200000};
  const Tensor a = random_tensor<float>(sizes, DType::Float32, random),
               b = random_tensor<float>(sizes, DType::Float32, random);
  const Tensor c = add(a, b);
  for (int64_t i = 0; i < a->numel; ++i)
    CHECK(c->host_as<float>()[i] == a->host_as<float>()[i] + b->host_as<float>()[i]);
}

TEST(foreach_runs_every_element_of_the_lists) {
  OpRecord& step = *define_op("step_(Tensor(a!)[] self, Tensor[] grads, *, Scalar lr) -> ()", "tests");
  step.kind = OpKind::Foreach;
  step.variant = Variant::InPlace;
  step.kind_data = std::make_unique<PointwiseData>(step.schema, 3u, false, false);
  register_kernel(step, Key::CPU, {handle_foreach, nullptr});
  Random random;
  set_num_threads(3);
  for (const int64_t wide : {5, 50000}) {
    std::vector<Tensor> values, grads;
    std::vector<TensorImpl*> value_list, grad_list;
    std::vector<std::vector<float>> before;
    for (const int64_t count : {int64_t{3}, wide, int64_t{0}, wide + 1}) {
      const int64_t sizes[] = {count};
      values.push_back(random_tensor<float>(sizes, DType::Float32, random));
      grads.push_back(count == 3 ? random_tensor<double>(sizes, DType::Float64, random)  // the general way
                                 : random_tensor<float>(sizes, DType::Float32, random));
      before.emplace_back(values.back()->host_as<float>(), values.back()->host_as<float>() + count);
      value_list.push_back(values.back().get());
      grad_list.push_back(grads.back().get());
    }
    Value args[] = {Value::of(value_list), Value::of(grad_list), Value::of_float(-2)};
    OpCall call{&step, args, nullptr, 3, {}};
    dispatch(call);
    for (size_t t = 0; t < values.size(); ++t) {
      CHECK(values[t]->version() == 1);
      for (int64_t i = 0; i < values[t]->numel; ++i) {
        const double grad = t == 0 ? grads[t]->host_as<double>()[i] : grads[t]->host_as<float>()[i];
        CHECK(values[t]->host_as<float>()[i] == before[t][static_cast<size_t>(i)] - 2 * grad);
      }
    }
    args[1].length = 3;
    CHECK_RAISES("must have one length", dispatch(call));
  }
  set_num_threads(1);
}

TEST(random_words_follow_the_memory_order) {
  OpRecord& noise = *define_op("noise_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)", "tests");
  noise.kind = OpKind::Random;
  noise.variant = Variant::InPlace;
  noise.kind_data = std::make_unique<PointwiseData>(noise.schema, 1u, false, false);
  register_kernel(noise, Key::CPU, {handle_pointwise, nullptr});
  HostGenerator generator(1), same(1);
  Value argument;
  argument.tag = Tag::Generator;
  argument.object = &generator;
  const int64_t sizes[] = {3, 2}, strides[] = {1, 3};
  const Tensor t = empty_strided(sizes, strides, DType::Float32);
  CHECK(call(noise, {Value::of(t.get()), argument}).get() == t.get() && t->version() == 1);
  std::lock_guard lock(same.mutex);
  for (int i = 0; i < 6; ++i)
    CHECK(t->host_as<float>()[i] == static_cast<float>(static_cast<int32_t>(same.random32_locked())));
}
