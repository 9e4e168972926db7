// Attributes of Tensor that read or set facts of the tensor itself; none of them runs an op.
#include <algorithm>
#include <string>

#include "autograd/node.h"
#include "core/format.h"
#include "core/thread_state.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return size_object(tensor_of(self)->shape()); });
}
PyObject* get_dtype(PyObject* self, void*) { return new_reference(dtype_object(tensor_of(self)->dtype)); }
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(tensor_of(self)->device); });
}
PyObject* get_layout(PyObject*, void*) { return new_reference(layout_object(Layout::Strided)); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self)->ndim); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(tensor_of(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) {
  const TensorImpl& tensor = *tensor_of(self);
  return PyLong_FromLongLong(tensor.numel * static_cast<int64_t>(item_size(tensor.dtype)));
}
PyObject* get_version(PyObject* self, void*) { return PyLong_FromUnsignedLong(tensor_of(self)->version().load()); }
PyObject* get_base(PyObject* self, void*) {
  return guarded([&] { return wrap_or_none(Tensor::share(tensor_of(self)->base)); });
}
PyObject* get_name(PyObject*, void*) { return none(); }

template <DeviceType type>
PyObject* is_on(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self)->device.type == type); }
PyObject* always_false(PyObject*, void*) { Py_RETURN_FALSE; }

PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(tensor_of(self)->requires_grad());
}

bool is_leaf(const TensorImpl& tensor) { return !tensor.autograd || !tensor.autograd->grad_fn; }

void change_requires_grad(TensorImpl& tensor, bool value) {
  if (value && !is_differentiable(tensor.dtype)) {
    raise(ErrorKind::Runtime,
          "a tensor of dtype %s cannot require gradients: only floating point and complex dtypes can",
          std::string(name(tensor.dtype)).c_str());
  }
  if (!is_leaf(tensor)) {
    if (value) return;
    raise(ErrorKind::Runtime,
          "requires_grad of the result of an op cannot be switched off: it belongs to a graph\n"
          "use detach() for a tensor that needs no gradient");
  }
  if (tensor.flags & TensorImpl::kInference && value && !thread_state.inference_mode) {
    raise(ErrorKind::Runtime, "a tensor made in inference mode cannot require gradients outside of it: clone() it");
  }
  set_requires_grad(tensor, value);
}

int put_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || !PyBool_Check(value)) raise(ErrorKind::Runtime, "requires_grad must be a bool");
    change_requires_grad(*tensor_of(self), value == Py_True);
  });
}

PyObject* get_is_leaf(PyObject* self, void*) { return PyBool_FromLong(is_leaf(*tensor_of(self))); }
PyObject* get_output_number(PyObject* self, void*) {
  const AutogradMeta* meta = tensor_of(self)->autograd;
  return PyLong_FromUnsignedLong(meta ? meta->output_number : 0);
}
PyObject* get_retains_grad(PyObject* self, void*) {
  const AutogradMeta* meta = tensor_of(self)->autograd;
  return PyBool_FromLong(meta && meta->grad_fn && meta->retains_grad);
}

PyObject* get_grad(PyObject* self, void*) {
  const AutogradMeta* meta = tensor_of(self)->autograd;
  if (!meta || !meta->grad) Py_RETURN_NONE;
  return guarded([&] { return wrap(meta->grad); });
}

void check_grad(const TensorImpl& tensor, PyObject* value) {
  if (!is_tensor(value))
    raise(ErrorKind::Type, "grad must be set to a Tensor or None, not %s", Py_TYPE(value)->tp_name);
  const TensorImpl& grad = *tensor_of(value);
  if (&grad == &tensor) raise(ErrorKind::Runtime, "a tensor cannot be its own grad");
  if (grad.dtype != tensor.dtype) {
    raise(ErrorKind::Runtime, "a gradient of dtype %s was assigned to a tensor of dtype %s: they must be equal",
          std::string(name(grad.dtype)).c_str(), std::string(name(tensor.dtype)).c_str());
  }
  if (!(grad.device == tensor.device)) {
    raise(ErrorKind::Runtime, "a gradient on device %s was assigned to a tensor on device %s",
          device_name(grad.device).c_str(), device_name(tensor.device).c_str());
  }
  if (!std::ranges::equal(grad.shape(), tensor.shape())) {
    raise(ErrorKind::Runtime, "a gradient of size %s was assigned to a tensor of size %s: they must be equal",
          format_sizes(grad.shape()).c_str(), format_sizes(tensor.shape()).c_str());
  }
}

int put_grad(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (!value || value == Py_None) {
      if (tensor.autograd) tensor.autograd->grad = nullptr;
      return;
    }
    check_grad(tensor, value);
    autograd_meta(tensor).grad = Tensor::share(tensor_of(value));
  });
}

