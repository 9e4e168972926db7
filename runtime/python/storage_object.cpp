// StorageBase: a tensor's memory as bytes, and tensors over a storage.
//
// Tensors return objects of its subclass in `storage.py`, which implements all that needs no runtime.
#include "python/storage_object.h"

#include <array>
#include <climits>
#include <cstring>
#include <vector>

#include "core/backend.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/shared_memory.h"
#include "core/storage_parts.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

struct StorageObject {
  PyObject_HEAD Storage* storage;  // owned
};

PyTypeObject storage_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

Storage& storage_of(PyObject* object) { return *reinterpret_cast<StorageObject*>(object)->storage; }

// The class of the storages that tensors return.
PyTypeObject* given_type() {
  static constinit LateImport type("pellucid.storage", "UntypedStorage");
  return reinterpret_cast<PyTypeObject*>(type.get());
}

PyObject* wrap_storage_object(Ref<Storage> storage, PyTypeObject* type = given_type()) {
  PyObject* object = checked(type->tp_alloc(type, 0));
  reinterpret_cast<StorageObject*>(object)->storage = storage.leak();
  return object;
}

// StorageBase(size) or StorageBase(bytes): zero bytes, or a copy.
PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* source = nullptr;
    if (!PyArg_ParseTuple(args, "|O:UntypedStorage", &source)) return nullptr;
    Py_buffer buffer{};
    size_t nbytes = 0;
    if (source && PyObject_CheckBuffer(source)) {
      checked(PyObject_GetBuffer(source, &buffer, PyBUF_SIMPLE));
      nbytes = static_cast<size_t>(buffer.len);
    } else if (source) {
      const Py_ssize_t size = PyNumber_AsSsize_t(source, PyExc_OverflowError);
      if (size == -1 && PyErr_Occurred()) raise_python();
      if (size < 0) raise(ErrorKind::Runtime, "UntypedStorage(): the size is negative: %zd", size);
      nbytes = static_cast<size_t>(size);
    }
    Ref<Storage> storage;
    try {
      storage = allocate_storage(nbytes);
    } catch (...) {
      if (buffer.obj) PyBuffer_Release(&buffer);
      throw;
    }
    if (buffer.obj) {
      std::memcpy(storage->host, buffer.buf, nbytes);
      PyBuffer_Release(&buffer);
    } else if (nbytes) {
      std::memset(storage->host, 0, nbytes);
    }
    return wrap_storage_object(std::move(storage), type);
  });
}

void deallocate(PyObject* self) {
  Ref<Storage>::adopt(&storage_of(self));
  Py_TYPE(self)->tp_free(self);
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_of(self).nbytes); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(storage_of(self).address()); }
PyObject* identity(PyObject* self, void*) { return PyLong_FromVoidPtr(&storage_of(self)); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(storage_of(self).device); });
}
Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(storage_of(self).nbytes); }

PyObject* get_byte(PyObject* self, Py_ssize_t index) {
  const Storage& storage = storage_of(self);
  if (index < 0 || static_cast<size_t>(index) >= storage.nbytes) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range for a storage of %zu bytes", index, storage.nbytes);
    return nullptr;
  }
  return guarded([&] {
    unsigned char byte = 0;
    if (storage.host) byte = static_cast<const unsigned char*>(storage.host)[index];
    else
      backend_of(storage.device)
          .to_host(storage.device, &byte, storage.device_address + static_cast<uint64_t>(index), 1);
    return PyLong_FromLong(byte);
  });
}

// storage[a:b]: the same memory.
PyObject* part_of(Storage& whole, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) raise_python();
  const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(whole.nbytes), &start, &stop, step);
  if (step != 1) raise(ErrorKind::Runtime, "a storage can only be sliced with step 1, not %zd", step);
  return wrap_storage_object(slice_storage(whole, static_cast<size_t>(start), static_cast<size_t>(count)));
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    if (PySlice_Check(index)) return part_of(storage_of(self), index);
    Py_ssize_t at = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (at == -1 && PyErr_Occurred()) raise_python();
    return get_byte(self, at < 0 ? at + length(self) : at);
  });
}

