#include "kernels/prepared_map.h"

#include <algorithm>

#include "core/hooks.h"
#include "core/recording.h"
#include "core/thread_pool.h"
#include "core/thread_state.h"
#include "kernels/gather.h"
#include "kernels/prepared_action.h"

namespace pellucid {
namespace {

// The tensor written in place, or null.
TensorImpl* written_in_place(const OpCall& call) {
  if (call.op->variant != Variant::InPlace) return nullptr;
  return call.args[pointwise_data(*call.op).written[0]].tensor;
}

}  // namespace

bool (*PreparedMap::record)(const PreparedMap&, OpCall&, std::span<TensorImpl* const>) = nullptr;

bool PreparedMap::run_large(OpCall& call, std::span<TensorImpl* const> tensors) const {
  if (in_region() && record(*this, call, tensors)) return true;
  char* pointers[kMaxMapOutputs + kMaxMapInputs];
  OutputList outputs;
  for (int k = 0; k < function.num_outputs; ++k) {
    outputs.add(empty({geometry->words, geometry->ndim}, function.outputs[k]));
    pointers[k] = outputs[k]->host();
  }
  for (int k = 0; k < function.num_inputs; ++k) pointers[function.num_outputs + k] = tensors[operands[k]]->host();
  check_status(call, function, function.kernel.run(pointers, sizes, strides, params));
  outputs.give(call);
  return true;
}

bool PreparedMap::run(OpCall& call, std::span<TensorImpl* const> tensors) const {
  if (!is_small) return run_large(call, tensors);
  if (in_region() && record(*this, call, tensors)) [[unlikely]]
    return true;
  char* pointers[kMaxMapOutputs + kMaxMapInputs];
  const int num_outputs = function.num_outputs;
  for (int k = 0; k < function.num_inputs; ++k) pointers[num_outputs + k] = tensors[operands[k]]->host();
  if (written >= 0) return run_in_place(call, tensors, pointers);
  if (num_outputs == 1) [[likely]] {
    Tensor result = empty(*geometry, function.outputs[0]);
    pointers[0] = static_cast<char*>(result->storage->host);
    check_status(call, function, function.kernel.run(pointers, sizes, strides, params));
    call.rets[0] = Value::of(result.leak());
    return true;
  }
  OutputList outputs;
  for (int k = 0; k < num_outputs; ++k) {
    outputs.add(empty(*geometry, function.outputs[k]));
    pointers[k] = outputs[k]->host();
  }
  check_status(call, function, function.kernel.run(pointers, sizes, strides, params));
  outputs.give(call);
  return true;
}

bool PreparedMap::run_in_place(OpCall& call, std::span<TensorImpl* const> tensors, char** pointers) const {
  TensorImpl* self = call.args[written].tensor;
  before_write(*self->storage);
  for (int k = 0; k < function.num_inputs; ++k) {
    const TensorImpl* tensor = tensors[operands[k]];
    if (tensor != self && tensor->storage == self->storage) [[unlikely]]
      return false;
  }
  pointers[0] = self->host();
  check_status(call, function, function.kernel.run(pointers, sizes, strides, params));
  self->bump_version();
  call.rets[0] = Value::of(Tensor::share(self).leak());
  return true;
}

bool PreparedMap::list(size_t num_tensors, PreparedList& into) const {
  PreparedAction launch{.kind = PreparedAction::Kind::Launch, .kernel = &function.kernel};
  for (int k = 0; k < function.num_outputs; ++k) {
    const auto made = static_cast<uint16_t>(num_tensors + static_cast<size_t>(k));
    launch.pointers.push_back({written < 0 ? made : written_tensor, 0});
    into.results.push_back(launch.pointers.back().value);
    if (written >= 0) {
      into.written.push_back(written_tensor);
      continue;
    }
    PreparedAction& make = into.actions.emplace_back(PreparedAction{.value = made, .dtype = function.outputs[k]});
    if (is_small) make.geometry = geometry;
    else make.sizes.assign(geometry->words, geometry->words + geometry->ndim);
  }
  for (int k = 0; k < function.num_inputs; ++k) launch.pointers.push_back({operands[k], 0});
  launch.sizes.assign(sizes, sizes + 2);
  launch.strides.assign(strides, strides + 2 * launch.pointers.size());
  launch.params.assign(params, params + function.num_params);
  into.actions.push_back(std::move(launch));
  return true;
}

void PreparedMap::fail(const OpRecord& op, const PreparedAction&, int64_t status) const {
  raise_status(op, status, function.requirements);
}

MapRecorder::MapRecorder(const ElementFunction& function) : function_(function), outer_(thread_state.launch_recorder) {
  thread_state.launch_recorder = this;
}

MapRecorder::~MapRecorder() { thread_state.launch_recorder = outer_; }

void MapRecorder::launch(KernelRef& kernel, char* const* data, const int64_t* sizes, const int64_t* strides,
                         const uint64_t* params) {
  if (&kernel != &function_.kernel || launches_++) {
    possible_ = false;
    return;
  }
  std::copy_n(data, num_operands(), data_);
  std::copy_n(sizes, 2, sizes_);
  std::copy_n(strides, 2 * num_operands(), strides_);
  std::copy_n(params, function_.num_params, params_);
}

// Whether the kernel received its operands' first elements, not those of copies or parts.
bool MapRecorder::leads_to_operands(const OpCall& call) const {
  for (int k = 0; k < function_.num_outputs; ++k)
    if (call.rets[k].tag != Tag::Tensor || call.rets[k].tensor->host() != data_[k]) return false;
  for (int k = 0; k < function_.num_inputs; ++k) {
    const uint8_t argument = function_.inputs[k].argument;
    if (argument >= kFirstDraw || call.args[argument].tag != Tag::Tensor) return false;
    if (call.args[argument].tensor->host() != data_[function_.num_outputs + k]) return false;
  }
  return true;
}

namespace {

// The position of an argument among the call's tensors.
uint8_t tensor_number(const OpCall& call, uint8_t argument) {
  return static_cast<uint8_t>(
      std::count_if(call.args, call.args + argument, [](const Value& value) { return value.is_tensor(); }));
}

bool has_lists(const OpCall& call) {
  return std::any_of(call.args, call.args + call.num_args,
                     [](const Value& value) { return value.tag == Tag::TensorList; });
}

}  // namespace

std::unique_ptr<PreparedMap> MapRecorder::prepare(const OpCall& call, const CallFacts& facts) const {
  if (!possible_ || launches_ != 1 || function_.num_draws || has_lists(call)) return nullptr;
  if (call.op->schema.returns.size() != function_.num_outputs || !leads_to_operands(call)) return nullptr;
  TensorImpl* self = written_in_place(call);
  const TensorImpl& result = *call.rets[0].tensor;
  if (self ? self != &result || function_.num_outputs != 1 : !Geometry::fits(result)) return nullptr;
  auto prepared = std::make_unique<PreparedMap>(facts, function_);
  if (self) {
    prepared->written = pointwise_data(*call.op).written[0];
    prepared->written_tensor = tensor_number(call, static_cast<uint8_t>(prepared->written));
  } else if (prepared->geometry.emplace(result); !prepared->geometry->is_small()) {
    if (!result.is_row_major() || result.numel == 0 || result.numel >= kParallelGrain) return nullptr;
    prepared->is_small = false;
  }
  for (int k = 0; k < function_.num_inputs; ++k)
    prepared->operands[k] = tensor_number(call, function_.inputs[k].argument);
  std::copy_n(sizes_, 2, prepared->sizes);
  std::copy_n(strides_, 2 * num_operands(), prepared->strides);
  std::copy_n(params_, function_.num_params, prepared->params);
  return prepared;
}

}  // namespace pellucid
