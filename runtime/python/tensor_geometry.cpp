// Methods of Tensor for its geometry, memory and dtype; none of them runs an op.
#include <algorithm>

#include "core/geometry.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "core/pinned_memory.h"
#include "core/shared_memory.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

// The one optional argument `name` of a method, positional or by keyword; null when absent.
PyObject* optional_argument(const char* function, const char* name, PyObject* const* args, Py_ssize_t count,
                            PyObject* keywords) {
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (count + named == 0) return nullptr;
  if (count + named > 1) raise(ErrorKind::Type, "%s(): expected at most one argument, '%s'", function, name);
  if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), name) != 0) {
    raise(ErrorKind::Type, "%s(): unexpected keyword argument '%s'; it takes '%s'", function,
          PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, 0)), name);
  }
  return args[0] == Py_None ? nullptr : args[0];
}

int64_t to_int(PyObject* object, const char* function, const char* name) {
  if (!PyIndex_Check(object) || PyBool_Check(object))
    raise(ErrorKind::Type, "%s(): argument '%s' must be int, not %s", function, name, Py_TYPE(object)->tp_name);
  Object number = own(PyNumber_Index(object));
  const int64_t value = PyLong_AsLongLong(number.get());
  if (value == -1 && PyErr_Occurred()) raise_python();
  return value;
}

// The "size", "stride", ... (`question`) of a nested tensor, of one dim or of all (pellucid.nested._ops.sizes).
PyObject* nested_geometry(PyObject* self, const char* question, PyObject* dim) {
  static LateImport answer("pellucid.nested._ops.sizes", "geometry");
  return checked(PyObject_CallFunction(answer.get(), "OsO", self, question, dim ? dim : Py_None));
}

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    const TensorImpl& tensor = *tensor_of(self);
    PyObject* dim = optional_argument("size", "dim", args, count, keywords);
    if (tensor.keys.has(Key::Nested)) return nested_geometry(self, "size", dim);
    if (!dim) return size_object(tensor.shape());
    if (!tensor.ndim) raise(ErrorKind::Index, "size(): a 0-dimensional tensor has no dimensions to index");
    return checked(PyLong_FromLongLong(tensor.sizes[wrap_dim(to_int(dim, "size", "dim"), tensor.ndim)]));
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    const TensorImpl& tensor = *tensor_of(self);
    PyObject* dim = optional_argument("stride", "dim", args, count, keywords);
    if (tensor.keys.has(Key::Nested)) return nested_geometry(self, "stride", dim);
    if (dim) {
      if (!tensor.ndim) raise(ErrorKind::Index, "stride(): a 0-dimensional tensor has no dimensions to index");
      return checked(PyLong_FromLongLong(tensor.strides[wrap_dim(to_int(dim, "stride", "dim"), tensor.ndim)]));
    }
    Object strides = own(PyTuple_New(tensor.ndim));
    for (int i = 0; i < tensor.ndim; ++i)
      PyTuple_SET_ITEM(strides.get(), i, checked(PyLong_FromLongLong(tensor.strides[i])));
    return strides.leak();
  });
}

PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLong(tensor_of(self)->ndim); }
PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->numel); }
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->offset); }
PyObject* element_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(item_size(tensor_of(self)->dtype)); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (!tensor.numel) return PyLong_FromVoidPtr(nullptr);
    const uint64_t address = tensor.address();
    before_write(*tensor.storage);
    tensor.storage->escaped = true;  // the caller may write to the address
    return PyLong_FromUnsignedLongLong(address);
  });
}
PyObject* get_device(PyObject* self, PyObject*) {
  const Device device = tensor_of(self)->device;
  const bool unnumbered = device.type == DeviceType::CPU || device.type == DeviceType::Meta;
  return PyLong_FromLong(unnumbered ? -1 : device.index);
}
PyObject* is_floating_point(PyObject* self, PyObject*) {
  return PyBool_FromLong(category(tensor_of(self)->dtype) == DTypeCategory::Floating);
}
PyObject* is_complex(PyObject* self, PyObject*) {
  return PyBool_FromLong(category(tensor_of(self)->dtype) == DTypeCategory::Complex);
}
PyObject* is_signed(PyObject* self, PyObject*) { return PyBool_FromLong(facts_of(tensor_of(self)->dtype).is_signed); }
PyObject* is_view(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_of(self)->base != nullptr); }
PyObject* is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_of(self)->flags & TensorImpl::kInference);
}
PyObject* is_in_shared_memory(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.keys.has(Key::Nested)) return nested_geometry(self, "is_shared", nullptr);
    if (tensor.keys.has(Key::Sparse))
      raise(ErrorKind::NotImplemented, "is_shared(): a sparse tensor has no storage of its own; ask its components");
    return PyBool_FromLong(!(tensor.flags & TensorImpl::kNoMemory) && is_shared(*tensor.storage));
  });
}
// The device that PyTorch takes as an argument says nothing: pinned memory is for all.
PyObject* is_in_pinned_memory(PyObject* self, PyObject*) {
  return guarded([&] {
    const TensorImpl& tensor = *tensor_of(self);
    const bool has_memory = !(tensor.flags & TensorImpl::kNoMemory) && tensor.storage;
    return PyBool_FromLong(has_memory && is_pinned(*tensor.storage));
  });
}

