// torch.tensor of Python data: shape and dtype from a nested list, then one pass that fills.
#include <cstring>
#include <vector>

#include "core/defaults.h"
#include "core/recording.h"
#include "kernels/conversion.h"
#include "kernels/host_shadow.h"
#include "python/convert.h"
#include "python/data_in.h"
#include "python/numbers.h"
#include "python/tensor_object.h"

namespace pellucid::python {
namespace {

bool is_list(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// Whether an object is another dimension: a list, tuple, range, array or tensor. A str is a leaf (and an error).
bool is_sequence(PyObject* object) {
  if (is_list(object)) return true;
  if (is_tensor(object)) return false;
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object);
}

std::vector<int64_t> infer_sizes(PyObject* object) {
  std::vector<int64_t> sizes;
  Object current = Object::borrow(object);
  while (is_sequence(current.get())) {
    const Py_ssize_t length = PySequence_Size(current.get());
    checked(static_cast<int>(length < 0 ? -1 : 0));
    sizes.push_back(length);
    if (sizes.size() > kMaxDims) raise(ErrorKind::Value, "the data is nested more than %d deep", kMaxDims);
    if (length == 0) break;
    current = own(PySequence_GetItem(current.get(), 0));
  }
  if (!sizes.empty() && PyUnicode_Check(current.get()))
    raise(ErrorKind::Value, "a str cannot become part of a tensor: numbers were expected");
  return sizes;
}

std::optional<DType> join(std::optional<DType> a, std::optional<DType> b) {
  if (!a || !b) return a ? a : b;
  return promote(*a, *b);
}

[[noreturn]] void raise_no_number(PyObject* object) {
  if (PyUnicode_Check(object) || PyBytes_Check(object))
    raise(ErrorKind::Type, "a %s cannot become part of a tensor: numbers were expected", Py_TYPE(object)->tp_name);
  raise(ErrorKind::Runtime,
        "no dtype is known for an object of type %s: numbers, lists of numbers or arrays were "
        "expected",
        Py_TYPE(object)->tp_name);
}

DType number_dtype(PyObject* object) {
  if (PyFloat_CheckExact(object)) return default_dtype();
  if (PyBool_Check(object)) return DType::Bool;
  if (PyLong_Check(object)) return DType::Int64;
  if (PyComplex_CheckExact(object)) return default_complex_dtype();
  if (is_tensor(object)) return tensor_of(object)->dtype;
  if (is_array_like(object)) return share_array(object)->dtype;  // NumPy's float64 is a float, too
  if (PyFloat_Check(object)) return default_dtype();
  if (PyComplex_Check(object)) return default_complex_dtype();
  raise_no_number(object);
}

// Empty for an empty list.
std::optional<DType> infer_dtype(PyObject* object) {
  if (is_tensor(object) || is_array_like(object) || !is_sequence(object)) return number_dtype(object);
  std::optional<DType> dtype;
  const Py_ssize_t length = PySequence_Size(object);
  for (Py_ssize_t i = 0; i < length; ++i) {
    Object item = own(PySequence_GetItem(object, i));
    dtype = join(dtype, infer_dtype(item.get()));
    if (dtype == DType::Complex128) break;
  }
  return dtype;
}

// Lists of floats or small ints, the usual case, without a call per element.
bool fill_run(char* address, DType dtype, PyObject* const* items, int64_t count) {
  int64_t integer;
  switch (dtype) {
    case DType::Float32:
      for (int64_t i = 0; i < count; ++i) {
        if (!PyFloat_CheckExact(items[i])) return false;
        reinterpret_cast<float*>(address)[i] = static_cast<float>(PyFloat_AS_DOUBLE(items[i]));
      }
      return true;
    case DType::Int64:
      for (int64_t i = 0; i < count; ++i) {
        if (!is_small_integer(items[i], integer)) return false;
        reinterpret_cast<int64_t*>(address)[i] = integer;
      }
      return true;
    default: return false;
  }
}

void fill(TensorImpl& tensor, size_t dim, char* address, PyObject* object) {
  if (dim == tensor.ndim) return write_element(address, tensor.dtype, object);
  const int64_t size = tensor.sizes[dim];
  const Py_ssize_t length = is_sequence(object) ? PySequence_Size(object) : -1;
  if (PyUnicode_Check(object) || PyBytes_Check(object)) raise_no_number(object);
  if (length != size) {
    PyErr_Clear();
    raise(length < 0 ? ErrorKind::Type : ErrorKind::Value,
          "expected sequence of length %lld at dim %zu (got %s): the lists of a tensor have one length per dim",
          static_cast<long long>(size), dim, length < 0 ? Py_TYPE(object)->tp_name : std::to_string(length).c_str());
  }
  const auto step = tensor.strides[dim] * static_cast<int64_t>(item_size(tensor.dtype));
  if (is_list(object)) {
    PyObject** items = PySequence_Fast_ITEMS(object);
    if (dim + 1 == tensor.ndim && fill_run(address, tensor.dtype, items, size)) return;
    for (int64_t i = 0; i < size; ++i) {
      if (PySequence_Fast_GET_SIZE(object) != size) raise(ErrorKind::Runtime, "the data changed while it was read");
      Object item = Object::borrow(PySequence_Fast_GET_ITEM(object, i));
      fill(tensor, dim + 1, address + i * step, item.get());
    }
    return;
  }
  for (int64_t i = 0; i < size; ++i) {
    Object item = own(PySequence_GetItem(object, i));
    fill(tensor, dim + 1, address + i * step, item.get());
  }
}

// Axes of at most two dimensions at a time go through the element conversion.
void convert_dims(TensorImpl& to, char* to_address, TensorImpl& from, char* from_address, int dim) {
  const auto to_item = static_cast<int64_t>(item_size(to.dtype)),
             from_item = static_cast<int64_t>(item_size(from.dtype));
  if (to.ndim - dim > 2) {
    for (int64_t i = 0; i < to.sizes[dim]; ++i)
      convert_dims(to, to_address + i * to.strides[dim] * to_item, from,
                   from_address + i * from.strides[dim] * from_item, dim + 1);
    return;
  }
  Run run{{1, 1}, {0, 0}, {0, 0}};
  for (int axis = to.ndim - 1, place = 0; axis >= dim; --axis, ++place) {
    run.sizes[place] = to.sizes[axis];
    run.to_strides[place] = to.strides[axis] * to_item;
    run.from_strides[place] = from.strides[axis] * from_item;
  }
  convert(to.dtype, to_address, from.dtype, from_address, run);
}

}  // namespace

Tensor cast_copy(TensorImpl& source, DType dtype) {
  Tensor copy = empty(source.shape(), dtype);
  const Tensor readable = on_host(source);
  if (source.numel) convert_dims(*copy, copy->host(), *readable, readable->host(), 0);
  return copy;
}

Tensor copy_of_data(PyObject* object, std::optional<DType> dtype) {
  if (is_tensor(object) || is_array_like(object)) refuse_replay("data is copied from a tensor or an array");
  if (is_tensor(object)) return cast_copy(*tensor_of(object), dtype.value_or(tensor_of(object)->dtype));
  if (is_array_like(object)) {
    Tensor shared = share_array(object);
    return cast_copy(*shared, dtype.value_or(shared->dtype));
  }
  const std::vector<int64_t> sizes = infer_sizes(object);
  const DType chosen = dtype ? *dtype : infer_dtype(object).value_or(default_dtype());
  Tensor tensor = empty(sizes, chosen);
  if (sizes.empty() && !PyNumber_Check(object)) raise_no_number(object);
  fill(*tensor, 0, tensor->host(), object);
  note_made(*tensor, true);
  return tensor;
}

Tensor index_from_sequence(PyObject* object) {
  Tensor index = copy_of_data(object, std::nullopt);
  return index->numel == 0 && !is_array_like(object) ? empty(index->shape(), DType::Int64) : index;
}

}  // namespace pellucid::python
