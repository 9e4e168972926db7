#include "distributed/connection_bindings.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "distributed/connection.h"

namespace pellucid::distributed {

namespace {

// A message is this, the lengths of its buffers, their addresses where the receiver is to read them, the data, and the
// buffers where it is not. Numbers are of the machine's byte order, as memory of tensors is.
struct Header {
  uint64_t kind, number, num_bytes, num_buffers, num_addresses;
};
constexpr size_t kJoinedBytes = 1 << 16;  // up to here one write is cheaper than two
constexpr uint64_t kMostBuffers = 1 << 20;

struct ConnectionObject {
  PyObject_HEAD Connection* connection;
};

Connection& connection_in(PyObject* self) { return *reinterpret_cast<ConnectionObject*>(self)->connection; }

// Runs `body`, turning errors of the socket into Python's.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const std::system_error& error) {
    PyErr_SetString(PyExc_ConnectionError, error.what());
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
  return nullptr;
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject*) {
  int descriptor;
  if (!PyArg_ParseTuple(arguments, "i", &descriptor)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self) reinterpret_cast<ConnectionObject*>(self)->connection = new Connection(descriptor);
  return self;
}

void deallocate(PyObject* self) {
  delete &connection_in(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

struct Release {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

// Memory of another object, which keeps its size as long as this holds it.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() {
    if (is_held_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  bool hold(PyObject* object, int flags) { return is_held_ = PyObject_GetBuffer(object, &view_, flags) == 0; }
  char* data() const { return static_cast<char*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
  bool is_held_ = false;
};

void send_all(Connection& connection, const char* data, size_t nbytes) {
  const size_t sent = connection.send_at_once(data, nbytes);
  if (sent == nbytes) return;
  const WithoutLock unlocked;
  connection.send(data + sent, nbytes - sent);
}

void append(std::string& text, uint64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); }

// send(kind, number, data, buffers, are_to_be_read)
PyObject* send(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5 || !PyBytes_Check(arguments[2]) || !PyList_Check(arguments[3])) {
    PyErr_SetString(PyExc_TypeError, "send(kind, number, bytes, list of buffers, whether those are to be read)");
    return nullptr;
  }
  PyObject *data = arguments[2], *list = arguments[3];
  const auto nbytes = static_cast<size_t>(PyBytes_GET_SIZE(data));
  const auto num_buffers = static_cast<size_t>(PyList_GET_SIZE(list));
  const bool are_to_be_read = PyObject_IsTrue(arguments[4]);
  const Header header{PyLong_AsUnsignedLongLong(arguments[0]), PyLong_AsUnsignedLongLong(arguments[1]), nbytes,
                      num_buffers, are_to_be_read ? num_buffers : 0};
  const std::unique_ptr<Buffer[]> buffers(num_buffers ? new Buffer[num_buffers] : nullptr);
  for (size_t i = 0; i < num_buffers; ++i)
    buffers[i].hold(PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i)), PyBUF_SIMPLE);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&] {
    Connection& connection = connection_in(self);
    std::string first(reinterpret_cast<const char*>(&header), sizeof header);
    for (size_t i = 0; i < num_buffers; ++i) append(first, buffers[i].size());
    for (size_t i = 0; i < header.num_addresses; ++i) append(first, reinterpret_cast<uintptr_t>(buffers[i].data()));
    const bool is_joined = nbytes < kJoinedBytes;
    if (is_joined) first.append(PyBytes_AS_STRING(data), nbytes);
    send_all(connection, first.data(), first.size());
    if (!is_joined) send_all(connection, PyBytes_AS_STRING(data), nbytes);
    for (size_t i = 0; i < num_buffers && !are_to_be_read; ++i)
      send_all(connection, buffers[i].data(), buffers[i].size());
    return Py_NewRef(Py_None);
  });
}

// Waits until `nbytes` have arrived. False: a timeout (0: there is none), or an exception is set.
bool wait_for(Connection& connection, size_t nbytes, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (connection.has_arrived(nbytes)) return true;
  const auto start = Clock::now();
  for (double left = seconds;;) {
    {
      const WithoutLock unlocked;
      if (connection.wait_for(nbytes, left)) return true;
    }
    if (PyErr_CheckSignals() < 0) return false;
    if (seconds <= 0) continue;
    left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (left <= 0) return false;
  }
}

