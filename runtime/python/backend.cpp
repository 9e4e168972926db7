// Backends written in Python, and queries on any backend. The public API is pellucid/devices.
#include "core/backend.h"

#include <map>
#include <mutex>
#include <type_traits>

#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/given_blocks.h"
#include "device/twin.h"
#include "kernels/device_launch.h"
#include "ops/device_op.h"
#include "python/contexts.h"
#include "python/device_streams.h"
#include "python/extension_device.h"
#include "python/passing_error.h"
#include "python/types.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::python {
namespace {

FORK_SAFE ForkSafeMutex mutex;  // of the blocks of all backends

// A Backend that calls the methods of a Python object, which is never freed.
class PythonBackend final : public Backend {
 public:
  struct Abilities {
    bool launches, streams, generators, guards;
  };
  PythonBackend(Object methods, std::string name, int count, Abilities can)
      : methods_(methods.leak()), name_(std::move(name)), count_(count), can_(can) {}

  int device_count() override { return count_; }

  uint64_t allocate(Device device, size_t nbytes) override {
    const HoldGil gil;
    Object given =
        Object::steal(PyObject_CallMethod(methods_, "allocate", "in", device.index, static_cast<Py_ssize_t>(nbytes)));
    if (!given && PyErr_ExceptionMatches(PyExc_MemoryError)) raise_out_of_memory(device, nbytes);
    given = returned("allocate", device, given.leak());
    const uint64_t address = PyLong_Check(given.get()) ? PyLong_AsUnsignedLongLong(given.get()) : 0;
    if (PyErr_Occurred()) PyErr_Clear();
    if (!address || address == UINT64_MAX)
      raise(ErrorKind::Runtime, "%s: allocate(%d, %zu) returned %s; expected the address of the bytes, a positive int",
            name_.c_str(), device.index, nbytes, text_of(given.get()).c_str());
    const std::lock_guard lock(mutex);
    blocks_.add(device, address, nbytes);
    return address;
  }

  void release(Device device, uint64_t address, size_t nbytes) noexcept override {
    if (_Py_IsFinalizing()) return;
    const HoldGil gil;
    {
      const std::lock_guard lock(mutex);
      blocks_.remove(device, address);
    }
    const PassingError passing;
    Object done =
        Object::steal(PyObject_CallMethod(methods_, "release", "iKn", device.index,
                                          static_cast<unsigned long long>(address), static_cast<Py_ssize_t>(nbytes)));
    if (!done) PyErr_WriteUnraisable(methods_);
  }

  void to_host(Device device, void* to, uint64_t from, size_t nbytes) override {
    const HoldGil gil;
    copy("to_host", device, from,
         own(PyMemoryView_FromMemory(static_cast<char*>(to), Py_ssize_t(nbytes), PyBUF_WRITE)));
  }

  void from_host(Device device, uint64_t to, const void* from, size_t nbytes) override {
    const HoldGil gil;
    const PassingError passing;  // freed memory may be filled while an error propagates
    char* const bytes = const_cast<char*>(static_cast<const char*>(from));
    copy("from_host", device, to, own(PyMemoryView_FromMemory(bytes, Py_ssize_t(nbytes), PyBUF_READ)));
  }

  void copy_within(Device device, uint64_t to, uint64_t from, size_t nbytes) override {
    const int64_t origin = captured(device);
    if (origin < 0) return Backend::copy_within(device, to, from, nbytes);
    const HoldGil gil;
    static constinit LateImport add_copy("pellucid.devices.recording", "add_copy");
    own(PyObject_CallFunction(add_copy.get(), "OiLKKn", methods_, device.index, static_cast<long long>(origin),
                              static_cast<unsigned long long>(to), static_cast<unsigned long long>(from),
                              static_cast<Py_ssize_t>(nbytes)));
  }

  bool launches_kernels() const override { return can_.launches; }
  bool has_generators() const override { return can_.generators; }
  bool takes_guards() const override { return can_.guards; }

  std::optional<int64_t> launch(const Launch& given) override {
    const HoldGil gil;
    static constinit LateImport receive("pellucid.devices.launching", "receive");
    Object operands = own(PyTuple_New(static_cast<Py_ssize_t>(given.operands.size())));
    for (size_t k = 0; k < given.operands.size(); ++k) {
      const LaunchOperand& operand = given.operands[k];
      PyTuple_SET_ITEM(operands.get(), k,
                       checked(Py_BuildValue("(KsNNLLN)", static_cast<unsigned long long>(operand.address),
                                             std::string(pellucid::name(operand.dtype)).c_str(), numbers(operand.sizes),
                                             numbers(operand.strides), static_cast<long long>(operand.offset),
                                             static_cast<long long>(operand.num_bytes), guards_of(operand))));
    }
    Object ran = own(PyObject_CallFunction(
        receive.get(), "Osy#iNiONLL", methods_, given.op, reinterpret_cast<const char*>(given.kernel.id.data()),
        static_cast<Py_ssize_t>(given.kernel.id.size()), given.device.index, numbers(given.extents), given.num_stored,
        operands.get(), numbers(given.params), static_cast<long long>(current_stream(given.device)),
        static_cast<long long>(captured(given.device))));
    if (ran.get() == Py_None) return std::nullopt;
    return PyLong_AsLongLong(ran.get());
  }