// An alias without history whose in-place changes saved values do not notice.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    tensor.data();  // a recorded value must exist before its storage is shared
    Tensor alias = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, /*detached=*/true);
    alias->own_version = new VersionCell;
    alias->flags |= TensorImpl::kOwnVersion;
    return wrap(std::move(alias));
  });
}

// The tensor becomes `source` to all who hold it; its place in the graph and its grad stay.
void replace_contents(TensorImpl& tensor, TensorImpl& source) {
  source.data();  // a recorded value must exist before its storage is shared
  const uint64_t backend = (source.keys & kBackends).bits();
  tensor.keys = (tensor.keys - kBackends) | KeySet::from_bits(backend);
  tensor.dtype = source.dtype;
  tensor.device = source.device;
  tensor.offset = source.offset;
  Ref<Storage> previous = Ref<Storage>::adopt(tensor.storage);
  tensor.storage = Ref<Storage>::share(source.storage).leak();
  set_geometry(tensor, source.shape(), source.stride());
}

int put_data(PyObject* self, PyObject* value, void*) {
  return guarded_status([&] {
    if (!value || !is_tensor(value)) {
      raise(ErrorKind::Type, "data must be set to a Tensor, not %s", value ? Py_TYPE(value)->tp_name : "deleted");
    }
    TensorImpl& tensor = *tensor_of(self);
    TensorImpl& source = *tensor_of(value);
    if (tensor.requires_grad() && !is_differentiable(source.dtype)) {
      raise(ErrorKind::Runtime, "data of a tensor that requires gradients must be floating point or complex, not %s",
            std::string(name(source.dtype)).c_str());
    }
    replace_contents(tensor, source);
  });
}

#define READ_ONLY(name, function, doc) {name, function, nullptr, doc, nullptr}

PyGetSetDef attributes[] = {
    READ_ONLY("shape", get_shape, "The sizes, as a Size."),
    READ_ONLY("dtype", get_dtype, "The type of the elements."),
    READ_ONLY("device", get_device, "Where the memory is."),
    READ_ONLY("layout", get_layout, "How the elements lie in memory."),
    READ_ONLY("ndim", get_ndim, "The number of dimensions."),
    READ_ONLY("itemsize", get_itemsize, "Bytes of one element."),
    READ_ONLY("nbytes", get_nbytes, "Bytes of all elements."),
    READ_ONLY("_version", get_version, "How often the memory was written in place."),
    READ_ONLY("_base", get_base, "The tensor this is a view of, or None."),
    READ_ONLY("name", get_name, nullptr),
    READ_ONLY("is_cpu", is_on<DeviceType::CPU>, "Whether the memory is the CPU's."),
    READ_ONLY("is_cuda", is_on<DeviceType::CUDA>, "Whether the memory is a CUDA GPU's."),
    READ_ONLY("is_meta", is_on<DeviceType::Meta>, "Whether there is no memory, only a shape."),
    READ_ONLY("is_sparse", always_false, nullptr),
    READ_ONLY("is_sparse_csr", always_false, nullptr),
    READ_ONLY("is_quantized", always_false, nullptr),
    READ_ONLY("is_mkldnn", always_false, nullptr),
    READ_ONLY("is_mps", always_false, nullptr),
    READ_ONLY("is_xpu", always_false, nullptr),
    READ_ONLY("is_nested", always_false, nullptr),
    READ_ONLY("is_leaf", get_is_leaf, "Whether no op made this tensor (as far as gradients know)."),
    READ_ONLY("output_nr", get_output_number, "Which result of its op this tensor is."),
    READ_ONLY("retains_grad", get_retains_grad, "Whether backward fills the grad of this non-leaf."),
    {"requires_grad", get_requires_grad, put_requires_grad, "Whether gradients flow to this tensor.", nullptr},
    {"grad", get_grad, put_grad, "The accumulated gradient, or None.", nullptr},
    {"data", get_data, put_data, "An alias outside of the graph.", nullptr},
    {"_grad", get_grad, put_grad, nullptr, nullptr},
    {},
};
#undef READ_ONLY

PyObject* requires_grad_in_place(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"requires_grad", nullptr};
    int value = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &value))
      return nullptr;
    change_requires_grad(*tensor_of(self), value != 0);
    return new_reference(self);
  });
}

PyMethodDef methods[] = {
    {"requires_grad_", reinterpret_cast<PyCFunction>(requires_grad_in_place), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_(requires_grad=True): asks for gradients; returns self."},
    {},
};

}  // namespace

void add_tensor_properties() {
  add_tensor_attributes(attributes);
  add_tensor_methods(methods);
}

}  // namespace pellucid::python
