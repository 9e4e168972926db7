#include "toy_ops.h"

#include <cmath>
#include <map>
#include <mutex>
#include <string>

#include "autograd/fixed_derivative.h"
#include "autograd/handler.h"
#include "autograd/op_node.h"
#include "autograd/strided_ops.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/geometry.h"

namespace toy {
namespace {

using namespace pellucid;
using From = ArgumentSource::From;

double read(TensorImpl& t, int64_t at) {
  return t.dtype == DType::Float64 ? t.host_as<double>()[at] : t.host_as<float>()[at];
}
void write(TensorImpl& t, int64_t at, double value) {
  if (t.dtype == DType::Float64) t.host_as<double>()[at] = value;
  else t.host_as<float>()[at] = static_cast<float>(value);
}

// Element offsets of `t` seen with shape `sizes`, in row-major order.
std::vector<int64_t> offsets(const TensorImpl& t, std::span<const int64_t> sizes) {
  int64_t to_sizes[kMaxDims], strides[kMaxDims];
  expand_strides(t.shape(), t.stride(), sizes, to_sizes, strides);
  std::vector<int64_t> result{0};
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    std::vector<int64_t> next;
    for (int64_t at : result)
      for (int64_t i = 0; i < sizes[dim]; ++i) next.push_back(at + i * strides[dim]);
    result = std::move(next);
  }
  return result;
}

template <class F>
void map_into(TensorImpl& out, std::vector<TensorImpl*> in, F f) {
  std::vector<std::vector<int64_t>> at;
  for (TensorImpl* t : in) at.push_back(offsets(*t, out.shape()));
  const auto to = offsets(out, out.shape());
  for (size_t i = 0; i < to.size(); ++i) {
    std::vector<double> x;
    for (size_t k = 0; k < in.size(); ++k) x.push_back(read(*in[k], at[k][i]));
    write(out, to[i], f(x));
  }
}

template <class F>
void binary(OpCall& call, F f) {
  TensorImpl &a = *call.args[0].tensor, &b = *call.args[1].tensor;
  int64_t sizes[kMaxDims];
  const int ndim = broadcast_sizes(a.shape(), b.shape(), sizes);
  const bool in_place = call.op->variant == Variant::InPlace;
  Tensor out = in_place ? Tensor::share(&a) : empty({sizes, static_cast<size_t>(ndim)}, promote(a.dtype, b.dtype));
  map_into(*out, {&a, &b}, f);
  if (in_place) a.bump_version();
  call.rets[0] = Value::of(out.leak());
}
void k_add(OpCall& call, void*) {
  binary(call, [](auto& x) { return x[0] + x[1]; });
}
void k_mul(OpCall& call, void*) {
  binary(call, [](auto& x) { return x[0] * x[1]; });
}
void k_exp(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  const bool in_place = call.op->variant == Variant::InPlace;
  Tensor out = in_place ? Tensor::share(&a) : empty(a.shape(), a.dtype);
  map_into(*out, {&a}, [](auto& x) { return std::exp(x[0]); });
  if (in_place) a.bump_version();
  call.rets[0] = Value::of(out.leak());
}
void k_clone(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  Tensor out = empty(a.shape(), a.dtype);
  map_into(*out, {&a}, [](auto& x) { return x[0]; });
  call.rets[0] = Value::of(out.leak());
}
void k_copy(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  map_into(a, {call.args[1].tensor}, [](auto& x) { return x[0]; });
  a.bump_version();
  a.retain();
  call.rets[0] = Value::of(&a);
}
void k_to(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  Tensor out = empty(a.shape(), static_cast<DType>(call.args[1].integer));
  map_into(*out, {&a}, [](auto& x) { return x[0]; });
  call.rets[0] = Value::of(out.leak());
}
void k_sum(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  Shape sizes(a.shape().begin(), a.shape().end());
  for (int64_t dim : call.args[1].ints()) sizes[static_cast<size_t>(dim)] = 1;
  Tensor out = zeros({sizes.data(), static_cast<uint8_t>(sizes.size()), a.dtype, a.device});
  const auto from = offsets(a, a.shape()), to = offsets(*out, a.shape());
  for (size_t i = 0; i < from.size(); ++i) write(*out, to[i], read(*out, to[i]) + read(a, from[i]));
  call.rets[0] = Value::of(out.leak());
}
void k_sum_all(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  Tensor out = zeros({nullptr, 0, a.dtype, a.device});
  for (int64_t at : offsets(a, a.shape())) write(*out, 0, read(*out, 0) + read(a, at));
  call.rets[0] = Value::of(out.leak());
}
void k_view(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  int64_t strides[kMaxDims];
  if (!view_strides(a.shape(), a.stride(), call.args[1].ints(), strides))
    raise(ErrorKind::Runtime, "view needs a copy");
  call.rets[0] = Value::of(make_view(a, call.args[1].ints(), {strides, call.args[1].length}, a.offset).leak());
}
void k_select(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  call.rets[0] = Value::of(
      make_view(a, a.shape().subspan(1), a.stride().subspan(1), a.offset + call.args[1].integer * a.strides[0]).leak());
}
void k_select_vjp(OpCall& call, void*) {  // grad, sizes, index
  TensorImpl& grad = *call.args[0].tensor;
  const auto sizes = call.args[1].ints();
  Tensor out = zeros({sizes.data(), static_cast<uint8_t>(sizes.size()), grad.dtype, grad.device});
  Tensor inside =
      make_view(*out, out->shape().subspan(1), out->stride().subspan(1), call.args[2].integer * out->strides[0]);
  map_into(*inside, {&grad}, [](auto& x) { return x[0]; });
  call.rets[0] = Value::of(out.leak());
}
void k_unbind(OpCall& call, void*) {
  TensorImpl& a = *call.args[0].tensor;
  auto** list = new TensorImpl*[static_cast<size_t>(a.sizes[0])];
  for (int64_t i = 0; i < a.sizes[0]; ++i)
    list[i] = make_view(a, a.shape().subspan(1), a.stride().subspan(1), a.offset + i * a.strides[0]).leak();
  call.rets[0] = Value::of(std::span<TensorImpl* const>(list, static_cast<size_t>(a.sizes[0])));
}
void k_stack2(OpCall& call, void*) {  // of two tensors
  TensorImpl& a = *call.args[0].tensor;
  Shape sizes(a.shape().begin(), a.shape().end());
  sizes.insert(sizes.begin(), 2);
  Tensor out = empty(sizes, a.dtype);
  for (int64_t i = 0; i < 2; ++i) {
    Tensor part = make_view(*out, out->shape().subspan(1), out->stride().subspan(1), i * out->strides[0]);
    map_into(*part, {call.args[i].tensor}, [](auto& x) { return x[0]; });
  }
  call.rets[0] = Value::of(out.leak());
}
void k_list_sum(OpCall& call, void*) {
  const auto list = call.args[0].list();
  Tensor out = zeros({list[0]->sizes, list[0]->ndim, list[0]->dtype, list[0]->device});
  for (TensorImpl* t : list) map_into(*out, {out.get(), t}, [](auto& x) { return x[0] + x[1]; });
  call.rets[0] = Value::of(out.leak());
}
void k_repeat(OpCall& call, void*) {  // the gradient once for each element of the list
  const size_t count = call.args[1].length;
  auto** list = new TensorImpl*[count];
  for (size_t i = 0; i < count; ++i) {
    call.args[0].tensor->retain();
    list[i] = call.args[0].tensor;
  }
  call.rets[0] = Value::of(std::span<TensorImpl* const>(list, count));
}

Tensor dispatch_one(const char* name, std::initializer_list<Value> arguments) {
  return std::move(toy::call(name, arguments)[0]);
}
void k_mul_vjp(OpCall& call, void*) {  // composite: grad, self, other
  const Value &grad = call.args[0], &self = call.args[1], &other = call.args[2];
  Tensor of_self = dispatch_one("mul.Tensor", {grad, other}), of_other = dispatch_one("mul.Tensor", {grad, self});
  call.rets[0] = Value::of(of_self.leak());
  call.rets[1] = Value::of(of_other.leak());
}
void k_expand_to(OpCall& call, void*) {  // composite: grad, like
  Tensor one = zeros({call.args[1].tensor->sizes, call.args[1].tensor->ndim, call.args[1].tensor->dtype, {}});
  call.rets[0] = Value::of(dispatch_one("add.Tensor", {call.args[0], Value::of(one.get())}).leak());
}
void k_pass_two(OpCall& call, void*) {
  call.args[0].tensor->retain();
  call.args[0].tensor->retain();
  call.rets[0] = call.rets[1] = call.args[0];
}
void k_pass(OpCall& call, void*) {
  call.args[0].tensor->retain();
  call.rets[0] = call.args[0];
}

OpRecord& define(const char* schema, BoxedKernel kernel, OpKind kind, const char* functional = nullptr,
                 bool composite = false) {
  OpRecord& op = *define_op(schema);
  op.kind = kind;
  op.derivative = &op;  // there may be a plan
  if (functional) {
    op.variant = Variant::InPlace;
    op.functional = find_op(functional);
  }
  register_catch_all(op, {kernel, nullptr});
  if (!composite) {
    register_kernel(op, Key::Autograd, {autograd_handler, nullptr});
    register_kernel(op, Key::ViewInPlace, {view_handler, nullptr});
  } else {
    register_fall_through(op, Key::Autograd);
    register_fall_through(op, Key::ViewInPlace);
  }
  return op;
}

// as_strided and its derivatives, as catalogue/intrinsics.py declares them.
void define_strided() {
  const std::string geometry =
      ", int[] size, int[] stride, int storage_offset, int[] base_size, int[] base_stride, int base_offset) -> ";
  const auto strided = [&](const char* name, const char* self, const char* result, BoxedKernel kernel, OpKind kind) {
    OpRecord& op = *define_op("pellucid::" + std::string(name) + ".geometry(" + self + geometry + result);
    op.kind = kind;
    register_catch_all(op, {kernel, nullptr});
    return &op;
  };
  OpRecord* view = strided("as_strided", "Tensor(a) self", "Tensor(a)", intrinsics::as_strided_geometry, OpKind::View);
  OpRecord* backward =
      strided("as_strided_backward", "Tensor self", "Tensor", intrinsics::as_strided_backward, OpKind::Loop);
  OpRecord* gather = strided("as_strided_gather", "Tensor self", "Tensor", intrinsics::as_strided_gather, OpKind::Loop);
  const auto differentiate = [](OpRecord* op, OpRecord* derivative) {
    DerivativePlan plan;
    plan.op = derivative;
    plan.arguments.push_back({From::Gradient, 0, -1});
    for (int16_t i = 1; i <= 6; ++i) plan.arguments.push_back({From::Argument, i, -1});
    plan.results = {0};
    give_derivative(*op, std::move(plan));
  };
  differentiate(view, backward);
  differentiate(backward, gather);
  differentiate(gather, backward);
  define("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
         intrinsics::as_strided, OpKind::Composite, nullptr, true);
}

ArgumentSource gradient() { return {From::Gradient, 0, -1}; }
ArgumentSource argument(int index) { return {From::Argument, static_cast<int16_t>(index), -1}; }
ArgumentSource result() { return {From::Result, 0, -1}; }

struct Table {
  std::map<std::pair<std::string, uint64_t>, DerivativePlan> plans;

