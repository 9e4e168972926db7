// A device type in C++: a subclass of `Device`, which PELLUCID_DEVICE adds when the library is loaded.
//
// Needs this header and Python.h only; nothing is linked. Addresses are opaque to the runtime, which adds offsets to
// them and passes them back. Every method may be called from any thread, with or without the interpreter lock, and
// reports errors by throwing. `NoMemory` from allocate() makes the runtime release cached memory and ask once more.
// docs/devices.md says what each method means; `examples/ram_device.cpp` is a device to start from.
#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "pellucid/extension.h"

namespace pellucid::extension {

// An array that the runtime owns.
template <class T>
class List {
 public:
  List(const T* data, size_t size) : data_(data), size_(size) {}
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  const T& operator[](size_t k) const { return data_[k]; }

 private:
  const T* data_;
  size_t size_;
};

// A kernel with its whole nest, valid during the call. Outputs come first; the first `num_stored` axes index the
// results. `id` names the kernel: compile its text once and keep the result by the id.
struct Kernel {
  static constexpr size_t kIdBytes = 16;
  const char* op;
  const uint8_t* id;
  int32_t num_stored, num_outputs;
  List<int64_t> extents;
  List<LaunchedOperand> operands;
  List<uint64_t> params;
  int64_t stream;

  // Waits for the interpreter lock when a kernel is new: hold no lock of your own that a method needs.
  // "map (f32) () -> (f32)" and a line per instruction; the first word is the form. Empty: nothing defines it.
  std::string_view text() const { return table()->kernel_text(id); }
  std::string_view form() const { return text().substr(0, text().find(' ')); }
};

struct NoMemory : Error {
  using Error::Error;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual uint64_t allocate(int device, size_t nbytes) = 0;
  virtual void release(int device, uint64_t address, size_t nbytes) = 0;
  virtual void to_host(int device, void* into, uint64_t address, size_t nbytes, int64_t stream) = 0;
  virtual void from_host(int device, uint64_t address, const void* data, size_t nbytes, int64_t stream) = 0;
  // False leaves the kernel to the CPU.
  virtual bool launch(int /*device*/, const Kernel&) { return false; }
  virtual void synchronize(int /*device*/) {}
  // For devices with `has_streams`. Stream 0 is every device's default; an event is any number.
  virtual int64_t new_stream(int /*device*/) { throw Error("new_stream is not implemented"); }
  virtual uint64_t record(int /*device*/, int64_t /*stream*/) { throw Error("record is not implemented"); }
  virtual void wait(int /*device*/, int64_t /*stream*/, uint64_t /*event*/) { throw Error("wait is not implemented"); }
  virtual bool is_done(int /*device*/, uint64_t /*event*/) { throw Error("is_done is not implemented"); }
  virtual void finish(int /*device*/, uint64_t /*event*/) { throw Error("finish is not implemented"); }
  virtual double elapsed(int /*device*/, uint64_t, uint64_t) { throw Error("elapsed is not implemented"); }
};

namespace detail {

inline Device& device_of(void* self) { return *static_cast<Device*>(self); }

// Runs a method for the table; an exception becomes a status and a message.
template <class Body>
int reported(DeviceMessage* message, Body&& body) {
  const auto note = [&](const char* text) { std::snprintf(message->text, sizeof message->text, "%s", text); };
  try {
    return body();
  } catch (const NoMemory& error) {
    note(error.what());
    return kDeviceNoMemory;
  } catch (const std::bad_alloc&) {
    note("the CPU has no memory left");
    return kDeviceNoMemory;
  } catch (const std::exception& error) { note(error.what()); } catch (...) {
    note("an exception of an unknown type");
  }
  return kDeviceFailed;
}

inline int launch(void* self, const LaunchedKernel* given, DeviceMessage* message) {
  return reported(message, [&] {
    const Kernel kernel{given->op,
                        given->kernel_id,
                        given->num_stored,
                        given->num_outputs,
                        {given->extents, given->num_extents},
                        {given->operands, given->num_operands},
                        {given->params, given->num_params},
                        given->stream};
    return device_of(self).launch(given->device, kernel) ? kDeviceDone : kDeviceDeclined;
  });
}

// A method as an entry of the table: its results go to `out`, if it has any.
template <auto Method, class Out, class... Arguments>
int give(void* self, int32_t device, Arguments... arguments, Out* out, DeviceMessage* message) {
  return reported(message, [&] {
    *out = static_cast<Out>((device_of(self).*Method)(device, arguments...));
    return kDeviceDone;
  });
}
template <auto Method, class... Arguments>
int run(void* self, int32_t device, Arguments... arguments, DeviceMessage* message) {
  return reported(message, [&] {
    (device_of(self).*Method)(device, arguments...);
    return kDeviceDone;
  });
}

}  // namespace detail

// How memory is handed out, as in pellucid.devices.Backend.
struct DeviceOptions {
  int count = 1;
  bool has_streams = false;
  DevicePolicy pool = DevicePolicy::None;
  size_t alignment = 1, padding = 0, segment = size_t{1} << 20;
  bool poison = false;
};

// Makes `name` a device type for the life of the process. Call it with the interpreter lock held, as a static
// initializer or a module's init function does. Throws what the runtime refuses.
inline void add_device(const char* name, std::unique_ptr<Device> device, const DeviceOptions& options = {}) {
  if (!table() && !connect()) throw Error("pellucid is not there");
  const DeviceTable made{
      name,
      options.count,
      options.has_streams,
      options.pool,
      options.poison,
      options.alignment,
      options.padding,
      options.segment,
      device.release(),  // the runtime calls it until the process ends, even if a later step of adding it fails
      detail::give<&Device::allocate, uint64_t, size_t>,
      detail::run<&Device::release, uint64_t, size_t>,
      detail::run<&Device::to_host, void*, uint64_t, size_t, int64_t>,
      detail::run<&Device::from_host, uint64_t, const void*, size_t, int64_t>,
      detail::launch,
      detail::run<&Device::synchronize>,
      detail::give<&Device::new_stream, int64_t>,
      detail::give<&Device::record, uint64_t, int64_t>,
      detail::run<&Device::wait, int64_t, uint64_t>,
      detail::give<&Device::is_done, bool, uint64_t>,
      detail::run<&Device::finish, uint64_t>,
      detail::give<&Device::elapsed, double, uint64_t, uint64_t>,
  };
  check(table()->add_device(&made));
}

// Adds a device type when the library is loaded; whoever loads it gets the error.
class DeviceRegistration {
 public:
  DeviceRegistration(const char* name, std::unique_ptr<Device> device, const DeviceOptions& options = {}) {
    const PyGILState_STATE state = PyGILState_Ensure();
    try {
      add_device(name, std::move(device), options);
    } catch (const std::exception&) { note_failure(); }
    PyGILState_Release(state);
  }

 private:
  static void note_failure() {
    if (!PyErr_Occurred() && table()) table()->set_python_error();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* const module = PyImport_ImportModule("pellucid.utils._cpp.loading");
    PyObject* const done = module ? PyObject_CallMethod(module, "note_failure", "O", value) : nullptr;
    if (!done) PyErr_Print();
    for (PyObject* object : {type, value, traceback, module, done}) Py_XDECREF(object);
  }
};

}  // namespace pellucid::extension

// PELLUCID_DEVICE("ram", Ram, 2): `Ram` is a subclass of Device; what follows initialises DeviceOptions.
#define PELLUCID_DEVICE(name, Class, ...)                                       \
  static const pellucid::extension::DeviceRegistration pellucid_device_##Class( \
      name, std::make_unique<Class>(), pellucid::extension::DeviceOptions{__VA_ARGS__})
