// Runs one op over all examples of a batch level.
//
// Pointwise ops broadcast, so they run on the examples in place. Ops with a Graph have a batched form derived
// from it. Ops with neither (kernels written in Python or C++) run example by example.
#include <optional>

#include "autograd/derivative.h"
#include "autograd/view_history.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/named_ops.h"
#include "kernels/pointwise.h"
#include "ops/op_table.h"
#include "transforms/arguments.h"
#include "transforms/handler.h"
#include "transforms/wrapper.h"

namespace pellucid {
namespace {

// ------------------------------------------------------------------------- facts of a call

bool is_batched(TensorImpl* tensor, const Level& level) { return wrapper_at(tensor, level.number) != nullptr; }

bool any_batched(const OpCall& call, const Level& level) {
  bool any = false;
  for_each_input(call, [&](TensorImpl* tensor) { any |= is_batched(tensor, level); });
  return any;
}

// Whether the op computes the same result for all examples.
bool is_uniform(const OpCall& call, const Level& level) {
  bool uniform = true;
  for_each_input(call, [&](TensorImpl* tensor) {
    const Wrapper* wrapper = wrapper_at(tensor, level.number);
    uniform &= !wrapper || wrapper->uniform;
  });
  return uniform;
}

bool are_masks_uniform(const OpCall& call, const Level& level) {
  bool uniform = true;
  for_each_input(call, [&](TensorImpl* tensor) {
    const Wrapper* wrapper = wrapper_at(tensor, level.number);
    uniform &= !wrapper || wrapper->uniform || is_differentiable(tensor->dtype);
  });
  return uniform;
}

// The tensor that the op writes, or null.
TensorImpl* written_tensor(const OpCall& call) {
  if (call.op->variant != Variant::InPlace) return nullptr;
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i)
    if (call.op->schema.arguments[i].written && call.args[i].tag == Tag::Tensor) return call.args[i].tensor;
  return nullptr;
}

[[noreturn]] void raise_unbatched_write(const OpCall& call) {
  raise(ErrorKind::Runtime,
        "vmap: %s writes to a tensor that is shared by all examples, but the written values differ between them.\n"
        "Use the op without the underscore, or make the tensor from a batched one (x.new_zeros, zeros_like).",
        call.op->schema.name.c_str());
}

[[noreturn]] void raise_sizes_differ(const OpCall& call) {
  raise(ErrorKind::Runtime,
        "vmap: the size of the result of %s depends on the values, so the examples may differ in shape.\n"
        "Use an op with a result of fixed size (torch.where, multiplying by a mask), or loop over the examples.",
        call.op->schema.name.c_str());
}

// The written tensor must have a row for each example if the values differ between examples. Uniform values also
// need one, since each example has its own gradient.
void require_examples(const OpCall& call, TensorImpl& written, const Level& level, bool uniform) {
  const Wrapper* wrapper = wrapper_at(&written, level.number);
  if (wrapper && (uniform || !wrapper->uniform)) return;
  if (wrapper || !uniform) raise_unbatched_write(call);
  check_in_place(call.op->schema.name.c_str(), written, thread_state.grad_mode);
  make_batched_in_place(written, level, true);
}

void wrap_all(OpCall& call, const Level& level, bool uniform) {
  change_results(call, [&](Tensor tensor, unsigned) { return make_batched(std::move(tensor), level.number, uniform); });
}

// `tensor` repeated for each example, without copying.
Tensor expanded(TensorImpl& tensor, const Level& level) {
  std::vector<int64_t> sizes{level.size};
  sizes.insert(sizes.end(), tensor.sizes, tensor.sizes + tensor.ndim);
  const std::span<const int64_t> wanted = sizes;
  return call_op(NamedOp::Expand, {Value::of(&tensor), Value::of(wanted), Value::of_bool(false)});
}

// ------------------------------------------------------------------------- example by example

// Restores the generator's state for every example ("same" randomness).
class Rewind {
 public:
  explicit Rewind(const OpCall& call) : generator_(generator_of(call)), state_(generator_.state_bytes()) {
    generator_.get_state(state_);
  }
  void operator()() { generator_.set_state(state_); }