  void plan(const char* op, uint64_t mask, const char* by, std::vector<ArgumentSource> arguments,
            std::vector<int16_t> results, uint32_t saved_results = 0) {
    DerivativePlan made;
    made.op = find_op(by);
    made.arguments = std::move(arguments);
    made.results = std::move(results);
    made.saved_results = saved_results;
    plans.emplace(std::pair{std::string(op), mask}, std::move(made));
  }

  Table() {
    register_autograd();
    define("add.Tensor(Tensor self, Tensor other) -> Tensor", k_add, OpKind::Pointwise);
    define("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", k_add, OpKind::Pointwise, "add.Tensor");
    define("mul.Tensor(Tensor self, Tensor other) -> Tensor", k_mul, OpKind::Pointwise);
    define("mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", k_mul, OpKind::Pointwise, "mul.Tensor");
    define("mul_vjp(Tensor grad, Tensor self, Tensor other) -> (Tensor, Tensor)", k_mul_vjp, OpKind::Composite, nullptr,
           true);
    define("exp(Tensor self) -> Tensor", k_exp, OpKind::Pointwise);
    define("exp_(Tensor(a!) self) -> Tensor(a!)", k_exp, OpKind::Pointwise, "exp");
    define("clone(Tensor self) -> Tensor", k_clone, OpKind::Pointwise);
    define("copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)", k_copy, OpKind::Pointwise).variant = Variant::InPlace;
    define("_to_copy(Tensor self, ScalarType dtype) -> Tensor", k_to, OpKind::Pointwise);
    define("sum.dim_IntList(Tensor self, int[] dim, bool keepdim=False) -> Tensor", k_sum, OpKind::Reduction);
    define("sum(Tensor self) -> Tensor", k_sum_all, OpKind::Reduction);
    define("expand_to(Tensor grad, Tensor like) -> Tensor", k_expand_to, OpKind::Composite, nullptr, true);
    define("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", k_view, OpKind::View);
    define_strided();
    define("select(Tensor(a) self, SymInt index) -> Tensor(a)", k_select, OpKind::View);
    define("select_vjp(Tensor grad, SymInt[] sizes, SymInt index) -> Tensor", k_select_vjp, OpKind::Loop);
    define("unbind(Tensor(a) self) -> Tensor(a)[]", k_unbind, OpKind::View);
    define("stack2(Tensor a, Tensor b) -> Tensor", k_stack2, OpKind::Loop);
    define("list_sum(Tensor[] tensors) -> Tensor", k_list_sum, OpKind::Loop);
    define("repeat(Tensor grad, Tensor[] tensors) -> Tensor[]", k_repeat, OpKind::Loop);
    define("pass(Tensor grad) -> Tensor", k_pass, OpKind::Composite, nullptr, true);
    define("pass_two(Tensor grad) -> (Tensor, Tensor)", k_pass_two, OpKind::Composite, nullptr, true);
    plan("aten::add.Tensor", 1, "pass", {gradient()}, {0});
    plan("aten::add.Tensor", 2, "pass", {gradient()}, {1});
    plan("aten::add.Tensor", 3, "pass_two", {gradient()}, {0, 1});
    plan("aten::mul.Tensor", 1, "mul.Tensor", {gradient(), argument(1)}, {0});
    plan("aten::mul.Tensor", 2, "mul.Tensor", {gradient(), argument(0)}, {1});
    plan("aten::mul.Tensor", 3, "mul_vjp", {gradient(), argument(0), argument(1)}, {0, 1});
    plan("aten::exp", 1, "mul.Tensor", {gradient(), result()}, {0}, 1);
    plan("aten::clone", 1, "pass", {gradient()}, {0});
    plan("aten::sum", 1, "expand_to", {gradient(), argument(0)}, {0});
    plan("aten::sum.dim_IntList", 1, "expand_to", {gradient(), argument(0)}, {0});
    plan("aten::copy_", 1, "pass", {gradient()}, {});
    plan("aten::copy_", 2, "pass", {gradient()}, {1});
    plan("aten::copy_", 3, "pass", {gradient()}, {1});
    plan("aten::view", 1, "view", {gradient(), {From::Sizes, 0, -1}}, {0});
    plan("aten::select", 1, "select_vjp", {gradient(), {From::Sizes, 0, -1}, argument(1)}, {0});
    plan("aten::select_vjp", 1, "select", {gradient(), argument(2)}, {0});
    plan("aten::list_sum", 3, "repeat", {gradient(), argument(0)}, {0, 1});
    plan("aten::unbind", 1, "stack2", {gradient(), {From::Gradient, 1, -1}}, {0});
  }
};

Table& table() {
  static Table made;
  return made;
}

}  // namespace
}  // namespace toy

