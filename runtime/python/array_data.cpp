// Memory shared with NumPy and other owners of buffers, in both directions; and module functions that make tensors
// from Python data: tensor, as_tensor, from_numpy, frombuffer.
#include <array>
#include <cstring>

#include "autograd/tensor_history.h"
#include "core/backend.h"
#include "core/device_names.h"
#include "core/hooks.h"
#include "core/pending.h"
#include "kernels/host_shadow.h"
#include "python/data_in.h"
#include "python/function_protocol.h"
#include "python/tensor_type.h"
#include "python/types.h"
#include "python/value_reads.h"

namespace pellucid::python {
namespace {

// Letters of the struct module for native byte order; 'l' and 'q' are both 64 bits on Linux.
bool parse_format(const char* format, DType& out) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<' || *format == '|') ++format;
  for (int code = 0; code < kNumDTypes; ++code)
    for (const char* known : kDTypeFacts[code].formats)
      if (known && std::strcmp(known, format) == 0) return out = static_cast<DType>(code), true;
  return false;
}

void release_buffer(Storage* storage) {
  if (!Py_IsInitialized()) return;
  HoldGil gil;
  auto* buffer = static_cast<Py_buffer*>(storage->context);
  PyBuffer_Release(buffer);
  delete buffer;
}

struct BufferHandle {
  Py_buffer* buffer = new Py_buffer;
  bool filled = false;
  ~BufferHandle() {
    if (!buffer) return;
    if (filled) PyBuffer_Release(buffer);
    delete buffer;
  }
  Py_buffer* leak() { return std::exchange(buffer, nullptr); }
};

void get_buffer(PyObject* object, BufferHandle& handle, int flags) {
  if (PyObject_GetBuffer(object, handle.buffer, flags) == 0) {
    handle.filled = true;
    return;
  }
  PyErr_Clear();
  raise(ErrorKind::Type,
        "the elements of this %s have no tensor dtype\nsupported: bool, integers of 8 to 64 bits, "
        "float16, float32, float64, complex64, complex128",
        Py_TYPE(object)->tp_name);
}

// Strides in elements. Raises for negative strides and for those that are not whole elements, which tensors cannot
// have.
std::array<int64_t, kMaxDims> element_strides(const Py_buffer& buffer, int64_t item) {
  std::array<int64_t, kMaxDims> strides{};
  for (int i = 0; i < buffer.ndim; ++i) {
    const int64_t bytes = buffer.strides[i];
    if (bytes < 0)
      raise(ErrorKind::Value, "the array has a negative stride, which tensors do not have: copy() it first");
    if (bytes % item)
      raise(ErrorKind::Value,
            "a stride of the array (%lld bytes) is not a multiple of its element size (%lld): copy() "
            "it first",
            static_cast<long long>(bytes), static_cast<long long>(item));
    strides[static_cast<size_t>(i)] = bytes / item;
  }
  return strides;
}

PyObject* interface_name() {
  static PyObject* name = PyUnicode_InternFromString("__array_interface__");
  return name;
}

bool has_array_interface(PyObject* object) { return _PyType_Lookup(Py_TYPE(object), interface_name()) != nullptr; }

// --------------------------------------------------------------- the exporter that NumPy reads

struct ExporterObject {
  PyObject_HEAD TensorImpl* tensor;
};

struct ExportedShape {
  Py_ssize_t sizes[kMaxDims], strides[kMaxDims];
};

const char* format_of(DType dtype) { return facts_of(dtype).formats[0]; }

int export_buffer(PyObject* self, Py_buffer* buffer, int) {
  TensorImpl& tensor = *reinterpret_cast<ExporterObject*>(self)->tensor;
  auto* shape = new ExportedShape;
  const auto item = static_cast<Py_ssize_t>(item_size(tensor.dtype));
  for (int i = 0; i < tensor.ndim; ++i) {
    shape->sizes[i] = tensor.sizes[i];
    shape->strides[i] = tensor.strides[i] * item;
  }
  static char nothing;
  buffer->buf = tensor.numel ? tensor.host() : &nothing;
  buffer->obj = new_reference(self);
  buffer->len = tensor.numel * item;
  buffer->itemsize = item;
  buffer->readonly = 0;
  buffer->ndim = tensor.ndim;
  buffer->format = const_cast<char*>(format_of(tensor.dtype));
  buffer->shape = shape->sizes;
  buffer->strides = shape->strides;
  buffer->suboffsets = nullptr;
  buffer->internal = shape;
  return 0;
}

void release_export(PyObject*, Py_buffer* buffer) { delete static_cast<ExportedShape*>(buffer->internal); }

void deallocate_exporter(PyObject* self) {
  Tensor::adopt(reinterpret_cast<ExporterObject*>(self)->tensor);
  Py_TYPE(self)->tp_free(self);
}

PyBufferProcs exporter_buffer = {export_buffer, release_export};
PyTypeObject exporter_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// tensor._buffer(lasting): an object whose buffer is the tensor's memory. If `lasting`, the buffer may be read and
// written at any later time; otherwise only before the next use of the tensor.
PyObject* make_exporter(PyObject* self, PyObject* lasting) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.device.type != DeviceType::CPU)
      raise(ErrorKind::Type, "only memory of the CPU can be shared, not of device %s: use cpu() first",
            device_name(tensor.device).c_str());
    if (tensor.keys.has(Key::Sparse))
      raise(ErrorKind::Type, "a sparse tensor is not a NumPy array: convert it first, with to_dense()");
    if (const KeySet pending = pending_of(tensor); !pending.empty())
      raise(ErrorKind::Runtime,
            "numpy(): the tensor has the %s bit set, so that its elements are not those in its memory.\n"
            "Use tensor.resolve_conj().resolve_neg().numpy(), or numpy(force=True).",
            pending.has(Key::Conjugate) ? "conjugate" : "negative");
    if (!format_of(tensor.dtype))
      raise(ErrorKind::Type, "NumPy has no dtype for %s: convert the tensor first, for example with float()",
            std::string(name(tensor.dtype)).c_str());
    note_value_read("a NumPy array or buffer");
    tensor.host();
    before_write(*tensor.storage);
    if (lasting == Py_True) let_escape(*tensor.storage);
    Object exporter = own(exporter_type.tp_alloc(&exporter_type, 0));
    reinterpret_cast<ExporterObject*>(exporter.get())->tensor = Tensor::share(&tensor).leak();
    return exporter.leak();
  });
}