 private:
  static Generator& generator_of(const OpCall& call) {
    Value given;
    Device device;
    for (int i = 0; i < call.num_args; ++i) {
      const Value& value = call.args[i];
      if (value.tag == Tag::Generator) given = value;
      if (value.tag == Tag::Tensor) device = value.tensor->device;
      if (value.tag == Tag::Device) device = decode_device(value.integer);
    }
    return generator_for(given, device);
  }

  Generator& generator_;
  std::vector<uint8_t> state_;
};

// The results of all examples, in result order.
using Examples = std::vector<std::vector<Tensor>>;

void collect(OpCall& call, Examples& results) {
  change_results(call, [&](Tensor tensor, unsigned number) {
    if (results.size() <= number) results.resize(number + 1);
    results[number].push_back(tensor);
    return tensor;
  });
  for_each_result(call, [](TensorImpl* tensor) {
    if (tensor) Tensor::adopt(tensor);
  });
}

Tensor stacked(const std::vector<Tensor>& examples) {
  std::vector<TensorImpl*> list;
  for (const Tensor& example : examples) list.push_back(example.get());
  return call_op(NamedOp::Stack, {Value::of(std::span<TensorImpl* const>(list)), Value::of_int(0)});
}

// `call.rets` has the structure of the last example's results; their tensors are replaced by the stacks of all
// examples.
void run_each(OpCall& call, const Level& level, std::optional<Rewind> rewind, bool uniform) {
  Examples results;
  for (int64_t k = 0; k < level.size; ++k) {
    Arguments example(call);
    example.change_tensors(*call.op, [&](TensorImpl* tensor, unsigned) {
      Wrapper* wrapper = wrapper_at(tensor, level.number);
      if (!wrapper) return tensor;
      return example.own(
          call_op(NamedOp::Select, {Value::of(wrapper->value.get()), Value::of_int(0), Value::of_int(k)}));
    });
    if (rewind) (*rewind)();
    if (k)
      for (size_t i = 0; i < call.op->schema.returns.size(); ++i)
        if (call.rets[i].tag == Tag::TensorList) delete[] call.rets[i].tensors;
    OpCall single = example.call(*call.op, call.rets);
    dispatch(single);
    collect(single, results);
  }
  if (TensorImpl* written = written_tensor(call)) {
    call.rets[0] = Value::of(Tensor::share(written).leak());
    return;
  }
  if (!level.size)
    raise(ErrorKind::NotImplemented, "%s over a batch of 0 examples is not implemented", call.op->schema.name.c_str());
  unsigned number = 0;
  for (size_t i = 0; i < call.op->schema.returns.size(); ++i) {
    Value& value = call.rets[i];
    const auto batch = [&] { return make_batched(stacked(results[number++]), level.number, uniform).leak(); };
    if (value.tag == Tag::Tensor) value.tensor = batch();
    else if (value.tag == Tag::TensorList)
      for (uint32_t k = 0; k < value.length; ++k) const_cast<TensorImpl**>(value.tensors)[k] = batch();
    else ++number;
  }
}

// ------------------------------------------------------------------------- pointwise ops

// What PyTorch's promotion sees of the call: dims are those of single examples.
struct Promotion {
  int ndim = 0;                      // the most dims of any example
  std::optional<DType> dimensioned;  // promoted dtype of the tensors with dims