  void note_fallback(const std::string& op, const char* kernel) override {
    const HoldGil gil;
    static constinit LateImport fell_back("pellucid.devices.launching", "fell_back");
    own(PyObject_CallFunction(fell_back.get(), "Oss", methods_, op.c_str(), kernel));
  }

  void synchronize(Device device) override {
    const HoldGil gil;
    returned("synchronize", device, PyObject_CallMethod(methods_, "synchronize", "i", device.index));
  }

  bool has_streams() const override { return can_.streams; }
  bool is_alive() const override { return !_Py_IsFinalizing(); }

  int64_t new_stream(Device device, int) override {
    const HoldGil gil;
    return number("new_stream", device, PyObject_CallMethod(methods_, "new_stream", "i", device.index));
  }
  uint64_t record(Device device, int64_t stream) override {
    const HoldGil gil;
    const PassingError passing;
    const auto event = static_cast<uint64_t>(number(
        "record", device, PyObject_CallMethod(methods_, "record", "iL", device.index, static_cast<long long>(stream))));
    const std::optional<int64_t> origin = pool->capture_of(device, stream);
    const std::lock_guard lock(mutex);
    if (origin) captured_events_.insert_or_assign({device.index, event}, *origin);
    else captured_events_.erase({device.index, event});  // the backend may use a number again
    return event;
  }
  void wait(Device device, int64_t stream, uint64_t event) override {
    const HoldGil gil;
    if (const std::optional<int64_t> origin = captured_event(device, event))
      return pool->join_capture(device, stream, *origin);
    returned(
        "wait", device,
        PyObject_CallMethod(methods_, "wait", "iLK", device.index, static_cast<long long>(stream), event_of(event)));
  }
  bool is_done(Device device, uint64_t event) override {
    const HoldGil gil;
    refuse_captured(device, event);
    return PyObject_IsTrue(
        returned("is_done", device, PyObject_CallMethod(methods_, "is_done", "iK", device.index, event_of(event)))
            .get());
  }
  void finish(Device device, uint64_t event) override {
    const HoldGil gil;
    refuse_captured(device, event);
    returned("finish", device, PyObject_CallMethod(methods_, "finish", "iK", device.index, event_of(event)));
  }
  // Graphs are lists of launches and copies (pellucid/devices/recording.py).
  void begin_capture(Device device, int64_t stream, int) override { recording("begin", device, stream); }
  uint64_t end_capture(Device device, int64_t stream) override {
    {
      const std::lock_guard lock(mutex);
      std::erase_if(captured_events_,
                    [&](const auto& entry) { return entry.first.first == device.index && entry.second == stream; });
    }
    return recording("end", device, stream);
  }
  void replay(Device device, uint64_t graph, int64_t stream) override { recording("replay", device, stream, graph); }
  void drop_graph(Device device, uint64_t graph) noexcept override {
    if (_Py_IsFinalizing()) return;
    const HoldGil gil;
    const PassingError passing;
    try {
      recording("drop", device, 0, graph);
    } catch (...) { PyErr_WriteUnraisable(methods_); }
  }

  double elapsed(Device device, uint64_t first, uint64_t second) override {
    const HoldGil gil;
    const Object time =
        returned("elapsed", device,
                 PyObject_CallMethod(methods_, "elapsed", "iKK", device.index, event_of(first), event_of(second)));
    const double milliseconds = PyFloat_AsDouble(time.get());
    if (PyErr_Occurred()) raise_python();
    return milliseconds;
  }

 private:
  // The stream on which the capture began that the thread's stream belongs to, or -1.
  int64_t captured(Device device) const { return pool->capture_of(device, current_stream(device)).value_or(-1); }

  // The stream on which the capture began that recorded the event.
  std::optional<int64_t> captured_event(Device device, uint64_t event) const {
    const std::lock_guard lock(mutex);
    const auto found = captured_events_.find({device.index, event});
    return found == captured_events_.end() ? std::nullopt : std::optional(found->second);
  }

