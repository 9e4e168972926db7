#include "transforms/handler.h"

#include <algorithm>

#include "core/error.h"
#include "core/kind.h"
#include "transforms/arguments.h"
#include "transforms/wrapper.h"

namespace pellucid {
namespace {

// The innermost level among the call's tensors; random ops also belong to the innermost batch level.
const Level* level_of(const OpCall& call) {
  uint64_t number = 0;
  for_each_input(call, [&](TensorImpl* tensor) {
    if (tensor && tensor->wrapper) number = std::max(number, tensor->wrapper->level);
  });
  const Level* batch = call.op->kind == OpKind::Random ? innermost_batch_level() : nullptr;
  if (batch && batch->number > number) return batch;
  return number ? find_level(number) : nullptr;
}

// Runs the op as ops on the components of a sparse, nested or quantized tensor: transforms see these, which may be
// wrappers. Returns false if there is no such tensor outside of a wrapper.
bool run_on_components(OpCall& call) {
  KeySet kinds;
  for_each_input(call, [&](TensorImpl* tensor) {
    if (tensor && !tensor->wrapper && kind_of(*tensor)) kinds = kinds | (tensor->keys & kKinds);
  });
  kinds = kinds - thread_state.exclude;  // of a kernel that falls through
  if (kinds.empty()) return false;
  const KernelEntry& entry = call.op->table[static_cast<int>(kinds.highest())];
  if (!entry.function) return false;
  entry.function(call, entry.context);
  return true;
}

void refuse_lost_writes(const OpCall& call) {
  for (int i = 0; i < call.num_args; ++i) {
    const Value& given = call.args[i];
    if (!call.op->schema.arguments[i].written) continue;
    if (given.tag == Tag::TensorList ? std::ranges::any_of(given.list(), is_for_view)
                                     : given.is_tensor() && is_for_view(given.tensor))
      raise(
          ErrorKind::NotImplemented,
          "%s: inside a function transform (vmap, jvp), a write through conj(), real, imag or another view of complex\n"
          "numbers does not reach the tensor that is viewed. Write to that tensor, or to a clone() of the view.",
          call.op->schema.name.c_str());
  }
}

}  // namespace

void transform_handler(OpCall& call, void*) {
  Arguments arguments(call);
  arguments.change_tensors(*call.op, [](TensorImpl* tensor, unsigned) {
    tensor = without_dead_levels(tensor);
    if (tensor && tensor->base && fell_behind_base(*tensor)) follow_base(*tensor);
    return tensor;
  });
  OpCall live = arguments.call(*call.op, call.rets);
  if (run_on_components(live)) return;
  const Level* found = level_of(live);
  if (!found) {
    ExcludeKeys below{Key::Transforms};
    return dispatch(live);
  }
  refuse_lost_writes(live);
  const Level level = *found;
  if (call.op->variant == Variant::Out)
    raise(ErrorKind::Runtime, "%s(): out= cannot be written inside a function transform (vmap, jvp): use the result",
          call.op->schema.name.c_str());
  if (level.kind == LevelKind::Batch) run_batched(live, level);
  else run_forward(live, level);
  if (call.op->kind == OpKind::View)
    for_each_result(live, [&](TensorImpl* result) { set_base(result, *live.args[0].tensor); });
}

}  // namespace pellucid
