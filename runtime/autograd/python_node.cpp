// Nodes as Python objects: one type per node name, so that `type(y.grad_fn).__name__` is "MulBackward0".
#include <map>
#include <memory>

#include "autograd/accumulate_grad.h"
#include "autograd/op_node.h"
#include "autograd/python_autograd.h"
#include "autograd/python_saved.h"
#include "autograd/saved_value.h"
#include "python/numbers.h"
#include "python/types.h"

namespace pellucid::python {

PyTypeObject node_base_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

namespace {

NodeObject* as_node_object(PyObject* object) { return reinterpret_cast<NodeObject*>(object); }

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (Node* node = std::exchange(as_node_object(self)->node, nullptr)) {
    node->python = nullptr;
    Ref<Node>::adopt(node);
  }
  type->tp_free(self);
  Py_DECREF(type);
}

// Types live as long as the process; made under the interpreter lock.
PyTypeObject* type_named(const std::string& name) {
  static auto* types = new std::map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*types)[name];
  if (type) return type;
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)}, {0, nullptr}};
  auto* text = new std::string("pellucid._C." + name);
  PyType_Spec spec{text->c_str(), sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Object bases = own(PyTuple_Pack(1, &node_base_type));
  type = reinterpret_cast<PyTypeObject*>(own(PyType_FromSpecWithBases(&spec, bases.get())).leak());
  Object module = to_string("builtins");   // as in PyTorch: <MulBackward0 object at ...>
  checked(PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__module__", module.get()));
  return type;
}

PyObject* get_name(PyObject* self, PyObject*) {
  return guarded([&] { return to_string(node_of(self)->qualified_name()).leak(); });
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    Object result = own(PyTuple_New(node->num_edges));
    for (uint32_t i = 0; i < node->num_edges; ++i) {
      Object next = own(wrap_node(node->edges[i].node));
      PyTuple_SET_ITEM(result.get(), i, own(Py_BuildValue("(OI)", next.get(), node->edges[i].input)).leak());
    }
    return result.leak();
  });
}

struct Metadata final : Attachment {
  SharedObject dict;
  explicit Metadata(PyObject* dict) : dict(dict) {}
};

PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    Ref<Attachment>& attachment = extras_of(*node).metadata;
    if (!attachment) {
      Object dict = own(PyDict_New());
      attachment = Ref<Attachment>::adopt(new Metadata(dict.get()));
    }
    return new_reference(static_cast<Metadata&>(*attachment).dict.get());
  });
}

PyObject* get_sequence(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(node_of(self)->sequence); });
}

PyObject* get_variable(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    if (node->kind != NodeKind::Accumulator) raise(ErrorKind::Value, "only AccumulateGrad nodes have a variable");
    return wrap(Tensor::share(&leaf_of(*node)));
  });
}

// What the gradient of each forward output looks like.
PyObject* get_input_metadata(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    static LateImport facts_type("pellucid.autograd.graph", "InputMetadata");
    Object list = own(PyList_New(0));
    for (uint32_t i = 0; i < node->num_inputs; ++i) {
      const GradientInfo& info = node->infos[i];
      Object shape = own(size_object(info.shape())), device = own(device_object(info.device));
      Object entry = own(PyObject_CallFunctionObjArgs(facts_type.get(), shape.get(), dtype_object(info.dtype),
                                                      device.get(), nullptr));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// "self_sym_sizes" when the saved integers are the shape of one argument.
std::string name_of_sizes(const OpNode& node) {
  const std::vector<SizeSource>& sizes = node.plan->sizes;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i].dim != static_cast<int16_t>(i) || sizes[i].argument != sizes[0].argument || sizes[i].element >= 0)
      return "sizes";
  if (sizes.empty()) return "sizes";
  return node.op->schema.arguments[static_cast<size_t>(sizes[0].argument)].name + "_sym_sizes";
}

// "_saved_self", "_saved_result", "_saved_dim": names of the saved argument `argument`, or "".
std::string saved_name(const OpNode& node, size_t argument) {
  const ArgumentSource& source = node.plan->arguments[argument];
  const Schema& schema = node.op->schema;
  switch (source.from) {
    case ArgumentSource::From::Argument: return schema.arguments[static_cast<size_t>(source.index)].name;
    case ArgumentSource::From::Result: {
      if (schema.returns.size() == 1) return "result";
      const std::string& name = schema.returns[static_cast<size_t>(source.index)].name;
      return name.empty() ? "result" + std::to_string(source.index) : name;
    }
    case ArgumentSource::From::Sizes: return name_of_sizes(node);
    case ArgumentSource::From::Gradient: case ArgumentSource::From::Gradients: case ArgumentSource::From::Tangent: return {};
  }
  return {};
}

OpNode* op_node(PyObject* self, Ref<Node>& keep) {
  keep = node_of(self);
  return dynamic_cast<OpNode*>(keep.get());
}

bool holds_tensors(const OpNode& node, size_t argument) {
  const ArgumentSource& source = node.plan->arguments[argument];
  if (source.from == ArgumentSource::From::Result) return true;
  return source.from == ArgumentSource::From::Argument &&
         node.op->schema.tensor_arguments >> static_cast<unsigned>(source.index) & 1;
}