// from_file(filename, shared=False, nbytes=0): the file's first bytes, mapped.
PyObject* from_file(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"filename", "shared", "nbytes", nullptr};
    PyObject* path = nullptr;
    int shared = 0;
    long long requested = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pL:from_file", const_cast<char**>(names), PyUnicode_FSConverter,
                                     &path, &shared, &requested))
      return nullptr;
    const Object held = Object::steal(path);
    const size_t nbytes = requested > 0 ? static_cast<size_t>(requested) : 0;
    return wrap_storage_object(map_file(PyBytes_AS_STRING(path), shared, nbytes));
  });
}

PyObject* to_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage& storage = storage_of(self);
    Object bytes = own(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(storage.nbytes)));
    read_storage(storage, PyBytes_AS_STRING(bytes.get()), storage.nbytes);
    return bytes.leak();
  });
}

PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }

size_t to_nbytes(PyObject* value, const char* function) {
  const Py_ssize_t nbytes = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  if (nbytes == -1 && PyErr_Occurred()) raise_python();
  if (nbytes < 0) raise(ErrorKind::Runtime, "%s(): the size is negative: %zd", function, nbytes);
  return static_cast<size_t>(nbytes);
}

// resize_(nbytes): preserves the leading bytes. Shrinking does not free memory, because tensors may alias it.
PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&]() -> PyObject* {
    Storage& storage = storage_of(self);
    resize_storage(storage, to_nbytes(size, "resize_"));
    storage.version.fetch_add(1, std::memory_order_relaxed);
    return Py_NewRef(self);
  });
}
PyObject* resizable(PyObject* self, PyObject*) {
  const Storage& storage = storage_of(self);
  return PyBool_FromLong(storage.resizable && storage.size_class >= 0);
}

PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    const Storage& storage = storage_of(self);
    Ref<Storage> copy = allocate_storage(storage.nbytes);
    read_storage(storage, copy->host, storage.nbytes);
    return wrap_storage_object(std::move(copy));
  });
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (!PyObject_TypeCheck(other, &storage_type) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&storage_of(self) == &storage_of(other)) == (operation == Py_EQ));
}

Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&storage_of(self)) >> 4); }

PyObject* reduce(PyObject* self, PyObject*) {
  Object bytes = Object::steal(to_bytes(self, nullptr));
  return bytes ? Py_BuildValue("O(O)", Py_TYPE(self), bytes.get()) : nullptr;
}

// ------------------------------------------------------------------------------------ memory of several processes

PyObject* is_shared_storage(PyObject* self, PyObject*) { return PyBool_FromLong(is_shared(storage_of(self))); }

PyObject* share_fd(PyObject* self, PyObject*) {
  return guarded([&] {
    const int descriptor = share_by_descriptor(storage_of(self));
    return checked(Py_BuildValue("in", descriptor, length(self)));
  });
}

// In PyTorch the first part is the address of a process that unlinks names; here the memory counts its users itself.
PyObject* share_filename(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::string& name = share_by_name(storage_of(self));
    return checked(Py_BuildValue("yyn", "", name.c_str(), length(self)));
  });
}

template <Sharing sharing>
PyObject* new_using(PyObject*, PyObject* size) {
  return guarded([&] { return wrap_storage_object(make_shared_storage(to_nbytes(size, "_new_shared"), sharing)); });
}

PyObject* new_shared_fd(PyObject*, PyObject* args) {
  return guarded([&] {
    const bool fits = PyTuple_GET_SIZE(args) == 2 && PyLong_Check(PyTuple_GET_ITEM(args, 0)) &&
                      PyLong_Check(PyTuple_GET_ITEM(args, 1));
    if (!fits) raise(ErrorKind::Type, "_new_shared_fd_cpu() takes a file descriptor (int) and a storage size (int)");
    int overflow = 0;
    const long descriptor = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(args, 0), &overflow);
    const bool can_exist = !overflow && descriptor >= 0 && descriptor <= INT_MAX;
    return wrap_storage_object(open_descriptor(can_exist ? static_cast<int>(descriptor) : -1,
                                               to_nbytes(PyTuple_GET_ITEM(args, 1), "_new_shared_fd_cpu")));
  });
}

