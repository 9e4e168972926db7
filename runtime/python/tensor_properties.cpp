// Attributes of Tensor that read or set facts of the tensor itself; none of them runs an op.
#include "autograd/tensor_history.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "python/tensor_type.h"
#include "python/types.h"
#include "transforms/wrapper.h"

namespace pellucid::python {
namespace {

bool describes(PyObject* size, std::span<const int64_t> sizes) {
  if (PyTuple_GET_SIZE(size) != static_cast<Py_ssize_t>(sizes.size())) return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(size, static_cast<Py_ssize_t>(i))) != sizes[i]) return false;
  return true;
}

// Borrowed. Cached in the object: programs read it often and it rarely changes.
PyObject* shape_of(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  const std::span<const int64_t> sizes = object->tensor->shape();
  if (!object->shape || !describes(object->shape, sizes)) Py_XSETREF(object->shape, size_object(sizes));
  return object->shape;
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    if (tensor_of(self)->keys.has(Key::Nested)) return checked(PyObject_CallMethod(self, "size", nullptr));
    return new_reference(shape_of(self));
  });
}
PyObject* get_dtype(PyObject* self, void*) { return new_reference(dtype_object(tensor_of(self)->dtype)); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(tensor_of(self)->device); });
}
Layout layout_of(PyObject* self) {
  const Kind* kind = kind_of(*tensor_of(self));
  return kind ? kind->layout : Layout::Strided;
}
PyObject* get_layout(PyObject* self, void*) { return new_reference(layout_object(layout_of(self))); }
template <Layout layout>
PyObject* is_laid_out(PyObject* self, void*) {
  return PyBool_FromLong(layout_of(self) == layout);
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self)->ndim); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(tensor_of(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) {
  const TensorImpl& tensor = *tensor_of(self);
  return PyLong_FromLongLong(tensor.numel * static_cast<int64_t>(item_size(tensor.dtype)));
}
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    if (tensor_of(self)->flags & TensorImpl::kInference)
      raise(ErrorKind::Runtime,
            "Inference tensors do not track version counter: in-place writes to them are not counted");
    return PyLong_FromUnsignedLong(tensor_of(self)->version().load());
  });
}
PyObject* get_base(PyObject* self, void*) {
  return guarded([&] { return wrap_or_none(Tensor::share(tensor_of(self)->base)); });
}
PyObject* get_name(PyObject*, void*) { return none(); }

template <DeviceType type>
PyObject* is_on(PyObject* self, void*) {
  return PyBool_FromLong(tensor_of(self)->device.type == type);
}
PyObject* always_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* is_quantized(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self)->keys.has(Key::Quantized)); }

PyObject* is_nested(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self)->keys.has(Key::Nested)); }

PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(requires_grad(*innermost_value(tensor_of(self))));
}

int put_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || !PyBool_Check(value)) raise(ErrorKind::Runtime, "requires_grad must be set to a bool");
    if (!is_leaf(*tensor_of(self))) refuse_flag_of_result(*tensor_of(self));
    set_requires_grad_checked(*tensor_of(self), value == Py_True);
  });
}

PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(is_leaf(*innermost_value(tensor_of(self)))); });
}
PyObject* get_output_number(PyObject* self, void*) {
  const AutogradMeta* meta = tensor_of(self)->autograd;
  return PyLong_FromUnsignedLong(meta ? meta->output_number : 0);
}
PyObject* get_retains_grad(PyObject* self, void*) { return PyBool_FromLong(retains_grad(*tensor_of(self))); }

PyObject* get_grad(PyObject* self, void*) {
  if (!tensor_of(self)->autograd) Py_RETURN_NONE;
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    Tensor grad = grad_of(tensor);
    if (!grad && !retains_grad(tensor) && !is_leaf(tensor))
      warn(
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed: backward() does not fill it.\n"
          "Call retain_grad() on the tensor before, or read the .grad of the leaf that was meant.");
    return wrap_or_none(std::move(grad));
  });
}

int put_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || value == Py_None) return set_grad(*tensor_of(self), nullptr);
    if (!is_tensor(value))
      raise(ErrorKind::Type, "grad must be set to a Tensor or None, not %s", Py_TYPE(value)->tp_name);
    set_grad(*tensor_of(self), Tensor::share(tensor_of(value)));
  });
}

PyObject* get_grad_dtype(PyObject* self, void*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (!is_leaf(tensor)) raise(ErrorKind::Runtime, "grad_dtype can only be read of leaf tensors");
    const std::optional<DType> dtype = grad_dtype_of(tensor);
    return dtype ? new_reference(dtype_object(*dtype)) : none();
  });
}

int put_grad_dtype(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (!is_leaf(tensor)) raise(ErrorKind::Runtime, "grad_dtype can only be set on leaf tensors");
    if (value == Py_None) return set_grad_dtype(tensor, {});
    if (!value || !is_dtype(value))
      raise(ErrorKind::Runtime, "grad_dtype must be set to a dtype or None, not %s",
            value ? Py_TYPE(value)->tp_name : "deleted");
    set_grad_dtype(tensor, dtype_of(value));
  });
}

