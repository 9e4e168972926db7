// TensorBase, its metaclass, and the constructors that subclasses use.
//
// pellucid.Tensor is a Python class derived from TensorBase (src/pellucid/_tensor/tensor.py): it has the methods
// written in Python, TensorBase the performance-critical ones. tensor_object.h explains the objects' lifetimes.
#include "python/tensor_type.h"

#include <vector>

#include "core/named_ops.h"
#include "python/boundary.h"

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "python/attribute_protocol.h"

namespace pellucid::python {

PyTypeObject tensor_base_type = {PyVarObject_HEAD_INIT(&tensor_meta_type, 0)};
PyTypeObject tensor_meta_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// Python's own names, which are not part of Tensor's API.
static bool is_private(const char* name) { return name[0] == '_' && name[1] == '_'; }

void add_tensor_methods(PyMethodDef* methods) {
  for (PyMethodDef* method = methods; method->ml_name; ++method) {
    Object descriptor = own(method->ml_flags & METH_CLASS    ? PyDescr_NewClassMethod(&tensor_base_type, method)
                            : method->ml_flags & METH_STATIC ? PyCFunction_New(method, nullptr)
                                                             : PyDescr_NewMethod(&tensor_base_type, method));
    if (method->ml_flags & METH_STATIC) descriptor = own(PyStaticMethod_New(descriptor.get()));
    checked(PyDict_SetItemString(tensor_base_type.tp_dict, method->ml_name, descriptor.get()));
    const bool is_of_class = method->ml_flags & (METH_CLASS | METH_STATIC);
    if (!is_of_class && !is_private(method->ml_name)) offer_to_overrides(descriptor.get());
  }
  PyType_Modified(&tensor_base_type);
}

void add_tensor_attributes(PyGetSetDef* attributes) {
  for (PyGetSetDef* attribute = attributes; attribute->name; ++attribute) {
    Object descriptor = own(PyDescr_NewGetSet(&tensor_base_type, attribute));
    checked(PyDict_SetItemString(tensor_base_type.tp_dict, attribute->name, descriptor.get()));
    if (!is_private(attribute->name)) offer_to_overrides(descriptor.get());
  }
  PyType_Modified(&tensor_base_type);
}

static std::vector<const char*>& queries() {
  static auto* names = new std::vector<const char*>;
  return *names;
}

void add_tensor_queries(PyMethodDef* methods) {
  add_tensor_methods(methods);
  for (PyMethodDef* method = methods; method->ml_name; ++method) queries().push_back(method->ml_name);
}

void add_tensor_queries(PyGetSetDef* attributes) {
  add_tensor_attributes(attributes);
  for (PyGetSetDef* attribute = attributes; attribute->name; ++attribute) queries().push_back(attribute->name);
}

namespace {

TensorImpl& require_tensor(PyObject* object, const char* function) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "%s(): expected a Tensor, not %s", function, Py_TYPE(object)->tp_name);
  return *tensor_of(object);
}

PyTypeObject* require_subclass(PyObject* type, const char* function) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_base_type))
    raise(ErrorKind::Type, "%s(): expected a subclass of Tensor", function);
  return reinterpret_cast<PyTypeObject*>(type);
}

Tensor alias(TensorImpl& source) {
  return make_view(source, source.shape(), source.stride(), source.offset, /*detached=*/true);
}

// Tensor._make_subclass(cls, data, require_grad=False): constructs Parameter and other subclasses.
PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    PyObject *type = nullptr, *data = nullptr;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:_make_subclass", const_cast<char**>(names), &type, &data,
                                     &requires_grad))
      return nullptr;
    PyTypeObject* subclass = require_subclass(type, "_make_subclass");
    pass_boundary("a subclass's constructor");
    Tensor tensor = alias(require_tensor(data, "_make_subclass"));
    if (requires_grad) set_requires_grad(*tensor, true);
    return wrap_as(subclass, std::move(tensor));
  });
}

// Whether the caller has the only reference to `object` and its tensor, and it is a plain Tensor without other state.
bool is_uniquely_referenced(PyObject* object) {
  const auto* holder = reinterpret_cast<TensorObject*>(object);
  if (!is_exact_tensor(object) || Py_REFCNT(object) != 1) return false;
  return !holder->has_attributes && !holder->weak_references && holder->tensor->unique();
}

// _as_subclass(tensor, cls)
PyObject* as_subclass(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2) raise(ErrorKind::Type, "_as_subclass takes a tensor and a class");
    TensorImpl& tensor = require_tensor(args[0], "as_subclass");
    return alias_as(require_subclass(args[1], "as_subclass"), tensor);
  });
}

