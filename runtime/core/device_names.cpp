#include "core/device_names.h"

#include <charconv>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

constexpr std::string_view kUnnamed = "privateuseone";
constexpr int kUserBackends = 3;
constexpr std::string_view kUnnamedOnes[kUserBackends] = {kUnnamed, "privateusetwo", "privateusethree"};

// In the order of PyTorch's error messages, which programs parse.
constexpr std::pair<std::string_view, DeviceType> kNames[] = {
    {"cpu", DeviceType::CPU},       {"cuda", DeviceType::CUDA},        {"ipu", DeviceType::IPU},
    {"xpu", DeviceType::XPU},       {"mkldnn", DeviceType::MKLDNN},    {"opengl", DeviceType::OpenGL},
    {"opencl", DeviceType::OpenCL}, {"ideep", DeviceType::IDEEP},      {"hip", DeviceType::HIP},
    {"ve", DeviceType::VE},         {"fpga", DeviceType::FPGA},        {"maia", DeviceType::MAIA},
    {"xla", DeviceType::XLA},       {"lazy", DeviceType::Lazy},        {"vulkan", DeviceType::Vulkan},
    {"mps", DeviceType::MPS},       {"meta", DeviceType::Meta},        {"hpu", DeviceType::HPU},
    {"mtia", DeviceType::MTIA},     {kUnnamed, DeviceType::PrivateUse}};

FORK_SAFE ForkSafeMutex mutex;
struct UserBackends {
  std::string names[kUserBackends];  // empty: unnamed
};
UserBackends& user_backends() {
  static auto* backends = new UserBackends;
  return *backends;
}

int slot_of(DeviceType type) { return static_cast<int>(type) - static_cast<int>(DeviceType::PrivateUse); }
DeviceType user_device(int slot) { return static_cast<DeviceType>(static_cast<int>(DeviceType::PrivateUse) + slot); }

std::string chosen_name(DeviceType type) {
  const std::lock_guard lock(mutex);
  return user_backends().names[slot_of(type)];
}

}  // namespace

std::string device_type_name(DeviceType type) {
  if (is_user_device(type)) {
    std::string chosen = chosen_name(type);
    return chosen.empty() ? std::string(kUnnamedOnes[slot_of(type)]) : chosen;
  }
  for (const auto& [name, candidate] : kNames)
    if (candidate == type) return std::string(name);
  return "metal";
}

std::string device_name(Device device) {
  std::string name = device_type_name(device.type);
  if (device.index >= 0) name += ":" + std::to_string(device.index);
  return name;
}

bool is_user_device(DeviceType type) { return type >= DeviceType::PrivateUse && type <= DeviceType::PrivateUse3; }

std::optional<DeviceType> unnamed_user_device() {
  const std::lock_guard lock(mutex);
  for (int slot = 0; slot < kUserBackends; ++slot)
    if (user_backends().names[slot].empty()) return user_device(slot);
  return std::nullopt;
}

std::optional<DeviceType> find_device_type(std::string_view text) {
  for (const auto& [name, type] : kNames)
    if (name == text) return type;
  if (text.empty()) return std::nullopt;
  for (int slot = 0; slot < kUserBackends; ++slot)
    if (text == chosen_name(user_device(slot))) return user_device(slot);
  return std::nullopt;
}

Device parse_device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<DeviceType> type = find_device_type(text.substr(0, colon));
  if (!type)
    // Libraries read the list of device types from this message.
    raise(ErrorKind::Runtime,
          "Expected one of %s device type at start of device string: %.*s\n"
          "An index may follow the type, as in \"cuda:1\".",
          device_type_names().c_str(), static_cast<int>(text.size()), text.data());
  Device device{*type};
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = text.substr(colon + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool canonical = digits.size() == 1 || (!digits.empty() && digits[0] != '0');
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0 || index > 127 || !canonical) {
    raise(ErrorKind::Runtime, "Invalid device string: '%.*s': expected a number 0..127 after the colon",
          static_cast<int>(text.size()), text.data());
  }
  device.index = static_cast<int8_t>(index);
  return device;
}

std::string device_type_names() {
  std::string all;
  for (const auto& [name, type] : kNames) all.append(all.empty() ? "" : ", ").append(device_type_name(type));
  return all;
}

void name_user_backend(std::string_view name, DeviceType type) {
  const std::string present = chosen_name(type);
  if (!present.empty() && present != name)
    raise(ErrorKind::Runtime, "torch.register_privateuse1_backend() has already been set! Current backend: %s",
          present.c_str());
  for (const auto& named : kNames)
    if (named.first == name && name != kUnnamed)
      raise(ErrorKind::Runtime, "Cannot register privateuse1 backend with in-tree device name: %.*s",
            static_cast<int>(name.size()), name.data());
  const std::lock_guard lock(mutex);
  user_backends().names[slot_of(type)] = name;
}

}  // namespace pellucid