PyObject* raw_saved(OpNode& node, size_t argument) {
  const Value& value = node.saved[argument];
  if (!is_tensor_list(value)) return raw_saved_object(Ref<Node>::share(&node), argument, 0);
  Object tuple = own(PyTuple_New(value.length));
  for (uint32_t i = 0; i < value.length; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, raw_saved_object(Ref<Node>::share(&node), argument, i));
  return tuple.leak();
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  const std::string_view asked = text ? text : "";
  const bool raw = asked.starts_with("_raw_saved_");
  if (!raw && !asked.starts_with("_saved_")) return nullptr;
  const std::string_view wanted = asked.substr(raw ? sizeof("_raw_saved_") - 1 : sizeof("_saved_") - 1);
  return guarded([&]() -> PyObject* {
    Ref<Node> keep;
    OpNode* node = op_node(self, keep);
    for (size_t i = 0; node && i < node->plan->arguments.size(); ++i)
      if (saved_name(*node, i) == wanted && (!raw || holds_tensors(*node, i))) {
        PyErr_Clear();
        return raw ? raw_saved(*node, i) : saved_object(*node, i);
      }
    return nullptr;
  });
}

PyObject* list_names(PyObject* self, PyObject*) {
  return guarded([&] {
    Object names = own(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self));
    Ref<Node> keep;
    OpNode* node = op_node(self, keep);
    for (size_t i = 0; node && i < node->plan->arguments.size(); ++i)
      if (const std::string name = saved_name(*node, i); !name.empty()) {
        checked(PyList_Append(names.get(), to_string("_saved_" + name).get()));
        if (holds_tensors(*node, i)) checked(PyList_Append(names.get(), to_string("_raw_saved_" + name).get()));
      }
    return names.leak();
  });
}

// None for Functions, and for the derived ops of higher orders, whose names are for machines.
PyObject* get_op_name(PyObject* self, void*) {
  return guarded([&] {
    Ref<Node> keep;
    const OpNode* node = op_node(self, keep);
    const bool is_declared = node && !node->op->qualified_name.starts_with("derivative::");
    return is_declared ? to_string(node->op->schema.name).leak() : none();
  });
}

PyMethodDef methods[] = {
    {"name", get_name, METH_NOARGS, "The node's name, such as MulBackward0."},
    {"_sequence_nr", get_sequence, METH_NOARGS, "Nodes made later have higher numbers and run earlier."},
    {"__dir__", list_names, METH_NOARGS, nullptr},
    {},
};

PyGetSetDef attributes[] = {
    {"next_functions", get_next_functions, nullptr, "(node, input number) for each input of the op.", nullptr},
    {"metadata", get_metadata, nullptr, "A dict that lives as long as the node.", nullptr},
    {"variable", get_variable, nullptr, "The leaf that an AccumulateGrad adds to.", nullptr},
    {"_op_name", get_op_name, nullptr, "The op that made the node, such as 'linear'; None if it was none.", nullptr},
    {"_input_metadata", get_input_metadata, nullptr, "The shape, dtype and device of each forward output.", nullptr},
    {},
};

}  // namespace

Ref<Node> node_of(PyObject* object) {
  Node* node = as_node_object(object)->node;
  if (!node) raise(ErrorKind::Runtime, "this %s outlived its node: keep the tensor that has it as grad_fn",
                   Py_TYPE(object)->tp_name);
  if (node->kind != NodeKind::Function) return Ref<Node>::share(node);
  // A dying node counts zero while it waits for the interpreter lock.
  int32_t count = node->refs.load();
  while (count > 0)
    if (node->refs.compare_exchange_weak(count, count + 1)) return Ref<Node>::adopt(node);
  raise(ErrorKind::Runtime, "this %s outlived its node", Py_TYPE(object)->tp_name);
}

PyObject* wrap_node(Node* node) {
  if (!node) return none();
  if (PyObject* context = context_of(*node)) return new_reference(context);
  if (node->python) return new_reference(static_cast<PyObject*>(node->python));
  PyTypeObject* type = type_named(node->name());
  PyObject* object = checked(type->tp_alloc(type, 0));
  node->retain();
  as_node_object(object)->node = node;
  node->python = object;
  return object;
}

namespace {

Object integers_of(const Value& value) {
  Object tuple = own(PyTuple_New(value.length));
  for (uint32_t i = 0; i < value.length; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, own(PyLong_FromLongLong(value.integers[i])).leak());
  return tuple;
}

}  // namespace

PyObject* saved_object(OpNode& node, size_t argument) {
  const Value& value = node.saved[argument];
  if (node.released || value.tag == Tag::Tensor) return wrap_or_none(node.unpack(argument));
  if (is_tensor_list(value)) {
    Object tuple = own(PyTuple_New(value.length));
    for (uint32_t i = 0; i < value.length; ++i)
      PyTuple_SET_ITEM(tuple.get(), i, wrap_or_none(node.unpack(argument, i)));
    return tuple.leak();
  }
  switch (value.tag) {
    case Tag::None: return none();
    case Tag::IntList: return integers_of(value).leak();
    case Tag::DType: return new_reference(dtype_object(static_cast<DType>(value.integer)));
    case Tag::String: return to_string({value.string, value.length}).leak();
    case Tag::Int: case Tag::Float: case Tag::Bool: case Tag::Complex: return number_object(value);
    default: raise(ErrorKind::NotImplemented, "a saved value of this kind cannot be shown in Python");
  }
}

void add_nodes(PyObject* module) {
  node_base_type.tp_name = "pellucid._C.Node";
  node_base_type.tp_doc = "A node of the backward graph.";
  node_base_type.tp_basicsize = sizeof(NodeObject);
  node_base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  node_base_type.tp_methods = methods;
  node_base_type.tp_getset = attributes;
  node_base_type.tp_getattro = get_attribute;
  checked(PyType_Ready(&node_base_type));
  checked(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(&node_base_type)));
}

}  // namespace pellucid::python
