#include "python/extension_device.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/device_names.h"
#include "core/given_blocks.h"
#include "kernels/device_launch.h"
#include "ops/device_op.h"
#include "pellucid/device.h"
#include "python/contexts.h"
#include "python/passing_error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::python {
namespace {

using extension::DeviceMessage;
using extension::DeviceTable;

std::atomic<bool> is_traced{false};  // whether a log of launches is open

FORK_SAFE ForkSafeMutex mutex;  // of the blocks of all devices, and of the texts

// Lets other threads run Python while a device copies or waits.
std::optional<ReleaseGil> free_gil() {
  return PyGILState_Check() ? std::optional<ReleaseGil>(std::in_place) : std::optional<ReleaseGil>();
}

constexpr bool are_same(extension::DevicePolicy given, PoolPolicy own) {
  return static_cast<int>(given) == static_cast<int>(own);
}
static_assert(are_same(extension::DevicePolicy::None, PoolPolicy::None));
static_assert(are_same(extension::DevicePolicy::BestFit, PoolPolicy::BestFit));
static_assert(are_same(extension::DevicePolicy::FirstFit, PoolPolicy::FirstFit));
static_assert(are_same(extension::DevicePolicy::SizeClasses, PoolPolicy::SizeClasses));
static_assert(extension::Kernel::kIdBytes == kKernelIdBytes);

// The texts of kernels by their ids, never freed. Used with the mutex held.
std::map<std::string, std::string>& texts() {
  static auto* const made = new std::map<std::string, std::string>;
  return *made;
}

// A Backend over the functions of an extension. Every method's error names it and the device.
class ExtensionDevice final : public Backend {
 public:
  explicit ExtensionDevice(const DeviceTable& table) : table_(table), name_(table.name) {}

  int device_count() override { return table_.count; }

  uint64_t allocate(Device device, size_t nbytes) override {
    uint64_t address = 0;
    DeviceMessage message{};
    const int status = table_.allocate(table_.self, device.index, nbytes, &address, &message);
    if (status == extension::kDeviceNoMemory)
      throw DeviceMemoryError(device_name(device) + " has no memory for " + std::to_string(nbytes) +
                              " bytes: " + message.text);
    check("allocate", device, status, message);
    const std::lock_guard lock(mutex);
    blocks_.add(device, address, nbytes);
    return address;
  }

  void release(Device device, uint64_t address, size_t nbytes) noexcept override {
    if (!is_alive()) return;
    {
      const std::lock_guard lock(mutex);
      blocks_.remove(device, address);
    }
    DeviceMessage message{};
    if (table_.release(table_.self, device.index, address, nbytes, &message) != extension::kDeviceDone)
      std::fprintf(stderr, "%s\n", failure("release", device, message).c_str());
  }

  void to_host(Device device, void* to, uint64_t from, size_t nbytes) override {
    const auto waiting = free_gil();
    run("to_host", device, table_.to_host, to, from, nbytes, current_stream(device));
  }
  void from_host(Device device, uint64_t to, const void* from, size_t nbytes) override {
    const auto waiting = free_gil();
    run("from_host", device, table_.from_host, to, from, nbytes, current_stream(device));
  }

  bool launches_kernels() const override { return true; }

  std::optional<int64_t> launch(const Launch& given) override {
    std::vector<extension::LaunchedOperand> operands;
    for (const LaunchOperand& operand : given.operands)
      operands.push_back({operand.address, pellucid::name(operand.dtype).data(), operand.sizes.data(),
                          operand.strides.data(), operand.sizes.size()});
    const extension::LaunchedKernel kernel{given.op,
                                           given.kernel.id.data(),
                                           given.device.index,
                                           given.num_stored,
                                           given.num_outputs,
                                           current_stream(given.device),
                                           given.extents.data(),
                                           operands.data(),
                                           given.params.data(),
                                           given.extents.size(),
                                           operands.size(),
                                           given.params.size()};
    DeviceMessage message{};
    const int status = table_.launch(table_.self, &kernel, &message);
    const bool is_declined = status == extension::kDeviceDeclined;
    if (status != extension::kDeviceDone && !is_declined)
      raise(ErrorKind::Runtime, "%s\nThe kernel was of %s.", failure("launch", given.device, message).c_str(),
            given.op);
    if (launches_are_traced()) [[unlikely]]
      log_extension_launch(given.op, given.kernel.id.data(), given.device, is_declined);
    return is_declined ? std::nullopt : std::optional<int64_t>(0);
  }

  void note_fallback(const std::string& op, const char* kernel) override {
    if (launches_are_traced()) log_extension_fallback(name_.c_str(), op, kernel);
  }

  void synchronize(Device device) override {
    const auto waiting = free_gil();
    run("synchronize", device, table_.synchronize);
  }

  bool has_streams() const override { return table_.has_streams; }
  bool is_alive() const override { return !_Py_IsFinalizing(); }