// Tensor.__new__(cls, data=None): an empty tensor or an alias of `data`.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static Object& constructor = *new Object;  // never freed: statics are destroyed after the interpreter has ended
    if (!constructor) {
      Object module = own(PyImport_ImportModule("pellucid._tensor.legacy_types"));
      constructor = own(PyObject_GetAttrString(module.get(), "legacy_constructor"));
    }
    Object made = own(PyObject_Call(constructor.get(), args, kwargs));
    if (type == tensor_type) return made.leak();
    return wrap_as(type, alias(require_tensor(made.get(), "Tensor.__new__")));
  });
}

PyMethodDef methods[] = {
    {"_make_subclass", reinterpret_cast<PyCFunction>(make_subclass), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "_make_subclass(cls, data, require_grad=False): `data` as an object of class `cls`."},
    {},
};

PyObject* set_tensor_class(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    tensor_type = require_subclass(type, "_set_tensor_class");
    watch_dict(*tensor_type);
    ask_plain_tensors(false);
    Py_INCREF(type);
    return none();
  });
}

PyObject* set_parameter_class(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    parameter_type = require_subclass(type, "_set_parameter_class");
    ask_plain_tensors(false);
    Py_INCREF(type);
    return none();
  });
}

// The objects exchange their tensors. References to the tensors themselves, as in a graph, are unchanged.
PyObject* swap_tensor_impl(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2 || !is_tensor(args[0]) || !is_tensor(args[1]))
      raise(ErrorKind::Type, "_swap_tensor_impl takes two tensors");
    auto& first = *reinterpret_cast<TensorObject*>(args[0]);
    auto& second = *reinterpret_cast<TensorObject*>(args[1]);
    std::swap(first.tensor, second.tensor);
    std::swap(first.shape, second.shape);
    first.tensor->python = &first;
    second.tensor->python = &second;
    return none();
  });
}

PyObject* tensor_queries(PyObject*, PyObject*) {
  return guarded([] {
    Object names = own(PyList_New(0));
    for (const char* name : queries()) checked(PyList_Append(names.get(), own(PyUnicode_FromString(name)).get()));
    return names.leak();
  });
}

PyMethodDef functions[] = {
    {"_tensor_queries", tensor_queries, METH_NOARGS,
     "The methods and attributes of tensors that depend on geometry, dtype, place and flags alone."},
    {"_swap_tensor_impl", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(swap_tensor_impl)), METH_FASTCALL,
     "_swap_tensor_impl(t1, t2): exchanges the tensors of two objects, not their classes and attributes."},
    {"_as_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(as_subclass)), METH_FASTCALL,
     "_as_subclass(tensor, cls): an alias of `tensor`, with its history, as an object of `cls`."},
    {"_set_tensor_class", set_tensor_class, METH_O, "Names the class of tensors that ops return."},
    {"_set_parameter_class", set_parameter_class, METH_O, "Names the class of parameters, which ops treat as tensors."},
    {},
};

}  // namespace

PyObject* alias_as(PyTypeObject* type, TensorImpl& tensor) {
  const OpRecord& op = named_op(NamedOp::Alias);
  Value argument = Value::of(&tensor), result;
  OpCall call{&op, &argument, &result, 1, {}};
  dispatch(call);
  Tensor made = Tensor::adopt(result.tensor);
  if (!made->python) return wrap_as(type, std::move(made));
  const Object known = own(wrap(std::move(made)));  // a mode returned a tensor that has an object
  if (PyObject_TypeCheck(known.get(), type)) return new_reference(known.get());
  return wrap_as(type, alias(*tensor_of(known.get())));
}

PyObject* convert_to_type(PyTypeObject* type, Object object) {
  TensorImpl& tensor = *tensor_of(object.get());
  if (!is_uniquely_referenced(object.get())) return alias_as(type, tensor);
  Tensor shared = Tensor::share(&tensor);
  object = nullptr;  // the tensor outlives its object and gets another one
  return wrap_as(type, std::move(shared));
}

void add_tensor_type(PyObject* module) {
  tensor_meta_type.tp_name = "pellucid._C._TensorMeta";
  tensor_base_type.tp_name = "pellucid._C.TensorBase";
  tensor_base_type.tp_doc = "The runtime's part of Tensor.";
  tensor_base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  tensor_base_type.tp_new = tensor_new;
  tensor_base_type.tp_methods = methods;
  prepare_tensor_life(tensor_base_type);
  fill_operator_slots(tensor_base_type);
  fill_subscript_slots(tensor_base_type);
  checked(PyType_Ready(&tensor_meta_type));
  checked(PyType_Ready(&tensor_base_type));
  tensor_type = &tensor_base_type;
  add_tensor_properties();
  add_geometry_methods();
  add_number_methods();
  checked(PyModule_AddFunctions(module, functions));
  checked(PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(&tensor_base_type)));
  checked(PyModule_AddObjectRef(module, "_TensorMeta", reinterpret_cast<PyObject*>(&tensor_meta_type)));
}

}  // namespace pellucid::python