PyObject* new_shared_filename(PyObject*, PyObject* args) {
  return guarded([&] {
    const bool fits = PyTuple_GET_SIZE(args) == 3 && PyBytes_Check(PyTuple_GET_ITEM(args, 1)) &&
                      PyLong_Check(PyTuple_GET_ITEM(args, 2));
    if (!fits) raise(ErrorKind::Type, "_new_shared_filename_cpu() takes two handles (bytes) and a storage size (int)");
    const size_t nbytes = to_nbytes(PyTuple_GET_ITEM(args, 2), "_new_shared_filename_cpu");
    return wrap_storage_object(open_name(PyBytes_AS_STRING(PyTuple_GET_ITEM(args, 1)), nbytes));
  });
}

PyObject* shared_incref(PyObject* self, PyObject*) {
  add_user(storage_of(self));
  Py_RETURN_NONE;
}
PyObject* shared_decref(PyObject* self, PyObject*) {
  drop_user(storage_of(self));
  return Py_NewRef(self);
}

// The strategy by which the memory is shared, by PyTorch's name.
PyObject* get_sharing(PyObject* self, void*) {
  const auto sharing = sharing_of(storage_of(self));
  if (!sharing) Py_RETURN_NONE;
  return PyUnicode_FromString(*sharing == Sharing::Name ? "file_system" : "file_descriptor");
}

PyObject* leave_names(PyObject*, PyObject*) {
  leave_named_memory();
  Py_RETURN_NONE;
}

PyObject* get_filename(PyObject* self, void*) {
  const char* const path = file_of(storage_of(self));
  if (!path) Py_RETURN_NONE;
  return PyUnicode_DecodeFSDefault(path);
}

PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
    {"size", nbytes, METH_NOARGS, "The number of bytes."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
    {"tolist", tolist, METH_NOARGS, "The bytes as a list of integers."},
    {"_bytes", to_bytes, METH_NOARGS, "The bytes as a bytes object."},
    {"resize_", resize, METH_O, "resize_(nbytes): grows or shrinks in place and preserves the leading bytes."},
    {"resizable", resizable, METH_NOARGS,
     "Whether `resize_` may move the memory: it is not shared with NumPy, DLPack, a file or a slice."},
    {"clone", clone, METH_NOARGS, "A storage with the same bytes."},
    {"from_file", reinterpret_cast<PyCFunction>(from_file), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_file(filename, shared=False, nbytes=0): a file's bytes, mapped: writes reach the file if `shared`."},
    {"is_shared", is_shared_storage, METH_NOARGS, "Whether other processes may map the memory."},
    {"_share_fd_cpu_", share_fd, METH_NOARGS, "Moves to memory shared by descriptor: (descriptor, bytes)."},
    {"_share_filename_cpu_", share_filename, METH_NOARGS,
     "Moves to memory with a name in /dev/shm: (manager, name, bytes); there is no manager."},
    {"_new_using_fd_cpu", new_using<Sharing::Descriptor>, METH_O | METH_STATIC, "Shared memory of so many zero bytes."},
    {"_new_using_filename_cpu", new_using<Sharing::Name>, METH_O | METH_STATIC, "The same, with a name."},
    {"_new_shared_fd_cpu", new_shared_fd, METH_VARARGS | METH_STATIC, "(descriptor, bytes): the memory, mapped."},
    {"_new_shared_filename_cpu", new_shared_filename, METH_VARARGS | METH_STATIC,
     "(manager, name, bytes): the memory, mapped."},
    {"_shared_incref", shared_incref, METH_NOARGS, "Counts one more user of named memory: a pending message."},
    {"_shared_decref", shared_decref, METH_NOARGS, "Counts one user less; returns the storage."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef attributes[] = {
    {"device", get_device, nullptr, "Where the memory is.", nullptr},
    {"filename", get_filename, nullptr, "The mapped file that writes reach, or None.", nullptr},
    {"_sharing", get_sharing, nullptr, "The sharing strategy of shared memory, or None.", nullptr},
    {"_cdata", identity, nullptr, "A number that is equal for objects of the same storage.", nullptr},
    {},
};
PySequenceMethods sequence_methods = {};
PyMappingMethods mapping_methods = {};

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.keys.has(Key::Sparse))
      raise(ErrorKind::NotImplemented, "a sparse tensor has no storage of its own: ask its indices() and values()");
    if (tensor.device.type == DeviceType::CPU) static_cast<void>(tensor.address());
    if (tensor.storage) {
      before_write(*tensor.storage);
      tensor.storage->escaped = true;
    }
    return wrap_storage_object(Ref<Storage>::share(tensor.storage));
  });
}

