// Guards of the current device, and of inference mode.
#pragma once

#include "pellucid/torch/objects.h"

namespace c10 {

namespace detail {

// Makes a device of an accelerator the current one; its index before, or -1 for the CPU.
inline int exchange_device(const Device& device) {
  if (device.is_cpu() || device.type() == kMeta || !device.has_index()) return -1;
  const Lock lock;
  const pybind11::object module = pybind11::object::steal(PyImport_ImportModule("pellucid.accelerator"));
  const int before = module.attr("current_device_index")().cast<int>();
  if (before != device.index()) module.attr("set_device_index")(device.index());
  return before;
}

}  // namespace detail

class DeviceGuard {
 public:
  explicit DeviceGuard(const Device& device) : device_(device), before_(detail::exchange_device(device)) {}
  ~DeviceGuard() {
    if (before_ >= 0) detail::exchange_device(original_device());
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  Device original_device() const { return {device_.type(), before_}; }
  Device current_device() const { return device_; }
  void reset_device(const Device& device) {
    const int before = detail::exchange_device(device);
    if (before_ < 0) before_ = before;
    device_ = device;
  }
  void set_index(DeviceIndex index) { reset_device({device_.type(), index}); }

 private:
  Device device_;
  int before_;
};
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(const optional<Device>& device) {
    if (device) guard_.emplace(*device);
  }
  void reset_device(const Device& device) {
    guard_.reset();
    guard_.emplace(device);
  }

 private:
  optional<DeviceGuard> guard_;
};

// Nothing is recorded, and what is made can never be (torch.inference_mode).
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) {
    const Lock lock;
    mode_ = pybind11::object::steal(PyImport_ImportModule("pellucid")).attr("inference_mode")(enabled);
    mode_.attr("__enter__")();
  }
  ~InferenceMode() {
    const Lock lock;
    mode_.attr("__exit__")(pybind11::none(), pybind11::none(), pybind11::none());
    mode_ = pybind11::object();
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled() {
    const Lock lock;
    const pybind11::object module = pybind11::object::steal(PyImport_ImportModule("pellucid"));
    return module.attr("is_inference_mode_enabled")().cast<bool>();
  }

 private:
  using Lock = detail::Lock;
  pybind11::object mode_;
};

}  // namespace c10

namespace at {

inline optional<Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? optional<Device>(tensor.device()) : nullopt;
}

}  // namespace at

namespace torch::cuda {

inline int64_t device_count() {
  const c10::detail::Lock lock;
  const pybind11::object module = pybind11::object::steal(PyImport_ImportModule("pellucid.cuda"));
  return module.attr("device_count")().cast<int64_t>();
}
inline bool is_available() { return device_count() > 0; }

}  // namespace torch::cuda