PyObject* get_data(PyObject* self, void*) {
  return guarded([&] { return wrap(tensor_data(*tensor_of(self))); });
}

int put_data(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value) raise(ErrorKind::Runtime, "data cannot be deleted");
    if (!is_tensor(value)) raise(ErrorKind::Type, "data must be set to a Tensor, not %s", Py_TYPE(value)->tp_name);
    set_data(*tensor_of(self), *tensor_of(value));
  });
}

#define READ_ONLY(name, function, doc) {name, function, nullptr, doc, nullptr}

PyGetSetDef queries[] = {
    READ_ONLY("shape", get_shape, "The sizes, as a Size."),
    READ_ONLY("dtype", get_dtype, "The type of the elements."),
    READ_ONLY("device", get_device, "Where the memory is."),
    READ_ONLY("layout", get_layout, "The memory layout."),
    READ_ONLY("ndim", get_ndim, "The number of dimensions."),
    READ_ONLY("itemsize", get_itemsize, "Bytes of one element."),
    READ_ONLY("nbytes", get_nbytes, "Bytes of all elements."),
    READ_ONLY("name", get_name, "None: tensors have no names."),
    READ_ONLY("is_cpu", is_on<DeviceType::CPU>, "Whether the memory is the CPU's."),
    READ_ONLY("is_cuda", is_on<DeviceType::CUDA>, "Whether the memory is a CUDA GPU's."),
    READ_ONLY("is_meta", is_on<DeviceType::Meta>, "Whether the tensor has a shape but no memory."),
    READ_ONLY("is_sparse", is_laid_out<Layout::SparseCoo>, "Whether the layout is sparse_coo."),
    READ_ONLY("is_sparse_csr", is_laid_out<Layout::SparseCsr>, "Whether the layout is sparse_csr."),
    READ_ONLY("is_quantized", is_quantized, "Whether the elements are integers with a scale."),
    READ_ONLY("is_mkldnn", always_false, "Whether the layout is oneDNN's: never."),
    READ_ONLY("is_mps", is_on<DeviceType::MPS>, "Whether the device is of type mps."),
    READ_ONLY("is_xpu", is_on<DeviceType::XPU>, "Whether the device is of type xpu."),
    READ_ONLY("is_xla", is_on<DeviceType::XLA>, "Whether the device is of type xla."),
    READ_ONLY("is_ipu", is_on<DeviceType::IPU>, "Whether the device is of type ipu."),
    READ_ONLY("is_maia", is_on<DeviceType::MAIA>, "Whether the device is of type maia."),
    READ_ONLY("is_mtia", is_on<DeviceType::MTIA>, "Whether the device is of type mtia."),
    READ_ONLY("is_vulkan", is_on<DeviceType::Vulkan>, "Whether the device is of type vulkan."),
    READ_ONLY("is_nested", is_nested, "Whether its examples have sizes of their own."),
    READ_ONLY("is_leaf", get_is_leaf, "Whether no op made this tensor (as far as gradients know)."),
    {"requires_grad", get_requires_grad, put_requires_grad, "Whether gradients flow to this tensor.", nullptr},
    {},
};

PyGetSetDef attributes[] = {
    READ_ONLY("_version", get_version, "How often the memory was written in place."),
    READ_ONLY("_base", get_base, "The tensor this is a view of, or None."),
    READ_ONLY("output_nr", get_output_number, "Which result of its op this tensor is."),
    READ_ONLY("retains_grad", get_retains_grad, "Whether backward fills the grad of this non-leaf."),
    {"grad", get_grad, put_grad, "The accumulated gradient, or None.", nullptr},
    {"grad_dtype", get_grad_dtype, put_grad_dtype, "The dtype of a leaf's gradients; None: any.", nullptr},
    {"data", get_data, put_data, "An alias outside of the graph.", nullptr},
    {"_grad", get_grad, put_grad, "The gradient: ``grad`` under another name.", nullptr},
    {},
};
#undef READ_ONLY

PyObject* requires_grad_in_place(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"requires_grad", nullptr};
    PyObject* value = Py_True;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!:requires_grad_", const_cast<char**>(names), &PyBool_Type,
                                     &value))
      return nullptr;
    refuse_in_transforms("requires_grad_");
    set_requires_grad_checked(*tensor_of(self), value == Py_True);
    return new_reference(self);
  });
}

PyMethodDef methods[] = {
    {"requires_grad_", reinterpret_cast<PyCFunction>(requires_grad_in_place), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_(requires_grad=True): turns recording of gradients on or off; returns self."},
    {},
};

}  // namespace

void add_tensor_properties() {
  add_tensor_queries(queries);
  add_tensor_attributes(attributes);
  add_tensor_methods(methods);
}

}  // namespace pellucid::python
