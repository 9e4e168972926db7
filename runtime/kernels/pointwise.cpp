#include "kernels/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/device_names.h"
#include "core/dispatcher.h"
#include "core/donation.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/layout.h"
#include "core/number_range.h"
#include "core/pinned_memory.h"
#include "core/thread_pool.h"
#include "kernels/conversion.h"
#include "kernels/copy.h"
#include "kernels/device_launch.h"
#include "kernels/fallback.h"
#include "kernels/gather.h"
#include "kernels/host_shadow.h"
#include "kernels/layout.h"
#include "kernels/nest.h"
#include "kernels/out_dtype.h"
#include "kernels/random_words.h"
#include "kernels/shared_elements.h"

namespace pellucid {

namespace {

// Raises for a number that the op does not accept.
void check_number(const OpCall& call, const ElementFunction::Parameter& parameter, const Value& value) {
  const char* op = call.op->schema.name.c_str();
  const char* argument = call.op->schema.arguments[parameter.argument].name.c_str();
  const bool integers = parameter.dtype == DType::Int64;
  if (parameter.exact && integers && value.tag == Tag::Float)
    raise(ErrorKind::Runtime, "%s: the argument '%s' of integer tensors must be an integer, not the float %g", op,
          argument, value.number);
  if (parameter.exact && value.tag == Tag::Bool && parameter.range != DType::Bool)
    raise(ErrorKind::Runtime, "%s: the argument '%s' is a bool, which only bool tensors take; give a number", op,
          argument);
  if (parameter.nonnegative && integers && value.as_double() < 0)
    raise(ErrorKind::Runtime,
          "%s: the argument '%s' of integer tensors must not be negative, but is %g; convert the "
          "tensor with .to(torch.float32)",
          op, argument, value.as_double());
  if (parameter.has_range && !number_fits(value, parameter.range)) raise_unfit_number(op, value, parameter.range);
}

uint64_t bits_of_real(const OpCall& call, const ElementFunction::Parameter& parameter, const Value& value) {
  const bool fits_everywhere = value.tag == Tag::Int && static_cast<uint64_t>(value.integer) <= 1;
  if (parameter.has_range && !fits_everywhere) check_number(call, parameter, value);
  if (parameter.dtype == DType::Int64) {
    if (value.tag != Tag::Float) return static_cast<uint64_t>(value.integer);
    const double number = value.number;
    if (parameter.has_range && parameter.range == DType::Bool) return number != 0;
    if (!number_fits(value, DType::Int64)) raise_unfit_number(call.op->schema.name.c_str(), value, DType::Int64);
    return static_cast<uint64_t>(static_cast<int64_t>(number));
  }
  if (parameter.part == ElementFunction::Part::Imaginary) [[unlikely]]
    return 0;
  return std::bit_cast<uint64_t>(value.as_double());
}

uint64_t bits_of_complex(const OpCall& call, const ElementFunction::Parameter& parameter, const Complex& number) {
  using Part = ElementFunction::Part;
  if (parameter.has_range && parameter.range == DType::Bool) return number.real != 0 || number.imag != 0;
  if (parameter.part == Part::Whole && (number.imag != 0 || parameter.exact))
    raise(ErrorKind::Runtime, "%s: the argument '%s' of real tensors must be a real number, not a complex one",
          call.op->schema.name.c_str(), call.op->schema.arguments[parameter.argument].name.c_str());
  if (parameter.part == Part::Whole) return bits_of_real(call, parameter, Value::of_float(number.real));
  return std::bit_cast<uint64_t>(parameter.part == Part::Real ? number.real : number.imag);
}

}  // namespace

uint64_t parameter_bits(const OpCall& call, const ElementFunction::Parameter& parameter) {
  const Value& value = call.args[parameter.argument];
  if (value.tag == Tag::Complex) [[unlikely]]
    return bits_of_complex(call, parameter, *value.complex);
  return bits_of_real(call, parameter, value);
}

namespace {

// Contiguous operands of one shape and dtype, 0-d operands and numbers: one kernel call. False if the call is not
// of this kind (nothing was done).
bool run_fast(OpCall& call, const PointwiseData& data, const Gathered& gathered, const ElementFunction& function) {
  if (!gathered.regular || !gathered.shaped) return false;
  TensorImpl& shaped = *gathered.shaped;
  if (shaped.numel >= kParallelGrain || shaped.device.type != DeviceType::CPU || call.op->variant == Variant::Out)
    return false;
  if (!function.is_plain) return false;
  const bool in_place = call.op->variant == Variant::InPlace;
  TensorImpl* self = in_place ? call.args[data.written[0]].tensor : nullptr;
  if (in_place && (function.num_outputs != 1 || self->dtype != function.outputs[0])) return false;
  if (in_place) before_write(*self->storage);
  if (in_place && (self->ndim != shaped.ndim || !self->is_row_major())) return false;

  char* pointers[kMaxMapOutputs + kMaxMapInputs];
  int64_t strides[2 * (kMaxMapOutputs + kMaxMapInputs)];
  alignas(16) char slots[kMaxMapInputs][16];  // 0-d operands of another dtype, converted
  const bool has_extent = shaped.ndim != 0;
  for (int k = 0; k < function.num_inputs; ++k) {
    const ElementFunction::Input& input = function.inputs[k];
    TensorImpl& tensor = *call.args[input.argument].tensor;
    const int operand = function.num_outputs + k;
    const bool is_broadcast = has_extent && gathered.broadcast_numbers >> input.argument & 1;
    strides[2 * operand] = is_broadcast ? 0 : static_cast<int64_t>(item_size(input.dtype));
    strides[2 * operand + 1] = 0;
    pointers[operand] = tensor.host();
    if (tensor.dtype != input.dtype) [[unlikely]] {
      if (tensor.ndim) return false;
      convert(input.dtype, slots[k], tensor.dtype, pointers[operand], Run{{1, 1}, {0, 0}, {0, 0}});
      pointers[operand] = slots[k];
    }
    if (in_place && &tensor != self && tensor.storage == self->storage) [[unlikely]]
      return false;
  }
  uint64_t params[kMaxMapParams];
  for (int k = 0; k < function.num_params; ++k) params[k] = parameter_bits(call, function.params[k]);
  OutputList outputs;
  for (int k = 0; k < function.num_outputs; ++k) {
    strides[2 * k] = static_cast<int64_t>(item_size(function.outputs[k]));
    strides[2 * k + 1] = 0;
    outputs.add(in_place ? Tensor::share(self) : empty_row_major_like(shaped, function.outputs[k]));
    pointers[k] = outputs[k]->host();
  }
  const int64_t sizes[2] = {shaped.numel, 1};
  if (shaped.numel) check_status(call, function, function.kernel.run(pointers, sizes, strides, params));
  if (in_place) self->bump_version();
  outputs.give(call);
  return true;
}

// One kernel call over dense memory. False if the call is not of this kind (nothing was done).
bool run_uniform(OpCall& call, const PointwiseData& data, TensorImpl& shaped, const ElementFunction& function) {
  if (shaped.numel >= kParallelGrain || !shaped.numel || !function.is_plain) return false;
  const bool in_place = call.op->variant == Variant::InPlace;
  TensorImpl* self = in_place ? call.args[data.written[0]].tensor : nullptr;
  if (in_place && (function.num_outputs != 1 || self->dtype != function.outputs[0])) return false;
  if (in_place) before_write(*self->storage);
  char* pointers[kMaxMapOutputs + kMaxMapInputs];
  char** next = pointers + function.num_outputs;
  for (int k = 0; k < function.num_inputs; ++k) {
    TensorImpl& tensor = *call.args[function.inputs[k].argument].tensor;
    if (tensor.dtype != function.inputs[k].dtype) return false;
    if (in_place && &tensor != self && tensor.storage == self->storage) [[unlikely]]
      return false;
    *next++ = tensor.host();
  }
  uint64_t params[kMaxMapParams];
  for (int k = 0; k < function.num_params; ++k) params[k] = parameter_bits(call, function.params[k]);
  OutputList outputs;
  for (int k = 0; k < function.num_outputs; ++k) {
    outputs.add(in_place ? Tensor::share(self) : empty_row_major_like(shaped, function.outputs[k]));
    pointers[k] = outputs[k]->host();
  }
  const int64_t sizes[2] = {shaped.numel, 1};
  check_status(call, function, function.kernel.run(pointers, sizes, function.dense_strides, params));
  if (in_place) self->bump_version();
  outputs.give(call);
  return true;
}

// Everything else: broadcasting, other layouts and dtypes, out=, Meta, many elements.
class GeneralRun {
 public:
  GeneralRun(OpCall& call, const PointwiseData& data, const ElementFunction& function)
      : call_(call), data_(data), function_(function) {}