// ------------------------------------------------------------------------- module functions

struct CreationOptions {
  std::optional<DType> dtype;
  Device device;
  bool has_device = false;
  bool requires_grad = false;
  bool pin_memory = false;
};

CreationOptions read_options(const char* function, PyObject* dtype, PyObject* device, int requires_grad) {
  CreationOptions options;
  DType parsed;
  if (dtype && dtype != Py_None) {
    if (!to_dtype(dtype, parsed))
      raise(ErrorKind::Type, "%s(): argument 'dtype' must be dtype, not %s", function, Py_TYPE(dtype)->tp_name);
    options.dtype = parsed;
  }
  if (device && device != Py_None) {
    if (!to_device(device, options.device))
      raise(ErrorKind::Type, "%s(): argument 'device' must be device or str, not %s", function,
            Py_TYPE(device)->tp_name);
    options.has_device = true;
    require_device(options.device);
  }
  options.requires_grad = requires_grad != 0;
  return options;
}

PyObject* finish(Tensor tensor, const CreationOptions& options) {
  if (options.device.type == DeviceType::Meta) tensor = empty(tensor->shape(), tensor->dtype, options.device);
  else if (options.device.type != DeviceType::CPU) tensor = copy_to_device(*tensor, options.device);
  else if (options.pin_memory) tensor = pinned_copy(*tensor);
  if (options.requires_grad) {
    if (!is_differentiable(tensor->dtype))
      raise(ErrorKind::Runtime,
            "a tensor of dtype %s cannot require gradients: only floating point and complex "
            "dtypes can",
            std::string(name(tensor->dtype)).c_str());
    set_requires_grad(*tensor, true);
  }
  return wrap(std::move(tensor));
}

