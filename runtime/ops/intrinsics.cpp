#include "ops/intrinsics.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/fixed_derivative.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/pending.h"

namespace pellucid {
namespace {

// For tensors without memory of their own: calls the op that replaces the intrinsic, on the same arguments.
void run_instead(OpCall& call, void* context) {
  OpCall other{static_cast<const OpRecord*>(context), call.args, call.rets, call.num_args, {}};
  dispatch(other);
}

// A factory without tensor arguments whose `device` is neither the CPU nor Meta runs on that device.
void run_where_named(OpCall& call, void* kernel) {
  if (!ran_elsewhere(call)) reinterpret_cast<BoxedKernel>(kernel)(call, nullptr);
}

void register_kernels(OpRecord& op, const encoded::IntrinsicRow& given, BoxedKernel kernel) {
  if (op.kind ==
      OpKind::Random) {  // computes its results' memory and numbers itself, so one kernel serves both backends
    register_kernel(op, Key::CPU, {run_where_named, reinterpret_cast<void*>(kernel)});
    register_kernel(op, Key::Meta, {kernel, nullptr});
  } else {
    register_catch_all(op, {kernel, nullptr});
  }
  if (op.kind == OpKind::Composite) {  // the ops that it calls record gradients; it has none of its own
    register_fall_through(op, Key::Autograd);
    register_fall_through(op, Key::ViewInPlace);
    fall_through_pending(op);
  }
  if (given.is_transparent) register_fall_through(op, Key::Transforms);
  if (!given.is_seen) register_fall_through(op, Key::PythonDispatch);
}

OpRecord& define(const encoded::IntrinsicRow& given, BoxedKernel kernel) {
  OpRecord& op = *define_op(given.schema);
  op.kind = given.kind;
  op.variant = given.variant;
  op.is_method = given.is_method;
  op.is_function = given.is_function;
  op.python_module = given.module;
  op.cast_rule = given.autocast;
  op.tags = given.tags;
  register_kernels(op, given, kernel);
  return op;
}

// Resolves references to other ops, once all are defined.
void connect(OpRecord& op, const encoded::IntrinsicRow& given) {
  if (!given.instead.empty())
    for (const Key key : {Key::Transforms, Key::Quantized, Key::Sparse, Key::Nested})
      register_kernel(op, key, {run_instead, &required_op(std::string(given.instead).c_str())});
  if (given.gradient.empty()) return;
  DerivativePlan plan;
  plan.op = &required_op(std::string(given.gradient).c_str());
  for (const encoded::SourceRow& source : given.sources)
    plan.arguments.push_back({source.origin, source.index, source.element});
  plan.results = {0};
  give_derivative(op, std::move(plan));
}

}  // namespace

void define_intrinsics(std::span<const encoded::IntrinsicRow> declared, std::span<const Intrinsic> kernels) {
  std::unordered_map<std::string_view, BoxedKernel> unused;
  for (const Intrinsic& intrinsic : kernels) unused.emplace(intrinsic.name, intrinsic.kernel);
  std::vector<OpRecord*> defined;
  for (const encoded::IntrinsicRow& row : declared) {
    const auto found = unused.find(row.schema.substr(0, row.schema.find('(')));
    if (found == unused.end())
      raise(ErrorKind::Value, "the op table declares %s, for which the runtime has no kernel.\nRebuild pellucid.",
            std::string(row.schema).c_str());
    defined.push_back(&define(row, found->second));
    unused.erase(found);
  }
  if (!unused.empty())
    raise(ErrorKind::Value, "the op table does not declare %s, for which the runtime has a kernel.\nRebuild pellucid.",
          std::string(unused.begin()->first).c_str());
  for (size_t k = 0; k < declared.size(); ++k) connect(*defined[k], declared[k]);
}

}  // namespace pellucid