  void run() {
    if (function_.number_checks) check_numbers(call_, function_);
    collect_operands();
    check_devices();
    prepare_outputs();
    if (device_.type != DeviceType::Meta) compute();
    for (int k = 0; k < function_.num_outputs; ++k) {
      if (call_.op->variant != Variant::Functional) outputs_[k]->bump_version();
    }
    outputs_.give(call_);
  }

 private:
  std::span<const int64_t> shape() const { return {shape_, static_cast<size_t>(ndim_)}; }

  // All tensor arguments are broadcast, including those that the body does not read.
  void collect_operands() {
    for (int i = 0; i < data_.num_arguments; ++i) {
      if (data_.roles[i] != PointwiseData::Role::Operand || !call_.args[i].is_tensor()) continue;
      TensorImpl& tensor = *call_.args[i].tensor;
      operands_[num_operands_++] = &tensor;
      int64_t joined[kMaxDims];
      ndim_ = broadcast_sizes(shape(), tensor.shape(), joined);
      std::copy_n(joined, ndim_, shape_);
    }
  }

  void check_devices() {
    for (int k = 0; k < num_operands_; ++k)
      if (k == 0 || (device_.type == DeviceType::CPU && device_zero_dim_)) {
        device_ = operands_[k]->device;
        device_zero_dim_ = operands_[k]->ndim == 0;
      }
    for (int k = 0; k < num_operands_; ++k) {
      const bool free = operands_[k]->device.type == DeviceType::CPU && operands_[k]->ndim == 0;
      if (operands_[k]->device != device_ && !free) raise_two_devices(call_, device_, *operands_[k]);
    }
  }

