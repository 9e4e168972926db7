#include "ops/device_op.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/device_names.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/geometry.h"
#include "core/layout.h"
#include "core/named_ops.h"
#include "core/pinned_memory.h"
#include "kernels/copy.h"
#include "kernels/fallback.h"
#include "kernels/host_shadow.h"
#include "kernels/pointwise.h"
#include "ops/graph_op.h"
#include "ops/join.h"

namespace pellucid {
namespace {

template <class Visit>
void each_tensor(const Value& value, Visit&& visit) {
  if (value.tag == Tag::Tensor) return visit(*value.tensor);
  if (value.tag != Tag::TensorList && value.tag != Tag::OptionalTensorList) return;
  for (TensorImpl* tensor : value.list())
    if (tensor) visit(*tensor);
}

bool names_device(const Value& value) { return value.tag == Tag::Device; }

// The device of the call's tensors, or the one on which a factory must make its result.
Device device_of(const OpCall& call) {
  const Value *const begin = call.args, *const end = begin + call.num_args;
  const Value* const named = std::find_if(begin, end, names_device);
  const bool is_factory = call.op->kind == OpKind::Factory;
  if (is_factory && named != end) return with_index(decode_device(named->integer));
  Device found;
  for (const Value* value = begin; value != end; ++value)
    each_tensor(*value, [&](const TensorImpl& tensor) {
      if (tensor.is_off_host() && found.type == DeviceType::CPU) found = tensor.device;
    });
  if (found.type == DeviceType::CPU && named != end) return with_index(decode_device(named->integer));
  return found;
}

// CPU scalars may be mixed with tensors of a device; so may indices, and the source of a copy.
void require_one_device(const OpCall& call, Device device) {
  if (call.op->kind == OpKind::DataDependent || call.op->kind == OpKind::Factory) return;
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  const OpRecord& copy = named_op(NamedOp::Copy);
  const bool copies = &functional == (copy.functional ? copy.functional : &copy);
  for (int k = 0; k < call.num_args && !copies; ++k) {
    if (call.args[k].tag == Tag::OptionalTensorList) continue;  // indices
    each_tensor(call.args[k], [&](const TensorImpl& tensor) {
      if (tensor.device == device || (tensor.ndim == 0 && tensor.device.type == DeviceType::CPU)) return;
      raise_two_devices(call, device, tensor);
    });
  }
}

// Whether tensors other than scalars are on several devices, which copies allow.
bool crosses_devices(const OpCall& call, Device device) {
  bool crosses = false;
  for (int k = 0; k < call.num_args; ++k)
    each_tensor(call.args[k], [&](const TensorImpl& tensor) { crosses |= tensor.ndim && tensor.device != device; });
  return crosses;
}

// A call with shadows in place of its tensors.
class HostCall {
 public:
  explicit HostCall(OpCall& call) : call_(call), device_(device_of(call)), target_(device_) {
    const auto& arguments = call.op->schema.arguments;
    for (int k = 0; k < call.num_args; ++k)
      each_tensor(call.args[k],
                  [&](TensorImpl& tensor) { shadows_.add(tensor, arguments[static_cast<size_t>(k)].written); });
    shadows_.copy();
    lists_.reserve(call.num_args);
    for (int k = 0; k < call.num_args; ++k) args_.push_back(on_host(call.args[k]));
  }

  void run(KernelEntry kernel) {
    OpCall on_cpu{call_.op, args_.data(), call_.rets, call_.num_args, Key::CPU};
    kernel.function(on_cpu, kernel.context);
    write_back();
    for (size_t k = 0; k < call_.op->schema.returns.size(); ++k) give_to_device(call_.rets[k]);
  }

 private:
  struct Pair {
    TensorImpl* original;
    Tensor shadow;
  };

  TensorImpl* shadow_of(TensorImpl* tensor) {
    if (!tensor || !tensor->is_off_host()) return tensor;
    const auto known = std::ranges::find(pairs_, tensor, &Pair::original);
    if (known != pairs_.end()) return known->shadow.get();
    return pairs_.emplace_back(Pair{tensor, shadows_.shadow(*tensor)}).shadow.get();
  }

  Value on_host(const Value& given) {
    Value value = given;
    if (value.tag == Tag::Tensor) value.tensor = shadow_of(value.tensor);
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList) {
      std::vector<TensorImpl*>& list = lists_.emplace_back();
      for (TensorImpl* tensor : value.list()) list.push_back(shadow_of(tensor));
      value.tensors = list.data();
    }
    if (value.tag != Tag::Device) return value;
    target_ = with_index(decode_device(value.integer));
    return {};
  }