template <Key key>
PyObject* is_pending(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_of(self)->keys.has(key));
}

PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const TensorImpl& tensor = *tensor_of(self);
    PyObject* format = optional_argument("is_contiguous", "memory_format", args, count, keywords);
    if (tensor.keys.has(Key::Nested)) return nested_geometry(self, "is_contiguous", format);
    if (tensor.keys.has(Key::Sparse)) {
      if (kind_of(tensor)->layout == Layout::SparseCoo) Py_RETURN_FALSE;
      raise(ErrorKind::Runtime, "is_contiguous(): a compressed sparse tensor has no order of memory; ask its values()");
    }
    if (!format) return PyBool_FromLong(tensor.is_contiguous());
    if (Py_TYPE(format) != &memory_format_type) {
      raise(ErrorKind::Type, "is_contiguous(): argument 'memory_format' must be memory_format, not %s",
            Py_TYPE(format)->tp_name);
    }
    switch (static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(format)->value)) {
      case MemoryFormat::Contiguous: return PyBool_FromLong(tensor.is_contiguous());
      case MemoryFormat::ChannelsLast:
        return PyBool_FromLong(tensor.ndim == 4 && is_channels_last(tensor.shape(), tensor.stride()));
      case MemoryFormat::ChannelsLast3d:
        return PyBool_FromLong(tensor.ndim == 5 && is_channels_last(tensor.shape(), tensor.stride()));
      case MemoryFormat::Preserve: break;
    }
    raise(ErrorKind::Runtime, "is_contiguous(): preserve_format names no order of memory");
  });
}

PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&] {
    if (!is_tensor(other))
      raise(ErrorKind::Type, "is_same_size(): argument 'other' must be Tensor, not %s", Py_TYPE(other)->tp_name);
    return PyBool_FromLong(std::ranges::equal(tensor_of(self)->shape(), tensor_of(other)->shape()));
  });
}

PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&] {
    if (!is_tensor(other))
      raise(ErrorKind::Type, "is_set_to(): argument 'tensor' must be Tensor, not %s", Py_TYPE(other)->tp_name);
    const TensorImpl &a = *tensor_of(self), &b = *tensor_of(other);
    return PyBool_FromLong(a.storage == b.storage && a.offset == b.offset && std::ranges::equal(a.shape(), b.shape()) &&
                           std::ranges::equal(a.stride(), b.stride()));
  });
}

constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef queries[] = {
    {"size", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(size)), kFast,
     "size(dim=None): all sizes, or that of one dimension."},
    {"stride", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(stride)), kFast,
     "stride(dim=None): steps in elements, of all dimensions or one."},
    {"dim", dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "The number of dimensions."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {"nelement", numel, METH_NOARGS, "The number of elements."},
    {"storage_offset", storage_offset, METH_NOARGS, "Elements from the start of the storage to the first one."},
    {"element_size", element_size, METH_NOARGS, "Bytes of one element."},
    {"get_device", get_device, METH_NOARGS, "The index of the device; -1 on the CPU."},
    {"is_floating_point", is_floating_point, METH_NOARGS, "Whether the dtype is floating point."},
    {"is_complex", is_complex, METH_NOARGS, "Whether the dtype is complex."},
    {"is_signed", is_signed, METH_NOARGS, "Whether the dtype has negative values."},
    {"is_contiguous", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(is_contiguous)), kFast,
     "Whether the elements are contiguous, in row-major order."},
    {"is_inference", is_inference, METH_NOARGS, "Whether it was made in inference mode."},
    {"is_conj", is_pending<Key::Conjugate>, METH_NOARGS, "Whether the elements are the conjugates of those in memory."},
    {"is_neg", is_pending<Key::Negative>, METH_NOARGS, "Whether the elements are the negatives of those in memory."},
    {"is_pinned", is_in_pinned_memory, METH_VARARGS, "Whether the memory is page-locked for copies to a device."},
    {"is_same_size", is_same_size, METH_O, "Whether both tensors have the same sizes."},
    {},
};

PyMethodDef methods[] = {
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first element; 0 for an empty tensor."},
    {"is_shared", is_in_shared_memory, METH_NOARGS, "Whether other processes may map the memory."},
    {"_is_view", is_view, METH_NOARGS, "Whether this is a view of another tensor."},
    {"is_set_to", is_set_to, METH_O, "Whether both tensors have the same memory, offset, sizes and strides."},
    {},
};

}  // namespace

void add_geometry_methods() {
  add_tensor_queries(queries);
  add_tensor_methods(methods);
}

}  // namespace pellucid::python
