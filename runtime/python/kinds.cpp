// Sparse, quantized and nested tensors for Python, and the fallback of their keys: an op on them is ops on their
// components.
//
// The fallback calls the kind's `answer` function (pellucid.sparse._ops.answer, ao._quantized.answer,
// nested._ops.answer), which computes the op with ops on the components; autograd and the keys below it see these. A
// call that it ran on the values alone is repeated without Python (part_calls.h). If `answer` declines a composite or a
// late overload, that runs as the ops it calls.
#include <algorithm>
#include <mutex>

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "ops/late_ops.h"
#include "python/boxing.h"
#include "python/contexts.h"
#include "python/convert.h"
#include "python/op_overload.h"
#include "python/part_calls.h"
#include "python/tensor_type.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

TensorImpl& checked_tensor(PyObject* object) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
  return *tensor_of(object);
}

Kind& checked_kind(PyObject* object) {
  Kind* kind = kind_of(checked_tensor(object));
  if (!kind) raise(ErrorKind::Runtime, "expected a sparse tensor, and this one is strided");
  return *kind;
}

[[noreturn]] void raise_not_offered(const OpCall& call) {
  const KeySet keys = gather_keys(call);
  if ((keys & kKinds).highest() == Key::Quantized)
    raise(ErrorKind::NotImplemented,
          "Could not run '%s' with arguments from the 'QuantizedCPU' backend: the op has no form for quantized "
          "tensors.\nCompute it in floats: tensor.dequantize()",
          call.op->qualified_name.c_str());
  if ((keys & kKinds).highest() == Key::Nested)
    raise(
        ErrorKind::NotImplemented,
        "Could not run '%s' with arguments from the 'NestedTensorCPU' backend: the op has no meaning for each example "
        "alone.\nTake the examples, tensor.unbind(), or torch.nested.to_padded_tensor(tensor, padding)",
        call.op->qualified_name.c_str());
  raise(ErrorKind::NotImplemented,
        "Could not run '%s' with arguments from the '%s' backend: the op keeps no pattern that its result would have.\n"
        "Compute it densely: tensor.to_dense()",
        call.op->qualified_name.c_str(), key_name((keys & kKinds).highest(), keys).c_str());
}

// Runs the op as the ops that it calls; those with an argument of a kind reach the fallback again.
void run_inside(OpCall& call) {
  if (!is_late(*call.op) && call.op->kind != OpKind::Composite) raise_not_offered(call);
  call.keys = call.keys - kKinds;
  const KernelEntry& entry = call.op->table[static_cast<int>(call.keys.highest())];
  if (!entry.function) raise_no_kernel(call);
  entry.function(call, entry.context);
}

// Two patterns or structures are the same if they share memory and have the same version.
bool same_structure(const Kind& a, const Kind& b) {
  if (a.layout != b.layout || a.axis != b.axis || a.structure != b.structure ||
      a.components.size() != b.components.size())
    return false;
  for (size_t i = 0; i + 1 < a.components.size(); ++i) {
    const TensorImpl &own = *a.components[i], &other = *b.components[i];
    if (own.storage != other.storage || own.offset != other.offset || !std::ranges::equal(own.shape(), other.shape()))
      return false;
  }
  return true;
}

// Repeated calls of tensors of one kind and structure that ran on their last components. Results have the structure of
// one of the arguments, so calls with new structures are repeated calls, too.
class LastComponents final : public PartHolder {
 public:
  // `answer` makes the nodes that connect the gradients of a tensor and of its values.
  bool open(TensorImpl& tensor, TensorImpl*& part, PyObject*&, uint64_t& word) const override {
    if (thread_state.grad_mode && tensor.requires_grad()) return false;
    const Kind* kind = kind_of(tensor);
    if (!kind) return true;
    part = kind->components.back().get();
    if (part->wrapper) return false;
    word = uint64_t{1} << 63 | uint64_t{tensor.numel == part->numel} << 24 | static_cast<uint64_t>(kind->layout) << 16 |
           uint64_t{kind->sparse_dims} << 9 | uint64_t{kind->is_coalesced} << 8 | static_cast<uint8_t>(kind->axis);
    return true;
  }

