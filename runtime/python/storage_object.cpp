// StorageBase: a tensor's memory as bytes, and tensors over a storage.
//
// What tensors give out are objects of its subclass in `storage.py`, which has all that needs no runtime.
#include "python/storage_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/geometry.h"
#include "core/hooks.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

struct StorageObject {
  PyObject_HEAD Storage* storage;  // owned
};

PyTypeObject storage_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

Storage& storage_of(PyObject* object) { return *reinterpret_cast<StorageObject*>(object)->storage; }

// The class of the storages that tensors give out.
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
      std::memcpy(storage->data, buffer.buf, nbytes);
      PyBuffer_Release(&buffer);
    } else if (nbytes) {
      std::memset(storage->data, 0, nbytes);
    }
    return wrap_storage_object(std::move(storage), type);
  });
}

void deallocate(PyObject* self) {
  Ref<Storage>::adopt(&storage_of(self));
  Py_TYPE(self)->tp_free(self);
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_of(self).nbytes); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(storage_of(self).data); }
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
  return PyLong_FromLong(static_cast<const unsigned char*>(storage.data)[index]);
}

void release_whole(Storage* part) { Ref<Storage>::adopt(static_cast<Storage*>(part->context)); }

// storage[a:b]: the same memory.
PyObject* part_of(Storage& whole, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) raise_python();
  const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(whole.nbytes), &start, &stop, step);
  if (step != 1) raise(ErrorKind::Runtime, "a storage is cut in steps of 1, not %zd", step);
  let_escape(whole);
  Ref<Storage> part = wrap_storage(static_cast<char*>(whole.data) + start, static_cast<size_t>(count), release_whole,
                                   Ref<Storage>::share(&whole).leak());
  part->escaped = true;
  return wrap_storage_object(std::move(part));
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    if (PySlice_Check(index)) return part_of(storage_of(self), index);
    Py_ssize_t at = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (at == -1 && PyErr_Occurred()) raise_python();
    return get_byte(self, at < 0 ? at + length(self) : at);
  });
}

void unmap(Storage* storage) { munmap(storage->data, storage->nbytes); }

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
    const char* name = PyBytes_AS_STRING(path);
    const int file = open(name, shared ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
    struct stat facts{};
    if (file < 0 || fstat(file, &facts) != 0) {
      const int problem = errno;
      if (file >= 0) close(file);
      raise(ErrorKind::Runtime, "from_file(): %s cannot be opened: %s", name, std::strerror(problem));
    }
    const auto nbytes = static_cast<size_t>(requested > 0 ? requested : facts.st_size);
    const bool grows = nbytes > static_cast<size_t>(facts.st_size);
    const bool fits = !grows || (shared && ftruncate(file, static_cast<off_t>(nbytes)) == 0);
    void* start = MAP_FAILED;
    if (fits && nbytes)
      start = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
    close(file);
    if (start == MAP_FAILED)
      raise(ErrorKind::Runtime, "from_file(): %zu bytes of %s, which has %lld, cannot be mapped", nbytes, name,
            static_cast<long long>(facts.st_size));
    Ref<Storage> storage = wrap_storage(start, nbytes, unmap, nullptr);
    storage->escaped = true;
    return wrap_storage_object(std::move(storage));
  });
}

PyObject* to_bytes(PyObject* self, PyObject*) {
  const Storage& storage = storage_of(self);
  return PyBytes_FromStringAndSize(static_cast<const char*>(storage.data), static_cast<Py_ssize_t>(storage.nbytes));
}

PyObject* tolist(PyObject* self, PyObject*) { return PySequence_List(self); }

// resize_(nbytes): keeps the leading bytes. A shrinking storage keeps its memory: tensors may alias it.
PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t nbytes = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    if (nbytes == -1 && PyErr_Occurred()) raise_python();
    if (nbytes < 0) raise(ErrorKind::Runtime, "resize_(): the size is negative: %zd", nbytes);
    Storage& storage = storage_of(self);
    resize_storage(storage, static_cast<size_t>(nbytes));
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
    if (storage.nbytes) std::memcpy(copy->data, storage.data, storage.nbytes);
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

PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
    {"size", nbytes, METH_NOARGS, "The number of bytes."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
    {"tolist", tolist, METH_NOARGS, "The bytes as a list of integers."},
    {"_bytes", to_bytes, METH_NOARGS, "The bytes as a bytes object."},
    {"resize_", resize, METH_O, "resize_(nbytes): grows or shrinks in place and keeps the leading bytes."},
    {"resizable", resizable, METH_NOARGS,
     "Whether `resize_` may move the memory: it is not shared with NumPy, DLPack, a file or a slice."},
    {"clone", clone, METH_NOARGS, "A storage with the same bytes."},
    {"from_file", reinterpret_cast<PyCFunction>(from_file), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "from_file(filename, shared=False, nbytes=0): a file's bytes, mapped: writes reach the file if `shared`."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef attributes[] = {
    {"device", get_device, nullptr, "Where the memory is.", nullptr},
    {"_cdata", identity, nullptr, "A number that is equal for objects of the same storage.", nullptr},
    {},
};
PySequenceMethods sequence_methods = {};
PyMappingMethods mapping_methods = {};

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.device.type == DeviceType::CPU) tensor.data();
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
    Tensor tensor = empty(std::array<int64_t, 1>{0}, dtype_of(dtype));
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
