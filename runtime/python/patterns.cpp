// Structure of sparse tensors for Python (library/patterns.h): sorted keys, row pointers, patterns of products; and
// their triangular systems (library/compressed_systems.h).
#include "library/patterns.h"

#include "library/compressed_systems.h"

#include "python/boxing.h"
#include "python/contexts.h"
#include "python/convert.h"
#include "python/tensor_type.h"

namespace pellucid::python {
namespace {

patterns::Indices indices_of(PyObject* object) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
  TensorImpl& tensor = *tensor_of(object);
  if (tensor.dtype != DType::Int64 || tensor.ndim != 1 || !(tensor.flags & TensorImpl::kContiguous))
    raise(ErrorKind::Runtime, "expected a contiguous vector of int64");
  return {reinterpret_cast<const int64_t*>(tensor.host()), static_cast<size_t>(tensor.numel)};
}

Tensor contiguous_of(PyObject* object, int64_t dims) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
  TensorImpl& tensor = *tensor_of(object);
  if (tensor.ndim != dims || !tensor.is_contiguous())
    raise(ErrorKind::Runtime, "expected a contiguous tensor of %lld dims", static_cast<long long>(dims));
  return Tensor::share(&tensor);
}

int64_t integer_of(PyObject* object) {
  int64_t found = 0;
  if (!to_integer(object, found)) raise(ErrorKind::Type, "expected an int, not %s", Py_TYPE(object)->tp_name);
  return found;
}

template <class... Each>
PyObject* tuple_of(Each&&... each) {
  Object made = own(PyTuple_New(sizeof...(each)));
  Py_ssize_t place = 0;
  (PyTuple_SET_ITEM(made.get(), place++, checked(wrap(std::move(each)))), ...);
  return made.leak();
}

// The arguments of a call; raises unless there are `count`.
struct Given {
  Given(PyObject* const* args, Py_ssize_t given, Py_ssize_t count) : args(args) {
    if (given != count)
      raise(ErrorKind::Type, "expected %lld arguments, got %lld", static_cast<long long>(count),
            static_cast<long long>(given));
  }
  patterns::Indices indices(int k) const { return indices_of(args[k]); }
  int64_t integer(int k) const { return integer_of(args[k]); }
  PyObject* const* args;
};

std::vector<int64_t> sizes_of(PyObject* object) {
  Object sequence = own(PySequence_Fast(object, "expected a sequence of sizes"));
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    sizes.push_back(integer_of(PySequence_Fast_GET_ITEM(sequence.get(), i)));
  return sizes;
}

PyObject* grouped_indices(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 2);
    const Tensor indices = contiguous_of(args[0], 2);
    const std::vector<int64_t> sizes = sizes_of(args[1]);
    if (indices->dtype != DType::Int64 || indices->sizes[0] != static_cast<int64_t>(sizes.size()))
      raise(ErrorKind::Runtime, "expected a row of int64 for each of %lld sizes", static_cast<long long>(sizes.size()));
    auto found = patterns::grouped(reinterpret_cast<const int64_t*>(indices->host()), indices->sizes[1], sizes);
    return tuple_of(std::move(found.indices), std::move(found.order), std::move(found.numbers));
  });
}

PyObject* merged_keys(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 2);
    auto found = patterns::merged(given.indices(0), given.indices(1));
    return tuple_of(std::move(found.keys), std::move(found.first), std::move(found.second));
  });
}

PyObject* merged_rows(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 4);
    auto found = patterns::merged_rows(given.indices(0), given.indices(1), given.indices(2), given.indices(3));
    return tuple_of(std::move(found.pointers), std::move(found.columns), std::move(found.first),
                    std::move(found.second));
  });
}

PyObject* row_numbers(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 2);
    return wrap(patterns::row_numbers(given.indices(0), given.integer(1)));
  });
}

PyObject* row_pointers(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 2);
    return wrap(patterns::row_pointers(given.indices(0), given.integer(1)));
  });
}

PyObject* longest_row(PyObject*, PyObject* pointers) {
  return guarded([&] { return PyLong_FromLongLong(patterns::longest_row(indices_of(pointers))); });
}

PyObject* unravelled_keys(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 2);
    return wrap(patterns::unravelled(given.indices(0), sizes_of(args[1])));
  });
}

PyObject* multiplied_patterns(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 5);
    auto found =
        patterns::multiplied(given.indices(0), given.indices(1), given.indices(2), given.indices(3), given.integer(4));
    return tuple_of(std::move(found.pointers), std::move(found.columns), std::move(found.first),
                    std::move(found.second), std::move(found.elements));
  });
}

PyObject* solve_triangle(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Given given(args, count, 6);
    const Tensor values = contiguous_of(args[2], 1), b = contiguous_of(args[3], 2);
    if (values->dtype != b->dtype) raise(ErrorKind::Runtime, "both sides of a system have one dtype");
    const CompressedMatrix matrix{given.indices(0), given.indices(1), values};
    solve_triangle(matrix, given.integer(4) != 0, given.integer(5) != 0, b);
    return none();
  });
}

PyMethodDef functions[] = {
    {"_grouped_indices", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(grouped_indices)), METH_FASTCALL,
     "_grouped_indices(indices, sizes): (the distinct columns in order, the columns' order, the group of each)."},
    {"_merged_keys", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(merged_keys)), METH_FASTCALL,
     "_merged_keys(first, second): (the union of sorted distinct keys, their places in the first, in the second)."},
    {"_merged_rows", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(merged_rows)), METH_FASTCALL,
     "_merged_rows(pointers, columns, pointers, columns): (pointers, columns, places in the first, in the second)."},
    {"_row_numbers", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(row_numbers)), METH_FASTCALL,
     "_row_numbers(pointers, count): the row of each of `count` elements."},
    {"_row_pointers", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(row_pointers)), METH_FASTCALL,
     "_row_pointers(numbers, rows): where each row begins among sorted numbers, and the end."},
    {"_longest_row", longest_row, METH_O, "_longest_row(pointers): the most elements of a row."},
    {"_unravelled_keys", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(unravelled_keys)), METH_FASTCALL,
     "_unravelled_keys(keys, sizes): indices, a row for each dim."},
    {"_solve_triangle", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(solve_triangle)), METH_FASTCALL,
     "_solve_triangle(pointers, columns, values, b, is_upper, is_unit): overwrites b with the solution."},
    {"_multiplied_patterns", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(multiplied_patterns)),
     METH_FASTCALL,
     "_multiplied_patterns(pointers, columns, pointers, columns, num_columns): (pointers, columns, places in the "
     "first, "
     "in the second, in the product)."},
    {},
};

}  // namespace

void add_patterns(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