// Modes see the functions of this module by their public names.
PyObject* call_mode(PyObject* module, const char* name, PyObject* args, PyObject* kwargs) {
  Object function = own(PyObject_GetAttrString(module, name));
  return call_override(function.get(), args, kwargs);
}

PyObject* tensor(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (function_modes_active()) [[unlikely]]
      return call_mode(module, "tensor", args, kwargs);
    static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
    PyObject *data, *dtype = nullptr, *device = nullptr;
    int requires_grad = 0, pin_memory = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:tensor", const_cast<char**>(names), &data, &dtype, &device,
                                     &requires_grad, &pin_memory))
      return nullptr;
    CreationOptions options = read_options("tensor", dtype, device, requires_grad);
    options.pin_memory = pin_memory != 0;
    if (is_tensor(data)) warn("tensor(): the data is a tensor already: use its clone().detach() for a copy");
    return finish(copy_of_data(data, options.dtype), options);
  });
}

PyObject* as_tensor(PyObject* module, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (function_modes_active()) [[unlikely]]
      return call_mode(module, "as_tensor", args, kwargs);
    static const char* names[] = {"data", "dtype", "device", nullptr};
    PyObject *data, *dtype = nullptr, *device = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:as_tensor", const_cast<char**>(names), &data, &dtype, &device))
      return nullptr;
    const CreationOptions options = read_options("as_tensor", dtype, device, 0);
    if (is_tensor(data)) {
      Object to = own(PyObject_GetAttrString(data, "to"));
      Object keywords = own(PyDict_New());
      if (options.dtype) checked(PyDict_SetItemString(keywords.get(), "dtype", dtype_object(*options.dtype)));
      if (options.has_device) checked(PyDict_SetItemString(keywords.get(), "device", device));
      if (PyDict_GET_SIZE(keywords.get()) == 0) return new_reference(data);
      return checked(PyObject_VectorcallDict(to.get(), nullptr, 0, keywords.get()));
    }
    if (is_array_like(data)) {
      Tensor shared = share_array(data);
      const bool same = !options.dtype || *options.dtype == shared->dtype;
      return finish(same ? std::move(shared) : cast_copy(*shared, *options.dtype), options);
    }
    return finish(copy_of_data(data, options.dtype), options);
  });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    if (std::strcmp(Py_TYPE(array)->tp_name, "numpy.ndarray") != 0)
      raise(ErrorKind::Type, "from_numpy(): expected a numpy.ndarray, not %s", Py_TYPE(array)->tp_name);
    return wrap(share_array(array));
  });
}

PyObject* from_buffer(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
    PyObject *source, *dtype_argument = nullptr;
    long long count = -1, offset = 0;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OLLp:frombuffer", const_cast<char**>(names), &source,
                                     &dtype_argument, &count, &offset, &requires_grad))
      return nullptr;
    const CreationOptions options = read_options("frombuffer", dtype_argument, nullptr, requires_grad);
    if (!options.dtype) raise(ErrorKind::Type, "frombuffer(): argument 'dtype' must be given");
    const auto item = static_cast<int64_t>(item_size(*options.dtype));
    BufferHandle handle;
    if (PyObject_GetBuffer(source, handle.buffer, PyBUF_WRITABLE) < 0) {
      PyErr_Clear();
      if (PyObject_GetBuffer(source, handle.buffer, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        raise(ErrorKind::Value, "frombuffer(): a %s has no buffer", Py_TYPE(source)->tp_name);
      }
      warn("frombuffer(): the buffer is not writable, but tensors are: writing to this one is undefined");
    }
    handle.filled = true;
    const int64_t bytes = handle.buffer->len;
    if (bytes == 0 || count == 0) raise(ErrorKind::Value, "frombuffer(): the buffer and `count` must not be empty");
    if (offset < 0 || offset >= bytes)
      raise(ErrorKind::Value, "frombuffer(): offset %lld is outside of the buffer's %lld bytes", offset,
            static_cast<long long>(bytes));
    if (count < 0 && (bytes - offset) % item)
      raise(ErrorKind::Value,
            "frombuffer(): the %lld bytes after the offset are not a multiple of the element size %lld",
            static_cast<long long>(bytes - offset), static_cast<long long>(item));
    const int64_t elements = count < 0 ? (bytes - offset) / item : count;
    if (elements > (bytes - offset) / item)
      raise(ErrorKind::Value, "frombuffer(): the buffer has no %lld elements after the offset",
            static_cast<long long>(elements));
    Tensor result = empty(std::array<int64_t, 1>{0}, *options.dtype);
    void* start = static_cast<char*>(handle.buffer->buf) + offset;
    Ref<Storage> storage = wrap_storage(start, static_cast<size_t>(elements * item), release_buffer, handle.buffer);
    handle.leak();
    storage->escaped = true;
    Ref<Storage>::adopt(std::exchange(result->storage, storage.leak()));
    set_geometry(*result, std::array<int64_t, 1>{elements}, std::array<int64_t, 1>{1});
    return finish(std::move(result), options);
  });
}