  int64_t new_stream(Device device, int) override { return give<int64_t>("new_stream", device, table_.new_stream); }
  uint64_t record(Device device, int64_t stream) override {
    return give<uint64_t>("record", device, table_.record, stream);
  }
  void wait(Device device, int64_t stream, uint64_t event) override { run("wait", device, table_.wait, stream, event); }
  bool is_done(Device device, uint64_t event) override { return give<bool>("is_done", device, table_.is_done, event); }
  void finish(Device device, uint64_t event) override {
    const auto waiting = free_gil();
    run("finish", device, table_.finish, event);
  }
  double elapsed(Device device, uint64_t first, uint64_t second) override {
    return give<double>("elapsed", device, table_.elapsed, first, second);
  }

 private:
  std::string failure(const char* method, Device device, const DeviceMessage& message) const {
    return name_ + "'s " + method + "() for " + device_name(device) + ": " + message.text;
  }
  void check(const char* method, Device device, int status, const DeviceMessage& message) const {
    if (status != extension::kDeviceDone) raise(ErrorKind::Runtime, "%s", failure(method, device, message).c_str());
  }

  template <class Function, class... Arguments>
  void run(const char* method, Device device, Function function, Arguments... arguments) const {
    DeviceMessage message{};
    check(method, device, function(table_.self, device.index, arguments..., &message), message);
  }
  template <class Result, class Function, class... Arguments>
  Result give(const char* method, Device device, Function function, Arguments... arguments) const {
    DeviceMessage message{};
    Result result{};
    check(method, device, function(table_.self, device.index, arguments..., &result, &message), message);
    return result;
  }

  const DeviceTable table_;
  const std::string name_;
  GivenBlocks blocks_;
};

}  // namespace

void add_extension_device(const DeviceTable& table) {
  static constinit LateImport require_name("pellucid.devices", "_require_name");
  static constinit LateImport install("pellucid.devices", "_install");
  own(PyObject_CallFunction(require_name.get(), "si", table.name, table.count));
  if (!std::has_single_bit(table.alignment))
    raise(ErrorKind::Value, "%s: alignment must be a power of two, not %llu", table.name,
          static_cast<unsigned long long>(table.alignment));
  const PoolOptions pool{static_cast<PoolPolicy>(table.pool),
                         static_cast<size_t>(table.alignment),
                         static_cast<size_t>(table.padding),
                         static_cast<size_t>(table.segment),
                         table.poison,
                         0};
  serve_ops_on(add_backend(table.name, std::make_unique<ExtensionDevice>(table), {}, pool));
  own(PyObject_CallFunction(install.get(), "s", table.name));
}

void trace_extension_devices(bool enabled) { is_traced.store(enabled, std::memory_order_relaxed); }
bool launches_are_traced() { return is_traced.load(std::memory_order_relaxed); }

void log_extension_launch(const char* op, const uint8_t* kernel_id, Device device, bool is_declined) {
  const char* const text = extension_kernel_text(kernel_id);
  const HoldGil gil;
  static constinit LateImport log_launch("pellucid.devices.launching", "log_launch");
  own(PyObject_CallFunction(log_launch.get(), "sssi", op, text, device_name(device).c_str(), is_declined));
}

void log_extension_fallback(const char* name, const std::string& op, const char* kernel) {
  const HoldGil gil;
  static constinit LateImport log_fallback("pellucid.devices.launching", "log_fallback");
  own(PyObject_CallFunction(log_fallback.get(), "sss", name, op.c_str(), kernel));
}

void log_extension_op(const std::string& op, const char* library, Device device) {
  const HoldGil gil;
  static constinit LateImport log_launch("pellucid.devices.launching", "log_launch");
  own(PyObject_CallFunction(log_launch.get(), "sssi", op.c_str(), library, device_name(device).c_str(), 0));
}

const char* extension_kernel_text(const uint8_t* kernel_id) {
  const std::string id(reinterpret_cast<const char*>(kernel_id), kKernelIdBytes);
  {
    const std::lock_guard lock(mutex);
    if (const auto known = texts().find(id); known != texts().end()) return known->second.c_str();
  }
  const HoldGil gil;
  const PassingError passing;
  static constinit LateImport text_of("pellucid.devices.launching", "text_of");
  std::string text;
  try {
    const Object found = own(PyObject_CallFunction(text_of.get(), "y#", id.data(), static_cast<Py_ssize_t>(id.size())));
    const char* const given = PyUnicode_AsUTF8(found.get());
    if (!given) raise_python();
    text = given;
  } catch (const Error&) {
    // Reported here, as a device is between this function and Python; an interrupt is raised once that has returned.
    if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return PyErr_WriteUnraisable(nullptr), "";
    PyErr_Clear();
    return PyErr_SetInterrupt(), "";
  }
  const std::lock_guard lock(mutex);
  return texts().emplace(id, std::move(text)).first->second.c_str();
}

}  // namespace pellucid::python