  // The work before an event of a capture runs when the graph is replayed, so nothing can wait for it before.
  void refuse_captured(Device device, uint64_t event) const {
    if (captured_event(device, event))
      raise(ErrorKind::Runtime,
            "%s: an event or a stream that is being captured cannot be queried or waited for.\n"
            "End the capture and replay the graph first",
            device_name(device).c_str());
  }

  uint64_t recording(const char* function, Device device, int64_t stream, uint64_t graph = 0) const {
    const HoldGil gil;
    const Object module = own(PyImport_ImportModule("pellucid.devices.recording"));
    const Object number =
        own(PyObject_CallMethod(module.get(), function, "OiLK", methods_, device.index, static_cast<long long>(stream),
                                static_cast<unsigned long long>(graph)));
    return PyLong_AsUnsignedLongLong(number.get());
  }

  static unsigned long long event_of(uint64_t event) { return event; }

  // What a method returned; the error that it raised gets a note of which method of which device that was.
  Object returned(const char* method, Device device, PyObject* result) const {
    if (result) return Object::steal(result);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const std::string note = "raised by " + name_ + "'s " + method + "() for " + device_name(device);
    if (!Object::steal(PyObject_CallMethod(value, "add_note", "s", note.c_str()))) PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    raise_python();
  }

  int64_t number(const char* method, Device device, PyObject* result) const {
    const Object given = returned(method, device, result);
    const int64_t found = PyLong_Check(given.get()) ? PyLong_AsLongLong(given.get()) : -1;
    if (found >= 0) return found;
    PyErr_Clear();
    raise(ErrorKind::Type, "%s: %s() returned %s; expected an int that is not negative", name_.c_str(), method,
          text_of(given.get()).c_str());
  }

  // ((first, size, steps), ...).
  static PyObject* guards_of(const LaunchOperand& operand) {
    Object made = own(PyTuple_New(static_cast<Py_ssize_t>(operand.guards.size())));
    for (size_t k = 0; k < operand.guards.size(); ++k) {
      const Guard& guard = operand.guards[k];
      PyTuple_SET_ITEM(made.get(), k,
                       checked(Py_BuildValue("(LLN)", static_cast<long long>(guard.first),
                                             static_cast<long long>(guard.size), numbers(guard.steps))));
    }
    return made.leak();
  }

  template <class Number>
  static PyObject* numbers(std::span<const Number> list) {
    Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
    for (size_t k = 0; k < list.size(); ++k)
      PyTuple_SET_ITEM(tuple.get(), k,
                       checked(std::is_signed_v<Number> ? PyLong_FromLongLong(static_cast<long long>(list[k]))
                                                        : PyLong_FromUnsignedLongLong(list[k])));
    return tuple.leak();
  }

  static std::string text_of(PyObject* object, PyObject* (*form)(PyObject*) = PyObject_Repr) {
    Object text = own(form(object));
    return checked_text(PyUnicode_AsUTF8(text.get()));
  }
  static const char* checked_text(const char* text) {
    if (!text) raise_python();
    return text;
  }

  // Converts Python's MemoryError to the error that PyTorch's allocators raise.
  [[noreturn]] void raise_out_of_memory(Device device, size_t nbytes) const {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const Object owned[] = {Object::steal(type), Object::steal(value), Object::steal(traceback)};
    throw DeviceMemoryError(device_name(device) + " has no memory for " + std::to_string(nbytes) +
                            " bytes: " + (value ? text_of(value, PyObject_Str) : "MemoryError"));
  }

  // The memoryview is valid only during the call; the backend must not store it.
  void copy(const char* method, Device device, uint64_t address, Object view) {
    if (captured(device) >= 0)
      raise(ErrorKind::Runtime,
            "%s: a copy from or to the CPU cannot be recorded, and the stream is being captured.\n"
            "A step that the device does not launch takes such copies; torch.devices.trace() names these steps",
            device_name(device).c_str());
    const auto place = static_cast<unsigned long long>(address);
    const auto stream = static_cast<long long>(current_stream(device));
    Object done = Object::steal(
        can_.streams ? PyObject_CallMethod(methods_, method, "iKOL", device.index, place, view.get(), stream)
                     : PyObject_CallMethod(methods_, method, "iKO", device.index, place, view.get()));
    returned(method, device, done.leak());
    own(PyObject_CallMethod(view.get(), "release", nullptr));
  }