  Promotion(const OpCall& call, uint32_t promoted) {
    for (size_t i = 0; i < call.op->schema.arguments.size(); ++i) {
      if (call.args[i].tag != Tag::Tensor) continue;
      const TensorImpl& tensor = *call.args[i].tensor;
      ndim = std::max<int>(ndim, tensor.ndim);
      if (tensor.ndim && promoted >> i & 1)
        dimensioned = dimensioned ? promote(*dimensioned, tensor.dtype) : tensor.dtype;
    }
  }
};

// A batch of scalars has a dim that the scalars do not have: it must not count as dimensioned.
Tensor preserve_weak_dtype(Tensor value, const TensorImpl& example, bool is_promoted, const Promotion& promotion) {
  if (example.ndim || !is_promoted || !promotion.dimensioned) return value;
  const DType wanted = *promotion.dimensioned;
  if (value->dtype == wanted || category(value->dtype) > category(wanted)) return value;
  return call_op(NamedOp::ToCopy, {Value::of(value.get()), Value::of_dtype(wanted)});
}

Tensor aligned(Tensor value, int ndim) {
  while (value->ndim < ndim + 1) value = call_op(NamedOp::Unsqueeze, {Value::of(value.get()), Value::of_int(1)});
  return value;
}

// Replaces tensors by their examples, without copying, with dims aligned at the right.
void change_to_examples(Arguments& arguments, const OpCall& call, const Level& level) {
  const uint32_t promoted = frozen_op(functional_of(*call.op)).promoted;
  const Promotion promotion(call, promoted);
  for (size_t i = 0; i < call.op->schema.arguments.size(); ++i) {
    if (call.args[i].tag != Tag::Tensor) continue;
    TensorImpl& given = *call.args[i].tensor;
    if (Wrapper* wrapper = wrapper_at(&given, level.number)) {
      Tensor value = preserve_weak_dtype(wrapper->value, given, promoted >> i & 1, promotion);
      arguments[i].tensor = arguments.own(aligned(std::move(value), promotion.ndim));
    } else if (!promotion.ndim && !(given.flags & TensorImpl::kWrappedNumber)) {
      arguments[i].tensor = arguments.own(call_op(NamedOp::Unsqueeze, {Value::of(&given), Value::of_int(0)}));
    }
  }
}

void run_pointwise(OpCall& call, const Level& level, bool uniform) {
  Arguments arguments(call);
  change_to_examples(arguments, call, level);
  OpCall physical = arguments.call(*call.op, call.rets);
  dispatch(physical);
  if (TensorImpl* written = written_tensor(call)) {
    change_results(physical, [&](Tensor, unsigned) { return Tensor::share(written); });
    return;
  }
  wrap_all(physical, level, uniform);
}

// ------------------------------------------------------------------------- ops with a Graph

uint64_t batched_inputs(const OpCall& call, Arguments& arguments, const Level& level) {
  bool many = false;  // one bit covers every input from the 63rd on
  unsigned count = 0;
  for_each_input(call, [&](TensorImpl* tensor) { many |= count++ >= 63 && is_batched(tensor, level); });
  uint64_t mask = 0;
  arguments.change_tensors(functional_of(*call.op), [&](TensorImpl* tensor, unsigned number) {
    Wrapper* wrapper = wrapper_at(tensor, level.number);
    if (!wrapper && !(many && number >= 63)) return tensor;
    mask |= uint64_t{1} << std::min(number, 63u);
    return wrapper ? wrapper->value.get() : arguments.own(expanded(*tensor, level));
  });
  return mask;
}

void run_graph(OpCall& call, const Level& level, bool uniform) {
  Arguments arguments(call);
  const uint64_t mask = batched_inputs(call, arguments, level);
  const SharedPlan plan = find_rule(Rule::Batch, call, mask);
  if (!plan) {  // sizes depend on the values of masks and indices
    if (!are_masks_uniform(call, level)) raise_sizes_differ(call);
    return run_each(call, level, std::nullopt, uniform);
  }
  OpCall batched = arguments.call(*plan->op, call.rets);
  dispatch(batched);
  wrap_all(batched, level, uniform);
}

// Runs the functional form and writes its result in place.
void run_in_place(OpCall& call, TensorImpl& written, const Level& level) {
  Value rets[kMaxReturns];
  OpCall functional{call.op->functional, call.args, rets, call.num_args, {}};
  run_batched(functional, level);
  const Tensor result = Tensor::adopt(rets[0].tensor);
  const Wrapper* from = wrapper_at(result.get(), level.number);
  call_op(NamedOp::Copy, {Value::of(wrapper_at(&written, level.number)->value.get()),
                          Value::of(from ? from->value.get() : result.get())});
  call.rets[0] = Value::of(Tensor::share(&written).leak());
}

// ------------------------------------------------------------------------- random ops

// Of an op without tensors: the list of sizes, which are the result's.
std::optional<size_t> size_argument(const OpCall& call) {
  const Schema& schema = call.op->schema;
  if (schema.tensor_arguments) return std::nullopt;
  for (size_t i = 0; i < schema.arguments.size(); ++i)
    if (schema.arguments[i].type == ArgType::SymIntList && call.args[i].tag == Tag::IntList) return i;
  return std::nullopt;
}

// Draws for every example: runs the unchanged op over the whole batch.
void draw_different(OpCall& call, const Level& level) {
  Arguments arguments(call);
  std::vector<int64_t> sizes{level.size};
  bool has_batch = false;
  if (const auto size = size_argument(call)) {
    const auto given = call.args[*size].ints();
    for (uint32_t k = 0; k < given.size(); ++k) sizes.push_back(given[call.args[*size].broadcast_list ? 0 : k]);
    arguments[*size] = Value::of(std::span<const int64_t>(sizes));
    has_batch = true;
  } else {
    for_each_input(call, [&](TensorImpl* tensor) { has_batch |= tensor != nullptr; });
    if (!has_batch) return run_each(call, level, std::nullopt, false);
    if (call.op->kind_data || (call.op->functional && call.op->functional->kind_data))
      change_to_examples(arguments, call, level);
    bool first = true;  // it determines the result's shape, and must have the batch dim
    arguments.change_tensors(*call.op, [&](TensorImpl* tensor, unsigned) {
      if (Wrapper* wrapper = wrapper_at(tensor, level.number)) tensor = wrapper->value.get();
      else if (first && !any_batched(call, level)) tensor = arguments.own(expanded(*tensor, level));
      first = false;
      return tensor;
    });
  }
  OpCall physical = arguments.call(*call.op, call.rets);
  dispatch(physical);
  if (TensorImpl* written = written_tensor(call))
    return change_results(physical, [&](Tensor, unsigned) { return Tensor::share(written); });
  wrap_all(physical, level, false);
}

void run_random(OpCall& call, const Level& level, bool uniform) {
  TensorImpl* written = written_tensor(call);
  switch (level.randomness) {
    case Randomness::Error:
      raise(ErrorKind::Runtime,
            "vmap: %s is random, and vmap was called without a setting for randomness.\n"
            "Pass randomness='different' (each example draws its own) or randomness='same' to vmap.",
            call.op->schema.name.c_str());
    case Randomness::Different:
      if (written) require_examples(call, *written, level, false);
      return draw_different(call, level);
    case Randomness::Same:
      if (!any_batched(call, level)) return dispatch(call);
      if (written) require_examples(call, *written, level, uniform);
      return run_each(call, level, Rewind(call), uniform);
  }
}

}  // namespace

void run_batched(OpCall& call, const Level& level) {
  const BelowLevel below(level.number);
  const OpRecord& functional = functional_of(*call.op);
  const bool uniform = is_uniform(call, level);
  if (functional.kind == OpKind::Random) return run_random(call, level, uniform);
  if (functional.kind == OpKind::DataDependent && !uniform) raise_sizes_differ(call);
  TensorImpl* written = written_tensor(call);
  if (written) require_examples(call, *written, level, uniform);
  if (functional.kind == OpKind::DataDependent || functional.kind == OpKind::Foreach || !functional.derivative)
    return run_each(call, level, std::nullopt, uniform);
  if (functional.kind == OpKind::Pointwise) return run_pointwise(call, level, uniform);
  if (written) return run_in_place(call, *written, level);
  run_graph(call, level, uniform);
}

}  // namespace pellucid