  // In the memory of a donated operand or new memory.
  Tensor functional_result(std::span<TensorImpl* const> operands, DType dtype) const {
    const bool has_format = call_.args[call_.num_args - 1].tag == Tag::MemoryFormat;
    Donation* const donation = donation_to(call_);
    if (!donation || has_format) return empty_result(operands, dtype);
    int64_t strides[kMaxDims];
    strides_for_operands(shape(), operands, strides);
    for (TensorImpl* operand : operands)
      if (Tensor accepted = accept(*donation, *operand, shape(), {strides, shape().size()}, dtype)) return accepted;
    return empty_result(operands, dtype);
  }

  Tensor empty_result(std::span<TensorImpl* const> operands, DType dtype) const {
    const Value& last = call_.args[call_.num_args - 1];
    if (last.tag == Tag::MemoryFormat) [[unlikely]]
      return empty_with_format(*operands[0], dtype, static_cast<MemoryFormat>(last.integer), device_);
    return empty_for_operands(shape(), operands, dtype, device_);
  }

  void prepare_outputs() {
    const std::span<TensorImpl* const> operands(operands_, static_cast<size_t>(num_operands_));
    for (int k = 0; k < function_.num_outputs; ++k) {
      switch (call_.op->variant) {
        case Variant::Functional: outputs_.add(functional_result(operands, function_.outputs[k])); break;
        case Variant::InPlace:
          outputs_.add(destination(*call_.args[data_.result_argument(call_.args, k)].tensor, k, false));
          break;
        case Variant::Out: outputs_.add(destination(*call_.args[data_.num_arguments + k].tensor, k, true)); break;
      }
    }
    if (call_.op->variant == Variant::Functional) return;
    for (int k = 0; k < function_.num_outputs; ++k) before_write(*outputs_[k]->storage);
    const bool is_constant = function_.num_inputs == 0;  // then aliased elements receive equal values
    for (int k = 0; k < function_.num_outputs; ++k) {
      const bool may_share = is_constant || writes_shared_elements(call_, *outputs_[k]);
      if (!may_share) require_no_internal_overlap(*outputs_[k]);
      for (TensorImpl* operand : operands) require_no_partial_overlap(*outputs_[k], *operand);
    }
  }