  bool fits(const OpCall& call) const override {
    const int first = first_of_kind(call);
    if (first < 0) return false;
    const TensorImpl& structure = *call.args[first].tensor;
    // A write replaces the parts, which other tensors may have; but a nested tensor has its values alone.
    if (call.op->variant == Variant::InPlace && !structure.keys.has(Key::Nested)) return false;
    for (int k = first + 1; k < call.num_args; ++k) {
      const Kind* kind = call.args[k].tag == Tag::Tensor ? kind_of(*call.args[k].tensor) : nullptr;
      if (!kind) continue;
      if (!same_structure(*kind_of(structure), *kind)) return false;
      const bool is_nested = structure.keys.has(Key::Nested);  // its inner dims may broadcast
      if (!is_nested && !std::ranges::equal(structure.shape(), call.args[k].tensor->shape())) return false;
    }
    return true;
  }

  bool describe(const OpCall& call, const TensorImpl& made, WholeFacts& facts) const override {
    const Kind* kind = kind_of(made);
    facts.like = first_of_kind(call);
    if (!kind || facts.like < 0) return false;
    const TensorImpl& like = *call.args[facts.like].tensor;
    const Kind& structure = *kind_of(like);
    if (&made == &like || made.requires_grad() || kind->layout != structure.layout ||
        kind->sparse_dims != structure.sparse_dims || kind->is_coalesced != structure.is_coalesced ||
        !same_structure(*kind, structure))
      return false;
    const TensorImpl &part = *kind->components.back(), &before = *structure.components.back();
    if (std::ranges::equal(part.shape(), before.shape())) return true;
    return kind->layout == Layout::Jagged && part.ndim == before.ndim && like.numel == before.numel;
  }

  Tensor whole(const OpCall& call, const WholeFacts& facts, Tensor part) const override {
    const TensorImpl& like = *call.args[facts.like].tensor;
    Kind kind = *kind_of(like);
    const bool same_shape = std::ranges::equal(part->shape(), kind.components.back()->shape());
    InlineVector<int64_t, 8> sizes;
    for (int d = 0; d < like.ndim; ++d)
      sizes.push_back(same_shape || d == 0 || d == kind.axis ? like.sizes[d] : part->sizes[d - 1]);
    const int64_t numel = same_shape ? like.numel : part->numel;
    const DType dtype = part->dtype;
    kind.components.back() = std::move(part);
    Tensor made =
        make_tensor_of_kind(std::move(kind), (like.keys & kKinds).highest(), {sizes.begin(), sizes.end()}, dtype);
    made->numel = numel;
    return made;
  }

 private:
  // The argument whose structure results have; -1: none, or an element of a list.
  static int first_of_kind(const OpCall& call) {
    for (int k = 0; k < call.num_args; ++k) {
      if (call.args[k].tag == Tag::Tensor && kind_of(*call.args[k].tensor)) return k;
      if (call.args[k].tag == Tag::TensorList || call.args[k].tag == Tag::OptionalTensorList) return -1;
    }
    return -1;
  }
};

// What the kind's `answer` function returns for the call.
Object answer_of(OpCall& call, LateImport& answer) {
  Object positional, keywords;
  pack_arguments(call, positional, keywords);
  PyObject* const arguments[] = {overload_object(*call.op), positional.get(), keywords.get()};
  return own(PyObject_Vectorcall(answer.get(), arguments, 3, nullptr));
}

LateImport& sparse_answer() {
  static LateImport answer("pellucid.sparse._ops.answer", "answer");
  return answer;
}

// A factory whose `layout` is sparse.
void run_as_sparse(OpCall& call) {
  HoldGil gil;
  const Object returned = answer_of(call, sparse_answer());
  if (returned.get() == Py_NotImplemented)
    raise(ErrorKind::Runtime, "%s(...) is not implemented for sparse layout", call.op->schema.name.c_str());
  unpack_results(call, returned.get());
}

