#include "core/device_names.h"

#include <mutex>
#include <utility>

#include "core/error.h"

namespace pellucid {
namespace {

constexpr std::string_view kUnnamed = "privateuseone";

// In the order in which PyTorch's errors list them; programs read the list.
constexpr std::pair<std::string_view, DeviceType> kNames[] = {
    {"cpu", DeviceType::CPU},       {"cuda", DeviceType::CUDA},        {"ipu", DeviceType::IPU},
    {"xpu", DeviceType::XPU},       {"mkldnn", DeviceType::MKLDNN},    {"opengl", DeviceType::OpenGL},
    {"opencl", DeviceType::OpenCL}, {"ideep", DeviceType::IDEEP},      {"hip", DeviceType::HIP},
    {"ve", DeviceType::VE},         {"fpga", DeviceType::FPGA},        {"maia", DeviceType::MAIA},
    {"xla", DeviceType::XLA},       {"lazy", DeviceType::Lazy},        {"vulkan", DeviceType::Vulkan},
    {"mps", DeviceType::MPS},       {"meta", DeviceType::Meta},        {"hpu", DeviceType::HPU},
    {"mtia", DeviceType::MTIA},     {kUnnamed, DeviceType::PrivateUse}};

struct UserBackend {
  std::mutex mutex;
  std::string name;  // empty: unnamed
};
UserBackend& user_backend() {
  static auto* backend = new UserBackend;
  return *backend;
}

std::string chosen_name() {
  const std::lock_guard lock(user_backend().mutex);
  return user_backend().name;
}

}  // namespace

std::string device_type_name(DeviceType type) {
  if (type == DeviceType::PrivateUse)
    if (std::string chosen = chosen_name(); !chosen.empty()) return chosen;
  for (const auto& [name, candidate] : kNames)
    if (candidate == type) return std::string(name);
  return "metal";
}

std::optional<DeviceType> find_device_type(std::string_view text) {
  for (const auto& [name, type] : kNames)
    if (name == text) return type;
  if (!text.empty() && text == chosen_name()) return DeviceType::PrivateUse;
  return std::nullopt;
}

std::string device_type_names() {
  std::string all;
  for (const auto& [name, type] : kNames) all.append(all.empty() ? "" : ", ").append(device_type_name(type));
  return all;
}

void name_user_backend(std::string_view name) {
  const std::string present = chosen_name();
  if (!present.empty() && present != name)
    raise(ErrorKind::Runtime, "torch.register_privateuse1_backend() has already been set! Current backend: %s",
          present.c_str());
  for (const auto& [known, type] : kNames)
    if (known == name && known != kUnnamed)
      raise(ErrorKind::Runtime, "Cannot register privateuse1 backend with in-tree device name: %.*s",
            static_cast<int>(name.size()), name.data());
  const std::lock_guard lock(user_backend().mutex);
  user_backend().name = name;
}

}  // namespace pellucid