  Tensor destination(TensorImpl& given, int output, bool resizes) const {
    const DType natural = function_.outputs[output];
    require_dtype_of_written(call_, natural, given.dtype, [&] {
      raise(ErrorKind::Runtime, "result type %s can't be cast to the desired output type %s", type_word(natural),
            type_word(given.dtype));
    });
    if (given.device != device_ && num_operands_ > 0)
      raise(ErrorKind::Runtime, "%s: the result is written to a tensor on another device than the arguments'",
            call_.op->schema.name.c_str());
    if (resizes && function_.num_inputs) require_no_internal_overlap(given);  // as it was given
    if ((!resizes || is_operand(given)) && !std::ranges::equal(given.shape(), shape()))
      raise(ErrorKind::Runtime, "output with shape %s doesn't match the broadcast shape %s",
            format_sizes(given.shape()).c_str(), format_sizes(shape()).c_str());
    if (resizes) resize_output(given, shape());
    return Tensor::share(&given);
  }

  bool is_operand(const TensorImpl& tensor) const {
    return std::find(operands_, operands_ + num_operands_, &tensor) != operands_ + num_operands_;
  }

  // The input, or a copy of it if it partially overlaps the result: views with gaps or repeats, whose overlap is
  // not refused.
  TensorImpl& unwritten(TensorImpl& input) {
    if (call_.op->variant == Variant::Functional) return input;
    for (int k = 0; k < function_.num_outputs; ++k)
      if (memory_overlap(*outputs_[k], input) == MemoryOverlap::TooHard && may_share_elements(*outputs_[k], input))
        return *copies_.emplace_back(clone_elements(input));
    return input;
  }

  // Operands are the results, then the operands that the function reads; null: a draw.
  void compute() {
    const int outputs = function_.num_outputs, total = outputs + function_.num_inputs;
    TensorImpl* tensors[kMaxMapOutputs + kMaxMapInputs] = {};
    for (int k = 0; k < total; ++k) {
      if (k < outputs) tensors[k] = computed_into(*outputs_[k]);
      else if (const int argument = function_.inputs[k - outputs].argument; argument < kFirstDraw)
        tensors[k] = &unwritten(*call_.args[argument].tensor);
    }
    const std::span<TensorImpl*> all(tensors, static_cast<size_t>(total));
    TensorImpl* made[kMaxMapOutputs];
    std::copy_n(tensors, outputs, made);
    if (device_.type != DeviceType::CPU && device_.type != DeviceType::Meta) [[unlikely]]
      compute_on_device(all);
    else compute_here(all, RandomWords(function_, *outputs_[0], call_));
    for (int k = 0; k < outputs; ++k)
      if (made[k] != outputs_[k]) write_changed(*outputs_[k], *made[k]);
  }

  // The output, or new memory if its elements share memory, from which it is written.
  TensorImpl* computed_into(TensorImpl& output) {
    if (!writes_shared_elements(call_, output)) return &output;
    return copies_.emplace_back(empty(output.shape(), output.dtype, output.device)).get();
  }

  void compute_on_device(std::span<TensorImpl*> tensors) {
    Backend& backend = backend_of(device_);
    const RandomWords words(function_, *outputs_[0], call_);
    if (backend.launches_kernels() && launch(backend, tensors, words)) return;
    note_fallback(backend, call_.op->qualified_name, call_.op->schema.name.c_str());
    HostShadows shadows;
    for (size_t k = 0; k < tensors.size(); ++k)
      if (tensors[k]) shadows.add(*tensors[k], k < static_cast<size_t>(function_.num_outputs));
    shadows.copy();
    std::vector<Tensor> copies;
    for (TensorImpl*& tensor : tensors)
      if (tensor) tensor = copies.emplace_back(shadows.shadow(*tensor)).get();
    compute_here(tensors, words.copied_to(Device{}));
    shadows.write_back();
  }