// `context` is the LateImport of the kind's `answer` function.
void run_on_components(OpCall& call, void* context) {
  HoldGil gil;
  static const LastComponents last_components;
  PartCall parts(last_components, call);
  if (parts.run(call)) return;
  const RepeatRequest request;
  const Object returned = answer_of(call, *static_cast<LateImport*>(context));
  if (returned.get() == Py_NotImplemented) return run_inside(call);
  unpack_results(call, returned.get());
  if (PyObject* given = request.given()) parts.remember(call, given);
}

std::vector<Tensor> tensors_of(PyObject* list) {
  Object sequence = own(PySequence_Fast(list, "expected a sequence of Tensors"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    tensors.push_back(detach(checked_tensor(PySequence_Fast_GET_ITEM(sequence.get(), i))));
  return tensors;
}

std::vector<int64_t> sizes_of(PyObject* object) {
  Object sequence = own(PySequence_Fast(object, "expected a sequence of sizes"));
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    sizes.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(sequence.get(), i)));
  if (PyErr_Occurred()) raise_python();
  return sizes;
}

// _make_sparse(layout, sizes, sparse_dims, is_coalesced, components); the caller has checked the arguments.
PyObject* make_sparse(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    static std::once_flag installed;
    std::call_once(installed, [] { register_fallback(Key::Sparse, {run_on_components, &sparse_answer()}); });
    PyObject *layout, *sizes_object, *components;
    int sparse_dims, is_coalesced;
    if (!PyArg_ParseTuple(args, "O!OipO:_make_sparse", &layout_type, &layout, &sizes_object, &sparse_dims,
                          &is_coalesced, &components))
      return nullptr;
    const std::vector<int64_t> sizes = sizes_of(sizes_object);
    Kind kind{static_cast<Layout>(reinterpret_cast<ConstantObject*>(layout)->value), static_cast<uint8_t>(sparse_dims),
              is_coalesced != 0, tensors_of(components)};
    const DType dtype = kind.components.back()->dtype;
    return wrap(make_tensor_of_kind(std::move(kind), Key::Sparse, sizes, dtype));
  });
}

Object components_of(const Kind& kind) {
  Object components = own(PyTuple_New(static_cast<Py_ssize_t>(kind.components.size())));
  for (size_t i = 0; i < kind.components.size(); ++i)
    PyTuple_SET_ITEM(components.get(), static_cast<Py_ssize_t>(i), checked(wrap(kind.components[i])));
  return components;
}

// _make_quantized(dtype, axis, (scales, zero_points, integers)); the caller has checked the arguments.
PyObject* make_quantized(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    static std::once_flag installed;
    static LateImport answer("pellucid.ao._quantized.answer", "answer");
    std::call_once(installed, [] { register_fallback(Key::Quantized, {run_on_components, &answer}); });
    PyObject *dtype, *components;
    int axis;
    if (!PyArg_ParseTuple(args, "O!iO:_make_quantized", &dtype_type, &dtype, &axis, &components)) return nullptr;
    Kind kind{Layout::Strided, 0, false, tensors_of(components), static_cast<int8_t>(axis)};
    const Tensor integers = kind.components.back();
    Tensor tensor = make_tensor_of_kind(std::move(kind), Key::Quantized, integers->shape(), dtype_of(dtype));
    set_geometry(*tensor, integers->shape(), integers->stride());
    return wrap(std::move(tensor));
  });
}

std::shared_ptr<void> shared_object(PyObject* object) {
  return {new_reference(object), [](void* held) {
            if (!Py_IsInitialized()) return;
            HoldGil gil;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

// _make_nested(layout, sizes, axis, structure, numel, values): `sizes` are those of the longest example.
PyObject* make_nested(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    static std::once_flag installed;
    static LateImport answer("pellucid.nested._ops.answer", "answer");
    std::call_once(installed, [] { register_fallback(Key::Nested, {run_on_components, &answer}); });
    PyObject *layout, *sizes_object, *structure, *values;
    int axis;
    long long numel;
    if (!PyArg_ParseTuple(args, "O!OiOLO:_make_nested", &layout_type, &layout, &sizes_object, &axis, &structure, &numel,
                          &values))
      return nullptr;
    TensorImpl& held = checked_tensor(values);
    Kind kind{static_cast<Layout>(reinterpret_cast<ConstantObject*>(layout)->value),
              0,
              false,
              {detach(held)},
              static_cast<int8_t>(axis),
              shared_object(structure)};
    Tensor tensor = make_tensor_of_kind(std::move(kind), Key::Nested, sizes_of(sizes_object), held.dtype);
    tensor->numel = numel;
    return wrap(std::move(tensor));
  });
}

// _nested_kind(tensor): (axis, structure, values); None for any other tensor.
PyObject* nested_kind(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Kind* kind = kind_of(checked_tensor(object));
    if (!kind || !checked_tensor(object).keys.has(Key::Nested)) return none();
    const Object values = own(wrap(kind->components.back()));
    return Py_BuildValue("(iOO)", kind->axis, static_cast<PyObject*>(kind->structure.get()), values.get());
  });
}

