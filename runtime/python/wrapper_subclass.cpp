#include "python/wrapper_subclass.h"

#include <utility>

#include "core/format.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "core/layout.h"
#include "core/pending.h"
#include "python/convert.h"
#include "python/dispatch_protocol.h"
#include "python/tensor_type.h"
#include "transforms/wrapper.h"

namespace pellucid::python {
namespace {

// Called by TensorImpl::data(): a transform's tensor has the memory of the wrapped one, a wrapper subclass has none.
void find_memory_or_refuse(TensorImpl& tensor) {
  if (tensor.wrapper) return find_memory(tensor);
  if (kind_of(tensor)) raise_without_memory(tensor);
  if (core_hooks.find_recorded && core_hooks.find_recorded(tensor)) return;
  const char* type = tensor.python ? Py_TYPE(static_cast<PyObject*>(tensor.python))->tp_name : "tensor subclass";
  raise(ErrorKind::Runtime,
        "a %s of shape %s was made by _make_wrapper_subclass and has no memory of its own to read.\n"
        "Its __torch_dispatch__ must compute the result from the tensors it holds.",
        type, format_sizes(tensor.shape()).c_str());
}

// _make_wrapper(cls, like, device, offset)
PyObject* make_wrapper(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *type, *geometry, *device_object;
    long long offset;
    if (!PyArg_ParseTuple(args, "OOOL:_make_wrapper", &type, &geometry, &device_object, &offset)) return nullptr;
    Value device_value;
    if (!to_handle(ArgType::Device, device_object, device_value)) raise(ErrorKind::Type, "a wrapper needs a device");
    const Device device = decode_device(device_value.integer);
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_base_type))
      raise(ErrorKind::Type, "_make_wrapper_subclass takes a subclass of Tensor");
    if (!defines_dispatch(reinterpret_cast<PyTypeObject*>(type)))
      raise(ErrorKind::Runtime, "%s must define __torch_dispatch__: a wrapper has no memory that ops could read",
            reinterpret_cast<PyTypeObject*>(type)->tp_name);
    if (!is_tensor(geometry)) raise(ErrorKind::Type, "_make_wrapper takes a tensor whose geometry the wrapper gets");
    const TensorImpl& like = *tensor_of(geometry);
    Tensor tensor = empty({}, like.dtype, device);
    if (tensor->storage->release()) destroy(std::exchange(tensor->storage, nullptr));
    tensor->storage = allocate_storage(0, device).leak();
    set_geometry(*tensor, like.shape(), like.stride());
    tensor->offset = offset;
    set_pending(*tensor, pending_of(like));
    tensor->flags |= TensorImpl::kNoMemory;
    return wrap_as(reinterpret_cast<PyTypeObject*>(type), std::move(tensor));
  });
}

// _share_storage(tensor, source): makes the result of a view op, returned by a handler, an alias of its source.
PyObject* share_storage(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object, *source;
    if (!PyArg_ParseTuple(args, "OO:_share_storage", &object, &source)) return nullptr;
    if (!is_tensor(object) || !is_tensor(source)) raise(ErrorKind::Type, "_share_storage takes two tensors");
    TensorImpl &tensor = *tensor_of(object), &origin = *tensor_of(source);
    origin.storage->retain();
    Storage* old = std::exchange(tensor.storage, origin.storage);
    if (old->release()) destroy(old);
    return none();
  });
}

PyObject* has_no_memory(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!is_tensor(object)) raise(ErrorKind::Type, "_has_no_memory takes a tensor");
    return PyBool_FromLong(tensor_of(object)->flags & TensorImpl::kNoMemory);
  });
}

PyMethodDef functions[] = {
    {"_has_no_memory", has_no_memory, METH_O, "_has_no_memory(tensor): whether it consists of other tensors alone."},
    {"_make_wrapper", make_wrapper, METH_VARARGS,
     "_make_wrapper(cls, like, device, offset): an object of `cls` with the sizes and strides of `like`, and what is\n"
     "pending of it, but no memory."},
    {"_share_storage", share_storage, METH_VARARGS, "_share_storage(tensor, source): takes the source's storage."},
    {},
};

}  // namespace

void add_wrapper_subclass(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  core_hooks.find_memory = find_memory_or_refuse;
}

}  // namespace pellucid::python