  void write_back() {
    shadows_.write_back();
    const auto& arguments = call_.op->schema.arguments;
    for (int k = 0; k < call_.num_args; ++k)
      if (arguments[static_cast<size_t>(k)].written)
        each_tensor(call_.args[k], [&](TensorImpl& tensor) { finish_written(tensor); });
  }

  // out= may have been resized, and so may have other memory.
  void finish_written(TensorImpl& tensor) {
    TensorImpl& shadow = *shadow_of(&tensor);
    if (&shadow == &tensor) return;
    if (!std::ranges::equal(shadow.shape(), tensor.shape())) {
      resize_tensor(tensor, shadow.shape());
      copy_elements(tensor, shadow);
    }
    tensor.bump_version();
  }

  Tensor on_device(TensorImpl& result) {
    for (const Pair& pair : pairs_)
      if (pair.shadow.get() == &result) return Tensor::share(pair.original);
    bool is_given = false;
    for (int k = 0; k < call_.num_args; ++k)
      each_tensor(call_.args[k], [&](const TensorImpl& tensor) { is_given |= &tensor == &result; });
    if (is_given || result.device.type != DeviceType::CPU || target_.type == DeviceType::CPU)
      return Tensor::share(&result);
    if (Tensor view = shadows_.view_of_original(result); view.get() && target_ == device_) return view;
    return copy_to_device(result, target_);
  }

  void give_to_device(Value& value) {
    if (value.tag == Tag::Tensor) {
      const Tensor result = Tensor::adopt(std::exchange(value, Value()).tensor);
      value = Value::of(on_device(*result).leak());
    } else if (value.tag == Tag::TensorList) {
      auto* const list = const_cast<TensorImpl**>(value.tensors);
      for (uint32_t k = 0; k < value.length; ++k) {
        const Tensor result = Tensor::adopt(std::exchange(list[k], nullptr));
        list[k] = on_device(*result).leak();
      }
    }
  }

  OpCall& call_;
  const Device device_;  // of the operands
  Device target_;        // of the results
  HostShadows shadows_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<TensorImpl*>> lists_;
  std::vector<Value> args_;
};

// copy_ between devices. False: the destination has gaps, or elements that share memory.
bool copy_in_place(OpCall& call) {
  TensorImpl &to = *call.args[0].tensor, &from = *call.args[1].tensor;
  if (to.device == from.device || !is_non_overlapping_and_dense(to.shape(), to.stride())) return false;
  if (!can_expand(from.shape(), to.shape()) || !to.numel) return false;
  copy_across_devices(to, from, call.args[2].integer != 0);
  to.bump_version();
  call.rets[0] = Value::of(Tensor::share(&to).leak());
  return true;
}

// The kernel of a random op, which fills tensors of any device that has generators: the one at Key::Meta, as the CPU's
// looks for the device first. Null for other ops and devices.
KernelEntry drawing_kernel(const OpCall& call, Device device) {
  const bool draws = call.op->kind == OpKind::Random && device.type != DeviceType::CPU;
  if (!draws || default_generator(device).device.type != device.type) return {};
  return call.op->table[static_cast<int>(Key::Meta)];
}

void run_on_device(OpCall& call, void*) {
  const KernelEntry on_cpu = call.op->table[static_cast<int>(Key::CPU)];
  const Device device = device_of(call);
  if (Backend* const backend = find_backend(device.type); backend && backend->run_op(device, call)) return;
  if (const KernelEntry every = catch_all_of(*call.op); every.function) return every.function(call, every.context);
  if (!on_cpu.function) raise_no_kernel(call);
  require_one_device(call, device);
  for (int k = 0; call.op->kind == OpKind::Factory && k < call.num_args; ++k)
    if (asks_to_pin(call, k)) require_pinnable(device);
  if (call.op == &named_op(NamedOp::Copy) && copy_in_place(call)) return;
  if (on_cpu.function == handle_pointwise && !crosses_devices(call, device))
    return handle_pointwise_on_device(call, nullptr);
  if (const KernelEntry draw = drawing_kernel(call, device); draw.function) return draw.function(call, draw.context);
  if (on_cpu.function == handle_foreach) return handle_foreach(call, nullptr);
  if (on_cpu.function == run_graph_op && device.type != DeviceType::CPU) return run_graph_op_on(call, device);
  if (on_cpu.function == handle_join) return run_join_on(call, device);
  if (Backend* const backend = find_backend(device.type))
    note_fallback(*backend, call.op->qualified_name, call.op->schema.name.c_str());
  HostCall(call).run(on_cpu);
}

}  // namespace

void serve_ops_on(DeviceType type) { register_fallback(key_of_device(type), {run_on_device, nullptr}); }

}  // namespace pellucid