// _quantized_kind(tensor): (axis, (scales, zero_points, integers)); None for any other tensor.
PyObject* quantized_kind(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Kind* kind = kind_of(checked_tensor(object));
    if (!kind || !checked_tensor(object).keys.has(Key::Quantized)) return none();
    const Object components = components_of(*kind);
    return Py_BuildValue("(iO)", kind->axis, components.get());
  });
}

// _sparse_kind(tensor): (sparse_dims, is_coalesced, components); None for any other tensor.
PyObject* sparse_kind(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Kind* kind = kind_of(checked_tensor(object));
    if (!kind || !checked_tensor(object).keys.has(Key::Sparse)) return none();
    const Object components = components_of(*kind);
    return Py_BuildValue("(iOO)", kind->sparse_dims, kind->is_coalesced ? Py_True : Py_False, components.get());
  });
}

// _replace_components(tensor, source): gives the tensor the sizes and components of `source`, of its kind and dtype.
PyObject* replace_components(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object, *source_object;
    if (!PyArg_ParseTuple(args, "OO:_replace_components", &object, &source_object)) return nullptr;
    TensorImpl &tensor = checked_tensor(object), &source = checked_tensor(source_object);
    if (tensor.dtype != source.dtype)
      raise(ErrorKind::Runtime, "result type %s can't be cast to the desired output type %s",
            std::string(name(source.dtype)).c_str(), std::string(name(tensor.dtype)).c_str());
    Kind replaced = checked_kind(source_object);
    std::swap(checked_kind(object), replaced);
    set_geometry(tensor, source.shape(), source.stride());
    tensor.bump_version();
    return new_reference(object);
  });
}

PyObject* set_coalesced(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object;
    int is_coalesced;
    if (!PyArg_ParseTuple(args, "Op:_set_coalesced", &object, &is_coalesced)) return nullptr;
    checked_kind(object).is_coalesced = is_coalesced != 0;
    return new_reference(object);
  });
}

// _share_sparse(tensor): the same components and version without history.
PyObject* share_sparse(PyObject*, PyObject* object) {
  return guarded([&] { return wrap(detach(checked_tensor(object))); });
}

PyMethodDef functions[] = {
    {"_make_sparse", make_sparse, METH_VARARGS, "_make_sparse(layout, sizes, sparse_dims, is_coalesced, components)"},
    {"_make_quantized", make_quantized, METH_VARARGS, "_make_quantized(dtype, axis, components)"},
    {"_quantized_kind", quantized_kind, METH_O, "_quantized_kind(tensor): (axis, components), or None."},
    {"_make_nested", make_nested, METH_VARARGS, "_make_nested(layout, sizes, axis, structure, numel, values)"},
    {"_nested_kind", nested_kind, METH_O, "_nested_kind(tensor): (axis, structure, values), or None."},
    {"_sparse_kind", sparse_kind, METH_O, "_sparse_kind(tensor): (sparse_dims, is_coalesced, components), or None."},
    {"_replace_components", replace_components, METH_VARARGS,
     "_replace_components(tensor, source): takes the source's."},
    {"_set_coalesced", set_coalesced, METH_VARARGS, "_set_coalesced(tensor, is_coalesced): marks the indices."},
    {"_share_sparse", share_sparse, METH_O, "_share_sparse(tensor): the same components without history."},
    {},
};

}  // namespace

void add_kinds(PyObject* module) {
  core_hooks.run_as_sparse = run_as_sparse;
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
