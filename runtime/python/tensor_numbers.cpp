// Tensors as Python values: item, tolist, bool(), int(), float(), complex(), index, len().
#include "kernels/host_shadow.h"
#include "python/call_lines.h"
#include "python/function_protocol.h"
#include "python/numbers.h"
#include "python/tensor_type.h"
#include "python/value_reads.h"

namespace pellucid::python {
namespace {

TensorImpl& require_one_element(PyObject* self, ErrorKind kind, const char* purpose) {
  TensorImpl& tensor = *tensor_of(self);
  if (tensor.numel != 1) {
    raise(kind,
          "a Tensor with %lld elements cannot be converted to %s: only one element tensors can be converted to "
          "Python scalars (use tolist())",
          static_cast<long long>(tensor.numel), purpose);
  }
  return tensor;
}

Object only_element(PyObject* self, ErrorKind kind, const char* purpose) {
  TensorImpl& tensor = require_one_element(self, kind, purpose);
  if (tensor.keys.has(Key::Quantized)) [[unlikely]]
    return only_element(own(PyObject_CallMethod(self, "dequantize", nullptr)).get(), kind, purpose);
  if (tensor.device.type == DeviceType::Meta)
    raise(ErrorKind::Runtime, "Tensor.item() cannot be called on meta tensors: they have a shape but no elements");
  note_value_read(purpose);
  note_line();
  const TextScope event(EventKind::Read, "aten::item");
  if (tensor.is_off_host() || tensor.flags & TensorImpl::kPending) [[unlikely]]
    return own(element_object(on_host(tensor)->host(), tensor.dtype));
  return own(element_object(tensor.host(), tensor.dtype));
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return only_element(self, ErrorKind::Runtime, "Scalar").leak(); });
}

PyObject* nested_list(TensorImpl& tensor, const char* address, int dim) {
  if (dim == tensor.ndim) return element_object(address, tensor.dtype);
  const int64_t step = tensor.strides[dim] * static_cast<int64_t>(item_size(tensor.dtype));
  Object list = own(PyList_New(tensor.sizes[dim]));
  for (int64_t i = 0; i < tensor.sizes[dim]; ++i)
    PyList_SET_ITEM(list.get(), i, nested_list(tensor, address + i * step, dim + 1));
  return list.leak();
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.device.type == DeviceType::Meta)
      raise(ErrorKind::NotImplemented,
            "Tensor.tolist() cannot be called on meta tensors: they have a shape but no elements");
    note_value_read("tolist()");
    note_line();
    const TextScope event(EventKind::Read, "tolist");
    const Tensor readable = on_host(tensor);
    return nested_list(*readable, tensor.numel ? readable->host() : nullptr, 0);
  });
}

int to_bool(PyObject* self) {
  int truth = -1;
  const int status = guarded_status([&] {
    if (slot_is_overridden(self)) [[unlikely]] {
      truth = PyObject_IsTrue(own(call_slot_override("__bool__", {&self, 1})).get());
      return checked(truth);
    }
    TensorImpl& tensor = *tensor_of(self);
    if (tensor.numel != 1) {
      raise(ErrorKind::Runtime, "Boolean value of Tensor with %s is ambiguous: use any(), all() or numel()",
            tensor.numel ? "more than one value" : "no values");
    }
    truth = PyObject_IsTrue(only_element(self, ErrorKind::Runtime, "bool").get());
    checked(truth);
  });
  return status < 0 ? -1 : truth;
}

// A complex number without an imaginary part counts as real.
Object only_real_element(PyObject* self, const char* type) {
  Object number = only_element(self, ErrorKind::Value, type);
  if (!PyComplex_Check(number.get())) return number;
  if (PyComplex_ImagAsDouble(number.get()) != 0)
    raise(ErrorKind::Runtime,
          "a complex number with an imaginary part cannot be converted to %s: take its real part or "
          "abs() first",
          type);
  return own(PyFloat_FromDouble(PyComplex_RealAsDouble(number.get())));
}

PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (slot_is_overridden(self)) [[unlikely]]
      return call_slot_override("__int__", {&self, 1});
    Object number = only_real_element(self, "int");
    return checked(PyNumber_Long(number.get()));
  });
}

PyObject* to_float(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (slot_is_overridden(self)) [[unlikely]]
      return call_slot_override("__float__", {&self, 1});
    Object number = only_real_element(self, "float");
    return checked(PyNumber_Float(number.get()));
  });
}

PyObject* to_complex(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (slot_is_overridden(self)) [[unlikely]]
      return call_slot_override("__complex__", {&self, 1});
    Object number = only_element(self, ErrorKind::Value, "complex");
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number.get()));
  });
}

PyObject* to_index(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (slot_is_overridden(self)) [[unlikely]]
      return call_slot_override("__index__", {&self, 1});
    const TensorImpl& tensor = *tensor_of(self);
    if (tensor.numel != 1 || category(tensor.dtype) > DTypeCategory::Integral)
      raise(ErrorKind::Type, "only one-element tensors of integers can be an index");
    Object number = only_element(self, ErrorKind::Type, "an index");
    return checked(PyNumber_Long(number.get()));
  });
}

PyMethodDef methods[] = {
    {"item", item, METH_NOARGS, "The only element, as a Python number."},
    {"tolist", tolist, METH_NOARGS, "All elements as nested lists of Python numbers; of a 0-d tensor the number."},
    {"__complex__", to_complex, METH_NOARGS, nullptr},
    {},
};

}  // namespace

void fill_number_slots(PyNumberMethods& number) {
  number.nb_bool = to_bool;
  number.nb_int = to_int;
  number.nb_float = to_float;
  number.nb_index = to_index;
}

void add_number_methods() { add_tensor_methods(methods); }

}  // namespace pellucid::python