  PyObject* const methods_;
  const std::string name_;
  const int count_;
  const Abilities can_;
  GivenBlocks blocks_;
  std::map<std::pair<int, uint64_t>, int64_t> captured_events_;  // by device; the streams of their captures
};

// _add_backend(name, count, methods, launches, streams, generators, guards,
//              (policy, alignment, padding, segment, poison, color))
PyObject* add_python_backend(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    int count;
    PyObject* methods;
    int launches, streams, generators, guards, policy, poison;
    Py_ssize_t alignment, padding, segment, color;
    if (!PyArg_ParseTuple(args, "siOpppp(innnpn):_add_backend", &name, &count, &methods, &launches, &streams,
                          &generators, &guards, &policy, &alignment, &padding, &segment, &poison, &color))
      return nullptr;
    const PoolOptions pool{static_cast<PoolPolicy>(policy),
                           static_cast<size_t>(alignment),
                           static_cast<size_t>(padding),
                           static_cast<size_t>(segment),
                           poison != 0,
                           static_cast<size_t>(color)};
    const PythonBackend::Abilities can{launches != 0, streams != 0, generators != 0, guards != 0};
    auto backend = std::make_unique<PythonBackend>(Object::borrow(methods), name, count, can);
    serve_ops_on(add_backend(name, std::move(backend), {}, pool));
    return none();
  });
}

// _add_twin(name, count)
PyObject* add_twin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    int count;
    if (!PyArg_ParseTuple(args, "si:_add_twin", &name, &count)) return nullptr;
    // The last private type: programs take the first one for the accelerator.
    serve_ops_on(add_backend(name, make_twin(count), DeviceType::PrivateUse3));
    return none();
  });
}

}  // namespace

Device device_argument(PyObject* object) {
  Device device;
  if (!to_device(object, device))
    raise(ErrorKind::Type, "a device or its name was expected, not a %s", Py_TYPE(object)->tp_name);
  return device;
}

namespace {

PyObject* has_backend(PyObject*, PyObject* device) {
  return guarded([&] { return PyBool_FromLong(find_backend(device_argument(device).type) != nullptr); });
}
PyObject* count_devices(PyObject*, PyObject* device) {
  return guarded([&] { return PyLong_FromLong(backend_of(device_argument(device)).device_count()); });
}
PyObject* get_current(PyObject*, PyObject* device) {
  return guarded([&] {
    const Device given = device_argument(device);
    static_cast<void>(backend_of(given));
    return PyLong_FromLong(current_device(given.type));
  });
}
PyObject* set_current(PyObject*, PyObject* device) {
  return guarded([&] { return set_current_device(device_argument(device)), none(); });
}
PyObject* synchronize(PyObject*, PyObject* device) {
  return guarded([&] {
    const Device given = with_index(device_argument(device));
    return backend_of(given).synchronize(given), none();
  });
}

PyObject* launches(PyObject*, PyObject* device) {
  return guarded([&] { return PyBool_FromLong(backend_of(device_argument(device)).launches_kernels()); });
}

// _backend_counts(device): (steps launched, steps that ran on the CPU).
PyObject* counts(PyObject*, PyObject* device) {
  return guarded([&] {
    const Backend& backend = backend_of(device_argument(device));
    return Py_BuildValue("KK", static_cast<unsigned long long>(backend.launches.load()),
                         static_cast<unsigned long long>(backend.fallbacks.load()));
  });
}

// _set_fallback(device, policy): 0 allow, 1 warn, 2 error.
PyObject* set_fallback(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* device;
    int policy;
    if (!PyArg_ParseTuple(args, "Oi:_set_fallback", &device, &policy)) return nullptr;
    backend_of(device_argument(device)).policy.store(static_cast<FallbackPolicy>(policy));
    return none();
  });
}

PyObject* trace_launches(PyObject*, PyObject* enabled) {
  return guarded([&] { return trace_extension_devices(PyObject_IsTrue(enabled) == 1), none(); });
}

PyMethodDef functions[] = {
    {"_trace_launches", trace_launches, METH_O, "Whether devices in C++ report their launches."},
    {"_add_backend", add_python_backend, METH_VARARGS,
     "_add_backend(name, count, methods, launches, streams, pool): a device type implemented in Python."},
    {"_add_twin", add_twin, METH_VARARGS,
     "_add_twin(name, count): the twin device, whose memory the CPU cannot access."},
    {"_has_backend", has_backend, METH_O, "Whether tensors can be made on devices of the type."},
    {"_device_count", count_devices, METH_O, "The number of devices of the type."},
    {"_current_device", get_current, METH_O, "The index of this thread's device of the type."},
    {"_set_current_device", set_current, METH_O, "Makes a device this thread's current one of its type."},
    {"_synchronize_device", synchronize, METH_O, "Waits until all work on the device is done."},
    {"_backend_launches", launches, METH_O, "Whether the device type may run kernels."},
    {"_backend_counts", counts, METH_O, "(steps launched, steps run on the CPU) of the device type."},
    {"_set_fallback", set_fallback, METH_VARARGS, "_set_fallback(device, policy): 0 allow, 1 warn, 2 error."},
    {},
};

}  // namespace

void add_backends(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  add_device_streams(module);
}

}  // namespace pellucid::python