PyObject* take_bytes(Connection& connection, uint64_t nbytes) {
  if (nbytes <= kJoinedBytes) {
    if (!wait_for(connection, nbytes, 0)) return nullptr;
    return PyBytes_FromStringAndSize(connection.take(nbytes), static_cast<Py_ssize_t>(nbytes));
  }
  Owned bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes)));
  if (!bytes) return nullptr;
  const WithoutLock unlocked;
  connection.read_into(PyBytes_AS_STRING(bytes.get()), nbytes);
  return bytes.release();
}

PyObject* take_numbers(Connection& connection, uint64_t count) {
  if (!wait_for(connection, count * sizeof(uint64_t), 0)) return nullptr;
  PyObject* numbers = PyTuple_New(static_cast<Py_ssize_t>(count));
  for (uint64_t i = 0; numbers && i < count; ++i) {
    uint64_t number;
    std::memcpy(&number, connection.take(sizeof number), sizeof number);
    PyTuple_SET_ITEM(numbers, static_cast<Py_ssize_t>(i), PyLong_FromUnsignedLongLong(number));
  }
  return numbers;
}

PyObject* receive(PyObject* self, PyObject* seconds) {
  const double limit = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    Connection& connection = connection_in(self);
    Header header;
    if (!wait_for(connection, sizeof header, limit)) return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
    std::memcpy(&header, connection.take(sizeof header), sizeof header);
    if (header.num_buffers > kMostBuffers || header.num_addresses > header.num_buffers) {
      PyErr_SetString(PyExc_ConnectionError, "this is not a message of RPC");
      return nullptr;
    }
    const Owned lengths(take_numbers(connection, header.num_buffers));
    const Owned addresses(lengths ? take_numbers(connection, header.num_addresses) : nullptr);
    const Owned data(addresses ? take_bytes(connection, header.num_bytes) : nullptr);
    if (!data) return nullptr;
    return Py_BuildValue("KKOOO", header.kind, header.number, data.get(), lengths.get(), addresses.get());
  });
}

PyObject* read(PyObject* self, PyObject* count) {
  const size_t nbytes = PyLong_AsSize_t(count);
  if (PyErr_Occurred()) return nullptr;
  return guarded([&] { return take_bytes(connection_in(self), nbytes); });
}

PyObject* read_into(PyObject* self, PyObject* object) {
  Buffer target;
  if (!target.hold(object, PyBUF_WRITABLE)) return nullptr;
  return guarded([&] {
    const WithoutLock unlocked;
    connection_in(self).read_into(target.data(), target.size());
    return Py_NewRef(Py_None);
  });
}

PyObject* write(PyObject* self, PyObject* bytes) {
  Buffer source;
  if (!source.hold(bytes, PyBUF_SIMPLE)) return nullptr;
  return guarded([&] {
    send_all(connection_in(self), source.data(), source.size());
    return Py_NewRef(Py_None);
  });
}

PyObject* has_more(PyObject* self, PyObject*) { return PyBool_FromLong(connection_in(self).has_arrived(1)); }

PyObject* shut_down(PyObject* self, PyObject*) {
  connection_in(self).shut_down();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"send", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(send)), METH_FASTCALL, "Sends a message."},
    {"receive", receive, METH_O, "The next message; None after a timeout in seconds (0: waits without one)."},
    {"read", read, METH_O, "Reads a number of bytes."},
    {"read_into", read_into, METH_O, "Fills a buffer."},
    {"write", write, METH_O, "Sends bytes."},
    {"has_more", has_more, METH_NOARGS, "Whether the next message has begun to arrive."},
    {"shut_down", shut_down, METH_NOARGS, "Ends the connection, also for threads that wait for it."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"pellucid.distributed._distributed.Connection", sizeof(ConnectionObject), 0, Py_TPFLAGS_DEFAULT,
                    slots};

}  // namespace

bool add_connection(PyObject* module) {
  PyObject* type = PyType_FromSpec(&spec);
  return type && PyModule_AddObjectRef(module, "Connection", type) == 0;
}

}  // namespace pellucid::distributed