std::vector<int64_t> to_integers(PyObject* tuple) {
  std::vector<int64_t> integers;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (value == -1 && PyErr_Occurred()) raise_python();
    integers.push_back(value);
  }
  return integers;
}

// _tensor_over(storage, dtype, offset, size, stride): refuses geometry that leaves the storage.
PyObject* tensor_over(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *source, *dtype, *size, *stride;
    long long offset;
    if (!PyArg_ParseTuple(args, "O!O!LO!O!:_tensor_over", &storage_type, &source, &dtype_type, &dtype, &offset,
                          &PyTuple_Type, &size, &PyTuple_Type, &stride))
      return nullptr;
    const std::vector<int64_t> sizes = to_integers(size), strides = to_integers(stride);
    if (sizes.size() != strides.size() || sizes.size() > kMaxDims)
      raise(ErrorKind::Runtime, "_tensor_over(): %zu sizes and %zu strides do not belong together", sizes.size(),
            strides.size());
    Storage& storage = storage_of(source);
    check_in_storage(sizes, strides, offset, item_size(dtype_of(dtype)), storage.nbytes);
    Tensor tensor = empty(std::array<int64_t, 1>{0}, dtype_of(dtype), storage.device);
    Ref<Storage>::adopt(std::exchange(tensor->storage, Ref<Storage>::share(&storage).leak()));
    tensor->offset = offset;
    set_geometry(*tensor, sizes, strides);
    return wrap(std::move(tensor));
  });
}

PyMethodDef tensor_methods[] = {
    {"untyped_storage", untyped_storage, METH_NOARGS, "The memory behind this tensor and its views."},
    {},
};
PyMethodDef functions[] = {
    {"_leave_named_memory", leave_names, METH_NOARGS, "Called at exit: this process no longer uses named memory."},
    {"_tensor_over", tensor_over, METH_VARARGS, "_tensor_over(storage, dtype, offset, size, stride)"},
    {},
};

}  // namespace

void add_storage(PyObject* module) {
  sequence_methods.sq_length = length;
  sequence_methods.sq_item = get_byte;
  storage_type.tp_name = "pellucid._C.StorageBase";
  storage_type.tp_doc = "StorageBase(size or bytes): a block of memory that tensors share.";
  storage_type.tp_basicsize = sizeof(StorageObject);
  storage_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  storage_type.tp_new = storage_new;
  storage_type.tp_dealloc = deallocate;
  storage_type.tp_hash = hash;
  storage_type.tp_richcompare = compare;
  storage_type.tp_methods = methods;
  storage_type.tp_getset = attributes;
  storage_type.tp_as_sequence = &sequence_methods;
  mapping_methods.mp_length = length;
  mapping_methods.mp_subscript = get_item;
  storage_type.tp_as_mapping = &mapping_methods;
  checked(PyType_Ready(&storage_type));
  add_tensor_methods(tensor_methods);
  checked(PyModule_AddFunctions(module, functions));
  checked(PyModule_AddObjectRef(module, "StorageBase", reinterpret_cast<PyObject*>(&storage_type)));
}

}  // namespace pellucid::python