namespace pellucid {

bool seen_gradient_reads_results(const OpRecord&) { return false; }

// Plans with sizes depend on the rank of the argument; made once per rank.
SharedPlan find_rule(Rule rule, const OpCall& call, uint64_t needs_grad) {
  if (rule != Rule::Vjp) return {};
  const OpRecord& op = call.op->functional ? *call.op->functional : *call.op;
  auto& plans = toy::table().plans;
  const auto found = plans.find({op.qualified_name, needs_grad});
  if (found == plans.end()) return {};
  bool sized = false;
  for (const ArgumentSource& source : found->second.arguments) sized |= source.from == ArgumentSource::From::Sizes;
  if (!sized) return permanent(&found->second);
  static std::mutex mutex;
  static std::map<std::pair<const DerivativePlan*, int>, DerivativePlan> by_rank;
  std::lock_guard lock(mutex);
  const int rank = call.args[0].tensor->ndim;
  const auto [entry, fresh] = by_rank.try_emplace({&found->second, rank});
  DerivativePlan& plan = entry->second;
  if (!fresh) return permanent(&plan);
  plan.op = found->second.op;
  plan.arguments = found->second.arguments;
  plan.results = found->second.results;
  plan.saved_results = found->second.saved_results;
  for (int dim = 0; dim < rank; ++dim) plan.sizes.push_back({0, -1, static_cast<int16_t>(dim)});
  return permanent(&plan);
}

}  // namespace pellucid

