#include "autograd/strided_ops.h"

#include <cstring>

#include "autograd/gradient_ops.h"
#include "autograd/handler.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"

namespace pellucid {
namespace {

using From = ArgumentSource::From;

// Arguments 1 to 6 of the three ops: the view's sizes, strides and offset, then the base's.
constexpr const char* kGeometry =
    "int[] size, int[] stride, int storage_offset, int[] base_size, int[] base_stride, int base_offset";

struct Records {
  OpRecord* view = nullptr;        // base -> view of it
  OpRecord* backward = nullptr;    // of the view's shape -> base's geometry, zeros outside the view
  OpRecord* gather = nullptr;      // of the base's shape -> the view's elements
  DerivativePlan of_view, of_backward, of_gather;
};
Records& records() {
  static auto* made = new Records;
  return *made;
}

Tensor base_tensor(const OpCall& call, DType dtype, Device device) {
  return empty_strided(call.args[4].ints(), call.args[5].ints(), dtype, device);
}
Tensor view_in(TensorImpl& base, const OpCall& call) {
  return make_view(base, call.args[1].ints(), call.args[2].ints(), call.args[3].integer - call.args[6].integer, true);
}

void run_view(OpCall& call, void*) {
  TensorImpl& base = *call.args[0].tensor;
  const auto sizes = call.args[1].ints(), strides = call.args[2].ints();
  if (sizes.size() != strides.size())
    raise(ErrorKind::Runtime, "as_strided: size has %zu entries and stride has %zu; they must be equal", sizes.size(),
          strides.size());
  for (int64_t size : sizes)
    if (size < 0) raise(ErrorKind::Runtime, "as_strided: the size %lld is negative", static_cast<long long>(size));
  check_in_storage(sizes, strides, call.args[3].integer, item_size(base.dtype), base.storage->nbytes);
  call.rets[0] = Value::of(make_view(base, sizes, strides, call.args[3].integer).leak());
}

// Sums the dimensions that repeat one element of the base.
Tensor without_repeats(TensorImpl& grad, const OpCall& call) {
  int64_t sizes[kMaxDims];
  const auto strides = call.args[2].ints();
  for (size_t dim = 0; dim < strides.size(); ++dim) sizes[dim] = strides[dim] ? grad.sizes[dim] : 1;
  return fit_gradient(Tensor::share(&grad), {sizes, grad.ndim, grad.dtype, grad.device}, nullptr, 0);
}

void run_backward(OpCall& call, void*) {
  TensorImpl& given = *call.args[0].tensor;
  Tensor result = base_tensor(call, given.dtype, given.device);
  if (result->storage->data) std::memset(result->storage->data, 0, result->storage->nbytes);
  Tensor grad = without_repeats(given, call);
  const int64_t offset = call.args[3].integer - call.args[6].integer;
  Tensor inside = make_view(*result, grad->shape(), call.args[2].ints(), offset, true);
  if (internal_overlap(*inside) != Overlap::No)
    raise(ErrorKind::NotImplemented,
          "the gradient of a view whose elements overlap in memory (size %s, stride %s) is not implemented.\n"
          "Use unfold or indexing, which have gradients.",
          format_sizes(call.args[1].ints()).c_str(), format_sizes(call.args[2].ints()).c_str());
  copy_into(*inside, *grad);
  call.rets[0] = Value::of(result.leak());
}

void run_gather(OpCall& call, void*) {
  TensorImpl& given = *call.args[0].tensor;
  Tensor base = base_tensor(call, given.dtype, given.device);
  copy_into(*base, given);
  call.rets[0] = Value::of(clone(*view_in(*base, call)).leak());
}

// as_strided(self, size, stride, storage_offset=None), as users call it.
void run_public(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const Value offset = call.args[3].is_none() ? Value::of_int(self.offset) : call.args[3];
  Value args[] = {call.args[0], call.args[1], call.args[2], offset, Value::of(self.shape()), Value::of(self.stride()),
                  Value::of_int(self.offset)};
  OpCall inner{records().view, args, call.rets, 7, {}};
  dispatch(inner);
}

const DerivativePlan* plan_of(const OpCall& call, uint64_t) {
  const Records& all = records();
  if (call.op == all.view) return &all.of_view;
  return call.op == all.backward ? &all.of_backward : &all.of_gather;
}

DerivativePlan plan_with(const OpRecord* derivative) {
  DerivativePlan plan;
  plan.op = derivative;
  plan.arguments.push_back({From::Gradient, 0, -1});
  for (int16_t i = 1; i <= 6; ++i) plan.arguments.push_back({From::Argument, i, -1});
  plan.results = {0};
  return plan;
}

OpRecord* define(const std::string& head, const char* result, BoxedKernel kernel, OpKind kind) {
  OpRecord* op = define_op(head + ", " + kGeometry + ") -> " + result);
  op->kind = kind;
  register_catch_all(*op, {kernel, nullptr});
  static const DerivativeFinder finder = plan_of;
  register_kernel(*op, Key::Autograd, {autograd_handler, const_cast<DerivativeFinder*>(&finder)});
  register_kernel(*op, Key::ViewInPlace, {view_handler, nullptr});
  return op;
}

}  // namespace

void define_strided_ops() {
  Records& all = records();
  if (all.view) return;
  all.view = define("as_strided.geometry(Tensor(a) self", "Tensor(a)", run_view, OpKind::View);
  all.backward = define("as_strided_backward.geometry(Tensor self", "Tensor", run_backward, OpKind::Loop);
  all.gather = define("as_strided_gather.geometry(Tensor self", "Tensor", run_gather, OpKind::Loop);
  all.of_view = plan_with(all.backward);
  all.of_backward = plan_with(all.gather);
  all.of_gather = plan_with(all.backward);
  OpRecord& op = *define_op(
      "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)");
  op.kind = OpKind::Composite;
  op.is_method = op.is_function = true;
  register_catch_all(op, {run_public, nullptr});
  register_fall_through(op, Key::Autograd);
  register_fall_through(op, Key::ViewInPlace);
}

StridedCall::StridedCall(TensorImpl& view) {
  TensorImpl& base = *view.base;
  const Value given[] = {Value::of(&base),          Value::of(view.shape()), Value::of(view.stride()),
                         Value::of_int(view.offset), Value::of(base.shape()), Value::of(base.stride()),
                         Value::of_int(base.offset)};
  std::copy(std::begin(given), std::end(given), args);
  rets[0] = Value::of(&view);
  call = {records().view, args, rets, 7, {}};
}

const DerivativePlan& strided_derivative() { return records().of_view; }

}  // namespace pellucid