  bool launch(Backend& backend, std::span<TensorImpl* const> tensors, const RandomWords& words) {
    if (outputs_[0]->numel == 0) return true;
    const RandomWords words_there = words.copied_to(device_);
    LaunchOperand operands[kMaxMapOutputs + kMaxMapInputs];
    int64_t strides[(kMaxMapOutputs + kMaxMapInputs) * kMaxDims];
    const auto rank = static_cast<size_t>(ndim_);
    for (size_t k = 0; k < tensors.size(); ++k) {
      TensorImpl* tensor = tensors[k];
      if (!tensor) {
        const auto outputs = static_cast<size_t>(function_.num_outputs);
        operands[k] = words_there.launch_operand(function_.inputs[k - outputs], shape());
        continue;
      }
      if (!tensor->is_off_host()) tensor = copies_.emplace_back(copy_to_device(*tensor, device_)).get();
      int64_t* const own = strides + k * rank;
      broadcast_strides(*tensor, shape(), own);
      for (size_t axis = 0; axis < rank; ++axis) own[axis] *= static_cast<int64_t>(item_size(tensor->dtype));
      operands[k] = {tensor->address(), tensor->dtype, shape(), {own, rank}};
    }
    uint64_t params[kMaxMapParams];
    for (int k = 0; k < function_.num_params; ++k) params[k] = parameter_bits(call_, function_.params[k]);
    const Launch map{call_.op->qualified_name.c_str(),
                     function_.kernel,
                     device_,
                     shape(),
                     ndim_,
                     {operands, tensors.size()},
                     function_.num_outputs,
                     {params, static_cast<size_t>(function_.num_params)}};
    const std::optional<int64_t> status = backend.launch(map);
    if (!status) return false;
    backend.launches.fetch_add(1, std::memory_order_relaxed);
    check_status(call_, function_, *status);
    return true;
  }

  void compute_here(std::span<TensorImpl* const> tensors, const RandomWords& words) {
    const int outputs = function_.num_outputs, total = outputs + function_.num_inputs;
    MapOperand operands[kMaxMapOutputs + kMaxMapInputs];
    int64_t strides[(kMaxMapOutputs + kMaxMapInputs) * kMaxDims];
    for (int k = 0; k < total; ++k) {
      if (!tensors[static_cast<size_t>(k)]) {
        operands[k] = words.operand(function_.inputs[k - outputs]);
        continue;
      }
      TensorImpl& tensor = *tensors[static_cast<size_t>(k)];
      int64_t* own = strides + k * ndim_;
      broadcast_strides(tensor, shape(), own);
      for (int axis = 0; axis < ndim_; ++axis) own[axis] *= static_cast<int64_t>(item_size(tensor.dtype));
      const DType kernel_dtype = k < outputs ? function_.outputs[k] : function_.inputs[k - outputs].dtype;
      operands[k] = {tensor.host(), tensor.dtype, kernel_dtype, own};
    }
    uint64_t params[kMaxMapParams];
    for (int k = 0; k < function_.num_params; ++k) params[k] = parameter_bits(call_, function_.params[k]);
    const MapCall map{function_.kernel, shape(), {operands, static_cast<size_t>(total)}, outputs, params};
    check_status(call_, function_, run_map(map));
  }