PyMethodDef functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(tensor), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False): a tensor with a copy of `data`."},
    {"as_tensor", reinterpret_cast<PyCFunction>(as_tensor), METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None): like tensor(), but shares memory where it can."},
    {"from_numpy", from_numpy, METH_O, "from_numpy(array): a tensor over the array's memory."},
    {"frombuffer", reinterpret_cast<PyCFunction>(from_buffer), METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False): a tensor over the buffer's memory."},
    {},
};

PyMethodDef methods[] = {
    {"_buffer", make_exporter, METH_O,
     "_buffer(lasting): an object whose buffer is this tensor's memory; NumPy reads it."},
    {},
};

}  // namespace

bool is_array_like(PyObject* object) {
  return !is_tensor(object) && has_array_interface(object) && PyObject_CheckBuffer(object);
}

Tensor share_array(PyObject* array) {
  refuse_replay("an op reads an array");
  BufferHandle handle;
  get_buffer(array, handle, PyBUF_STRIDED_RO | PyBUF_FORMAT);
  const Py_buffer& buffer = *handle.buffer;
  DType dtype;
  if (!parse_format(buffer.format, dtype) || static_cast<size_t>(buffer.itemsize) != item_size(dtype)) {
    raise(ErrorKind::Type,
          "elements of format '%s' have no tensor dtype\nsupported: bool, integers of 8 to 64 bits, "
          "float16, float32, float64, complex64, complex128 in the machine's byte order",
          buffer.format);
  }
  if (buffer.readonly && buffer.ndim > 0)
    warn(
        "the array is not writable, but tensors are: writing to this tensor is undefined; copy() the array to be safe");
  const auto strides = element_strides(buffer, buffer.itemsize);
  std::array<int64_t, kMaxDims> sizes{};
  int64_t last = 0;
  for (int i = 0; i < buffer.ndim; ++i) {
    sizes[static_cast<size_t>(i)] = buffer.shape[i];
    last += (buffer.shape[i] - 1) * strides[static_cast<size_t>(i)];
  }
  const size_t extent = buffer.len ? static_cast<size_t>((last + 1) * buffer.itemsize) : 0;
  const auto ndim = static_cast<size_t>(buffer.ndim);
  Tensor tensor = empty(std::array<int64_t, 1>{0}, dtype);
  Ref<Storage> storage = wrap_storage(buffer.buf, extent, release_buffer, handle.buffer);
  handle.leak();
  storage->escaped = true;
  Ref<Storage>::adopt(std::exchange(tensor->storage, storage.leak()));
  set_geometry(*tensor, {sizes.data(), ndim}, {strides.data(), ndim});
  return tensor;
}

void add_data_functions(PyObject* module) {
  exporter_type.tp_name = "pellucid._C.Buffer";
  exporter_type.tp_basicsize = sizeof(ExporterObject);
  exporter_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  exporter_type.tp_as_buffer = &exporter_buffer;
  exporter_type.tp_dealloc = deallocate_exporter;
  checked(PyType_Ready(&exporter_type));
  add_tensor_methods(methods);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
