#include "core/backend.h"

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

FORK_SAFE ForkSafeMutex adding;

constexpr int kFirst = static_cast<int>(DeviceType::PrivateUse);
constexpr int kUserTypes = static_cast<int>(DeviceType::PrivateUse3) - kFirst + 1;
constexpr int kCuda = kUserTypes;  // its slot
constexpr int kCount = kUserTypes + 1;

std::atomic<Backend*> backends[kCount];              // never destroyed: storages release memory until the process ends
std::atomic<FoundBackend (*)()> find_cuda{nullptr};  // null once its backend is installed
std::atomic<uint64_t> device_seed{Generator::kDefaultSeed};  // of generators to come
std::string* cuda_reason;                                    // why there is none; set under `adding`
constinit thread_local int8_t current[kCount] = {};
using Streams = std::array<std::array<int32_t, INT8_MAX + 1>, kCount>;
thread_local std::unique_ptr<Streams>
    streams;  // current streams, by type and index; null: the first stream of each device

int slot_of(DeviceType type) { return type == DeviceType::CUDA ? kCuda : static_cast<int>(type) - kFirst; }
bool has_slot(DeviceType type) { return type == DeviceType::CUDA || is_user_device(type); }

Backend* install(DeviceType type, std::unique_ptr<Backend> backend, const PoolOptions& pool) {
  backend->type = type;
  backend->pool = new DevicePool(*backend, pool);
  const int generators = backend->has_generators() ? backend->device_count() : 0;
  for (int index = 0; index < generators; ++index)
    backend->generators.push_back(
        Ref<PhiloxGenerator>::adopt(new PhiloxGenerator({type, static_cast<int8_t>(index)}, device_seed)));
  Backend* const installed = backend.release();
  backends[slot_of(type)].store(installed, std::memory_order_release);
  return installed;
}

[[gnu::cold]] Backend* look_for_cuda() {
  const std::lock_guard lock(adding);
  const auto find = find_cuda.load(std::memory_order_relaxed);
  if (!find) return backends[kCuda].load(std::memory_order_acquire);
  FoundBackend found = find();
  cuda_reason = new std::string(std::move(found.why_not));
  Backend* const installed = found.backend ? install(DeviceType::CUDA, std::move(found.backend), found.pool) : nullptr;
  find_cuda.store(nullptr, std::memory_order_release);  // last: other threads wait for `adding` until then
  return installed;
}

std::optional<DeviceType> free_type(std::string_view name, std::optional<DeviceType> wanted) {
  const std::optional<DeviceType> named = find_device_type(name);
  if (!named) return wanted ? wanted : unnamed_user_device();
  if (!is_user_device(*named))
    raise(ErrorKind::Runtime, "a backend cannot be named '%.*s': this is one of PyTorch's device types",
          static_cast<int>(name.size()), name.data());
  if (find_backend(*named))
    raise(ErrorKind::Runtime, "the device type '%.*s' already has a backend; register it once per process",
          static_cast<int>(name.size()), name.data());
  return named;
}

}  // namespace

void Backend::begin_capture(Device device, int64_t, int) {
  raise(ErrorKind::NotImplemented, "%s records no graphs", device_name(device).c_str());
}

void Backend::copy_within(Device device, uint64_t to, uint64_t from, size_t nbytes) {
  std::vector<char> bytes(nbytes);
  to_host(device, bytes.data(), from, nbytes);
  from_host(device, to, bytes.data(), nbytes);
}

DeviceType add_backend(std::string_view name, std::unique_ptr<Backend> backend, std::optional<DeviceType> wanted,
                       const PoolOptions& pool) {
  const std::lock_guard lock(adding);
  const std::optional<DeviceType> type = free_type(name, wanted);
  if (!type)
    raise(ErrorKind::Runtime, "no device type is left for the backend '%.*s': a process has at most %d",
          static_cast<int>(name.size()), name.data(), kUserTypes);
  name_user_backend(name, *type);
  install(*type, std::move(backend), pool);
  return *type;
}