namespace toy {

Tensor tensor(const Numbers& values, const Shape& sizes, DType dtype) {
  table();
  Tensor made = empty(sizes, dtype);
  for (size_t i = 0; i < values.size(); ++i) write(*made, static_cast<int64_t>(i), values[i]);
  return made;
}
Tensor leaf(const Numbers& values, const Shape& sizes, DType dtype) {
  Tensor made = tensor(values, sizes, dtype);
  set_requires_grad(*made, true);
  return made;
}
Numbers numbers(const Tensor& tensor) {
  Numbers values;
  for (int64_t at : offsets(*tensor, tensor->shape())) values.push_back(read(*tensor, at));
  return values;
}

std::vector<Tensor> call(const char* name, std::initializer_list<Value> arguments) {
  table();
  Value args[kMaxArguments], rets[kMaxReturns];
  size_t count = 0;
  for (const Value& value : arguments) args[count++] = value;
  OpCall call{find_op(name), args, rets, static_cast<uint8_t>(count), {}};
  dispatch(call);
  std::vector<Tensor> results;
  for (size_t i = 0; i < call.op->schema.returns.size(); ++i) {
    if (rets[i].tag == Tag::TensorList) {
      for (TensorImpl* tensor : rets[i].list()) results.push_back(Tensor::adopt(tensor));
      delete[] const_cast<TensorImpl**>(rets[i].tensors);
    } else {
      results.push_back(Tensor::adopt(rets[i].tensor));
    }
  }
  return results;
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return dispatch_one("mul.Tensor", {Value::of(a.get()), Value::of(b.get())});
}
Tensor exp(const Tensor& a) { return dispatch_one("exp", {Value::of(a.get())}); }
Tensor sum(const Tensor& a) { return dispatch_one("sum", {Value::of(a.get())}); }
Tensor view(const Tensor& a, const Shape& sizes) {
  return dispatch_one("view", {Value::of(a.get()), Value::of(std::span<const int64_t>(sizes))});
}
Tensor select(const Tensor& a, int64_t index) {
  return dispatch_one("select", {Value::of(a.get()), Value::of_int(index)});
}
std::vector<Tensor> unbind(const Tensor& a) { return call("unbind", {Value::of(a.get())}); }
Tensor stack_sum(std::span<const Tensor> tensors) {
  std::vector<TensorImpl*> list;
  for (const Tensor& tensor : tensors) list.push_back(tensor.get());
  return dispatch_one("list_sum", {Value::of(std::span<TensorImpl* const>(list))});
}
void mul_(const Tensor& a, const Tensor& b) { call("mul_.Tensor", {Value::of(a.get()), Value::of(b.get())}); }
void exp_(const Tensor& a) { call("exp_", {Value::of(a.get())}); }

void backward(const Tensor& root, bool retain_graph, bool create_graph) {
  const Target target{root.get(), {}};
  const Tensor none;
  run_backward({&target, 1}, {&none, 1}, {}, {retain_graph || create_graph, create_graph, true, true});
}
std::vector<Tensor> grad(const Tensor& root, std::initializer_list<Tensor> inputs, bool retain_graph, bool create_graph,
                         bool allow_unused) {
  const Target target{root.get(), {}};
  const Tensor none;
  std::vector<Target> targets;
  for (const Tensor& input : inputs) targets.push_back({input.get(), {}});
  return run_backward({&target, 1}, {&none, 1}, targets,
                      {retain_graph || create_graph, create_graph, false, allow_unused});
}
Numbers grad_numbers(const Tensor& tensor) {
  const Tensor grad = grad_of(*tensor);
  return grad ? numbers(grad) : Numbers{};
}
int64_t live_blocks() {
  const AllocatorStatistics counts = allocator_statistics();
  return counts.num_allocations - counts.num_frees;
}

}  // namespace toy