  OpCall& call_;
  const PointwiseData& data_;
  const ElementFunction& function_;
  TensorImpl* operands_[kMaxPointwiseArguments];
  int num_operands_ = 0, ndim_ = 0;
  int64_t shape_[kMaxDims];
  Device device_;
  bool device_zero_dim_ = false;
  OutputList outputs_;
  std::vector<Tensor> copies_;
};

}  // namespace

void run_general(OpCall& call, const PointwiseData& data, const ElementFunction& function) {
  GeneralRun(call, data, function).run();
}

namespace {

void run_gathered(OpCall& call, const PointwiseData& data, const Gathered& gathered, const ElementFunction& function) {
  if (!run_fast(call, data, gathered, function)) run_general(call, data, function);
}

// clone accepts a memory format for its result.
bool takes_memory_format(const OpCall& call) { return call.args[call.num_args - 1].tag == Tag::MemoryFormat; }

// Whether the result goes to a named device or to pinned memory.
bool is_moved(const OpCall& call, const PointwiseData& data) {
  const int device = data.device_argument;
  return device >= 0 && (call.args[device].tag == Tag::Device || asks_to_pin(call, device + 1));
}

// _to_copy(device=, pin_memory=, non_blocking=): computes on the operands' device, then copies.
void run_and_move(OpCall& call, const PointwiseData& data, BoxedKernel handler) {
  TensorImpl& self = *call.args[0].tensor;
  const Value& named = call.args[data.device_argument];
  const Device device = named.is_none() ? self.device : with_index(decode_device(named.integer));
  const bool pins = asks_to_pin(call, data.device_argument + 1);
  if (pins) require_pinnable(device);
  const bool non_blocking = call.args[data.device_argument + 2].integer != 0;
  const Value &dtype = call.args[1], &format = call.args[call.num_args - 1];
  const bool is_same = dtype.is_none() || static_cast<DType>(dtype.integer) == self.dtype;
  if (is_same && format.is_none() && self.device != device && device.type != DeviceType::Meta && !pins) {
    call.rets[0] = Value::of(copy_to_device(self, device, non_blocking).leak());
    return;
  }
  Value args[kMaxPointwiseArguments];
  std::copy_n(call.args, call.num_args, args);
  args[data.device_argument] = args[data.device_argument + 1] = {};
  OpCall here{call.op, args, call.rets, call.num_args, call.keys};
  handler(here, nullptr);
  Tensor result = Tensor::adopt(std::exchange(call.rets[0], Value()).tensor);
  if (pins) result = pinned_copy(*result);
  call.rets[0] = Value::of((result->device == device ? result : copy_to_device(*result, device, non_blocking)).leak());
}

}  // namespace

void handle_pointwise(OpCall& call, void*) {
  PointwiseData& data = pointwise_data(*call.op);
  if (is_moved(call, data)) [[unlikely]]
    return run_and_move(call, data, handle_pointwise);
  if (takes_memory_format(call)) [[unlikely]]
    return run_general(call, data, data.function_for(call, Gatherer(call, data).gather().key));
  UniformCall uniform;
  const bool has_destination = call.op->variant == Variant::Out;
  PreparationRequest* request = preparation_request_of(call);
  if (!has_destination && !request && uniform.fits(call, data)) [[likely]]
    if (run_uniform(call, data, *uniform.shaped, data.function_for(call, uniform.key))) return;
  const CallFacts facts(call);
  const bool may_repeat = facts.complete() && !has_destination;
  const PreparedMap* prepared = may_repeat && !request ? data.prepared.find(facts) : nullptr;
  if (prepared && prepared->run(call, facts.tensors())) [[likely]]
    return;
  const Gathered gathered = Gatherer(call, data).gather();
  const ElementFunction& function = data.function_for(call, gathered.key);
  if (!may_repeat || !(request || data.prepared.wants(facts))) return run_gathered(call, data, gathered, function);
  MapRecorder recorder(function);
  run_gathered(call, data, gathered, function);
  auto made = recorder.prepare(call, facts);
  if (request) request->made = std::move(made);
  else if (made) data.prepared.add(facts, std::move(made));
}

void handle_pointwise_on_device(OpCall& call, void*) {
  PointwiseData& data = pointwise_data(*call.op);
  if (is_moved(call, data)) return run_and_move(call, data, handle_pointwise_on_device);
  run_general(call, data, data.function_for(call, Gatherer(call, data).gather().key));
}

DType common_dtype(const OpCall& call) { return Gatherer(call, pointwise_data(*call.op)).gather().key.common(); }

void raise_status(const OpRecord& op, int64_t status, std::span<const ElementFunction::Requirement> requirements) {
  const char* name = op.schema.name.c_str();
  const int64_t detail = status_detail(status);
  switch (status_code(status)) {
    case KernelStatus::ZeroDivision:
      raise(ErrorKind::Runtime, "ZeroDivisionError: %s divided an integer by zero", name);
    case KernelStatus::IndexOutOfBounds:
      raise(ErrorKind::Index, "%s: an index is out of bounds (at element %lld)", name, static_cast<long long>(detail));
    case KernelStatus::Requirement:
      if (static_cast<size_t>(detail) < requirements.size()) {
        const ElementFunction::Requirement& broken = requirements[static_cast<size_t>(detail)];
        throw Error(broken.kind, broken.message);
      }
      break;
    case KernelStatus::OutsideOperand: raise_outside_operand(name, status);
    case KernelStatus::Ok: break;
  }
  raise(ErrorKind::Runtime, "%s: a kernel returned the unknown status %lld", name, static_cast<long long>(status));
}

}  // namespace pellucid