Backend* find_backend(DeviceType type) {
  if (!has_slot(type)) return nullptr;
  if (type == DeviceType::CUDA && find_cuda.load(std::memory_order_acquire)) [[unlikely]]
    return look_for_cuda();
  return backends[slot_of(type)].load(std::memory_order_acquire);
}

void find_cuda_with(FoundBackend (*find)()) { find_cuda.store(find, std::memory_order_release); }

std::string why_no_cuda() {
  find_backend(DeviceType::CUDA);
  const std::lock_guard lock(adding);
  return cuda_reason ? *cuda_reason : std::string();
}

Backend& backend_of(Device device) {
  Backend* const backend = find_backend(device.type);
  if (!backend) raise_absent_device(device);
  return *backend;
}

int current_device(DeviceType type) { return find_backend(type) ? current[slot_of(type)] : 0; }

Device with_index(Device device) {
  Backend* const backend = find_backend(device.type);
  if (device.type == DeviceType::CPU || device.type == DeviceType::Meta) return {device.type};
  if (!backend) return device;
  if (device.index < 0) return {device.type, current[slot_of(device.type)]};
  if (const int count = backend->device_count(); device.index >= count)
    raise(ErrorKind::Runtime, "invalid device ordinal: %s was given, and there are %d devices of this type",
          device_name(device).c_str(), count);
  return device;
}

void set_current_device(Device device) {
  static_cast<void>(backend_of(device));
  current[slot_of(device.type)] = with_index(device).index;
}

int64_t current_stream(Device device) {
  if (!streams || !has_slot(device.type) || device.index < 0) return 0;
  return (*streams)[static_cast<size_t>(slot_of(device.type))][static_cast<size_t>(device.index)];
}

void set_current_stream(Device device, int64_t stream) {
  if (!streams) streams = std::make_unique<Streams>();
  (*streams)[static_cast<size_t>(slot_of(device.type))][static_cast<size_t>(device.index)] =
      static_cast<int32_t>(stream);
}

Generator& default_generator(Device device) {
  Backend* const backend = find_backend(device.type);
  if (!backend || backend->generators.empty()) return default_generator();
  return *backend->generators[static_cast<size_t>(with_index(device).index)];
}

void seed_device_generators(uint64_t seed) {
  const std::lock_guard lock(adding);
  device_seed = seed;
  for (const std::atomic<Backend*>& backend : backends)
    if (Backend* const known = backend.load(std::memory_order_acquire))
      for (const Ref<PhiloxGenerator>& generator : known->generators) generator->manual_seed(seed);
}

Key key_of_device(DeviceType type) {
  if (type == DeviceType::CUDA) return Key::CUDA;
  return static_cast<Key>(static_cast<int>(Key::PrivateUse1) + slot_of(type));
}

void clear_storage(Storage& storage) {
  if (storage.host) {
    std::memset(storage.host, 0, storage.nbytes);
  } else if (storage.nbytes && find_backend(storage.device.type)) {
    const std::vector<char> zeros(storage.nbytes);
    write_storage(storage, zeros.data(), zeros.size());
  }
}

void write_storage(Storage& storage, const void* bytes, size_t nbytes) {
  if (storage.host) std::memcpy(storage.host, bytes, nbytes);
  else if (Backend* const backend = find_backend(storage.device.type))
    backend->from_host(storage.device, storage.device_address, bytes, nbytes);
}

void read_storage(const Storage& storage, void* bytes, size_t nbytes) {
  if (!nbytes) return;
  if (storage.host) std::memcpy(bytes, storage.host, nbytes);
  else backend_of(storage.device).to_host(storage.device, bytes, storage.device_address, nbytes);
}

void require_device(Device device) {
  if (device.type == DeviceType::CPU || device.type == DeviceType::Meta) return;
  static_cast<void>(backend_of(device));
}

}  // namespace pellucid
