// DLPack: tensors shared with other frameworks without copies, in both directions.
//
// The structures are those of the DLPack specification (version 0, which every consumer accepts).
#include <algorithm>
#include <array>

#include "autograd/tensor_history.h"
#include "core/device_names.h"
#include "core/hooks.h"
#include "core/pending.h"
#include "python/boundary.h"
#include "python/data_in.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

struct DLDevice {
  int32_t type, index;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

constexpr int32_t kCpu = 1;
constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";

constexpr uint8_t kNoCode = 255;
uint8_t code_of(DType dtype) { return facts_of(dtype).dlpack; }

bool find_dtype(DLDataType wanted, DType& out) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (code_of(dtype) == wanted.code && item_size(dtype) * 8 == wanted.bits && wanted.lanes == 1)
      return out = dtype, true;
  }
  return false;
}

struct Exported {
  DLManagedTensor managed;
  TensorImpl* tensor;  // owned
  int64_t geometry[2 * kMaxDims];
};

void delete_exported(DLManagedTensor* managed) {
  auto* exported = static_cast<Exported*>(managed->context);
  Tensor::adopt(exported->tensor);
  delete exported;
}

// Frees the tensor of a capsule that was not consumed.
void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  managed->deleter(managed);
}

PyObject* to_dlpack(PyObject* self, PyObject*, PyObject*) {
  return guarded([&] {
    pass_boundary("__dlpack__");
    TensorImpl& tensor = *tensor_of(self);
    if (requires_grad(tensor))
      raise(ErrorKind::Runtime, "a tensor that requires gradients cannot be exported by DLPack: detach() it first");
    if (!pending_of(tensor).empty()) {
      PyErr_SetString(PyExc_BufferError,
                      "a tensor whose conjugation or negation is pending cannot be exported by DLPack: "
                      "use tensor.resolve_conj().resolve_neg()");
      raise_python();
    }
    if (code_of(tensor.dtype) == kNoCode) {
      PyErr_Format(PyExc_BufferError, "DLPack has no type for elements of %s; view() them as another dtype",
                   facts_of(tensor.dtype).torch_name);
      raise_python();
    }
    if (tensor.device.type != DeviceType::CPU)
      raise(ErrorKind::Runtime, "only memory of the CPU can be exported by DLPack, not of device %s",
            device_name(tensor.device).c_str());
    auto* exported = new Exported;
    exported->tensor = Tensor::share(&tensor).leak();
    std::copy_n(tensor.sizes, tensor.ndim, exported->geometry);
    std::copy_n(tensor.strides, tensor.ndim, exported->geometry + kMaxDims);
    const DLDataType dtype{code_of(tensor.dtype), static_cast<uint8_t>(item_size(tensor.dtype) * 8), 1};
    exported->managed = {
        {tensor.host(), {kCpu, 0}, tensor.ndim, dtype, exported->geometry, exported->geometry + kMaxDims, 0},
        exported,
        delete_exported};
    before_write(*tensor.storage);
    let_escape(*tensor.storage);
    PyObject* capsule = PyCapsule_New(&exported->managed, kName, delete_capsule);
    if (!capsule) delete_exported(&exported->managed);
    return checked(capsule);
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", kCpu, 0); }

void release_imported(Storage* storage) {
  auto* managed = static_cast<DLManagedTensor*>(storage->context);
  if (!managed->deleter) return;
  HoldGil gil;  // the owner may be Python
  managed->deleter(managed);
}

Tensor import_managed(DLManagedTensor& managed) {
  const DLTensor& source = managed.tensor;
  DType dtype;
  if (!find_dtype(source.dtype, dtype))
    raise(ErrorKind::Runtime, "no tensor dtype has code %d, %d bits and %d lanes", source.dtype.code, source.dtype.bits,
          source.dtype.lanes);
  if (source.device.type != kCpu) raise(ErrorKind::Runtime, "only DLPack memory of the CPU can be imported");
  if (source.ndim < 0 || source.ndim > kMaxDims)
    raise(ErrorKind::Runtime, "a tensor has at most %d dimensions, not %d", kMaxDims, source.ndim);
  const auto ndim = static_cast<size_t>(source.ndim);
  std::array<int64_t, kMaxDims> strides{};
  int64_t last = 0, step = 1, numel = 1;
  for (size_t i = ndim; i-- > 0; step *= source.shape[i]) {
    strides[i] = source.strides ? source.strides[i] : step;
    if (strides[i] < 0 || source.shape[i] < 0) raise(ErrorKind::Value, "sizes and strides must not be negative");
    last += (source.shape[i] - 1) * strides[i];
    numel *= source.shape[i];
  }
  const size_t bytes = numel ? static_cast<size_t>(last + 1) * item_size(dtype) : 0;
  Tensor tensor = empty(std::array<int64_t, 1>{0}, dtype);
  char* start = static_cast<char*>(source.data) + source.byte_offset;
  Ref<Storage> storage = wrap_storage(start, bytes, release_imported, &managed);
  storage->escaped = true;
  Ref<Storage>::adopt(std::exchange(tensor->storage, storage.leak()));
  set_geometry(*tensor, {source.shape, ndim}, {strides.data(), ndim});
  return tensor;
}

// from_dlpack(object): a capsule, or an object with __dlpack__.
PyObject* from_dlpack(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!PyCapsule_CheckExact(object) && !PyObject_HasAttrString(object, "__dlpack__"))
      raise(ErrorKind::Runtime, "from_dlpack(): expected a capsule, or an object with __dlpack__, not %s",
            Py_TYPE(object)->tp_name);
    Object capsule =
        PyCapsule_CheckExact(object) ? Object::borrow(object) : own(PyObject_CallMethod(object, "__dlpack__", nullptr));
    if (!PyCapsule_IsValid(capsule.get(), kName))
      raise(ErrorKind::Runtime, "from_dlpack(): the capsule holds no tensor; each capsule can be used once");
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), kName));
    Tensor tensor = import_managed(*managed);
    checked(PyCapsule_SetName(capsule.get(), kUsedName));
    return wrap(std::move(tensor));
  });
}

PyMethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule over this tensor's memory."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "(device type, device index) as DLPack numbers them."},
    {},
};
PyMethodDef functions[] = {
    {"from_dlpack", from_dlpack, METH_O, "from_dlpack(object): a tensor over the memory of another framework's."},
    {},
};

}  // namespace

void add_dlpack(PyObject* module) {
  add_tensor_methods(methods);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
