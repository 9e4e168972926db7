// Nodes as Python objects: one type per node name, so that `type(y.grad_fn).__name__` is "MulBackward0".
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/accumulate_grad.h"
#include "autograd/gradient_ops.h"
#include "autograd/op_node.h"
#include "autograd/saved_value.h"
#include "core/thread_state.h"
#include "python/autograd/autograd.h"
#include "python/autograd/saved.h"
#include "python/boxing.h"
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

// Types are never freed. They are made under the interpreter lock.
PyTypeObject* type_named(const std::string& name) {
  static auto* types = new std::map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*types)[name];
  if (type) return type;
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)}, {0, nullptr}};
  auto* text = new std::string("pellucid._C." + name);
  PyType_Spec spec{text->c_str(), sizeof(NodeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Object bases = own(PyTuple_Pack(1, &node_base_type));
  type = reinterpret_cast<PyTypeObject*>(own(PyType_FromSpecWithBases(&spec, bases.get())).leak());
  Object module = to_string("builtins");  // as in PyTorch: <MulBackward0 object at ...>
  checked(PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__module__", module.get()));
  type->tp_name = text->c_str() + sizeof("pellucid._C.") - 1;
  return type;
}

PyObject* get_name(PyObject* self, PyObject*) {
  return guarded([&] { return to_string(node_of(self)->qualified_name()).leak(); });
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    const std::vector<uint32_t> seen = visible_edges(*node);
    Object result = own(PyTuple_New(static_cast<Py_ssize_t>(seen.size())));
    for (size_t i = 0; i < seen.size(); ++i) {
      const Edge& edge = node->edges[seen[i]];
      Object next = own(wrap_node(edge.node));
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i),
                       own(Py_BuildValue("(OI)", next.get(), edge.input)).leak());
    }
    return result.leak();
  });
}

// node(*gradients of the forward outputs): the gradients of its inputs. Saved tensors are retained.
PyObject* call_node(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    const Ref<Node> node = node_of(self);
    const auto given = static_cast<size_t>(PyTuple_GET_SIZE(args));
    if ((kwargs && PyDict_GET_SIZE(kwargs)) || given != node->num_inputs)
      raise(ErrorKind::Type,
            "%s takes %u gradients (tensors or None) by position, one per output of the forward op; "
            "%zu were given",
            node->name().c_str(), node->num_inputs, given);
    std::vector<Tensor> gradients(given), results(node->num_edges);
    for (size_t i = 0; i < given; ++i) {
      PyObject* item = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
      if (item == Py_None) continue;
      if (!is_tensor(item))
        raise(ErrorKind::Type, "%s: gradient %zu is a %s, not a tensor or None", node->name().c_str(), i,
              Py_TYPE(item)->tp_name);
      gradients[i] = Tensor::share(tensor_of(item));
      if (!fits(*gradients[i], node->infos[i])) gradients[i] = fit_gradient(gradients[i], node->infos[i], nullptr, 0);
    }
    node->apply(gradients, results, thread_state.grad_mode);
    for (uint32_t i = 0; i < node->num_edges; ++i) {
      const Edge& edge = node->edges[i];
      if (!edge.node) results[i] = {};
      else if (results[i] && !fits(*results[i], edge.node->infos[edge.input]))
        results[i] = fit_gradient(results[i], edge.node->infos[edge.input], node.get(), i);
    }
    std::vector<Tensor> seen;
    for (const uint32_t i : visible_edges(*node)) seen.push_back(std::move(results[i]));
    return seen.size() == 1 ? wrap_or_none(seen[0]) : tuple_of(seen).leak();
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
    if (node->kind != NodeKind::Accumulator) raise(ErrorKind::Attribute, "only AccumulateGrad nodes have a variable");
    return wrap(Tensor::share(&leaf_of(*node)));
  });
}

// The shape, dtype and device of the gradient of each forward output.
PyObject* get_input_metadata(PyObject* self, void*) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    static LateImport facts_type("pellucid.autograd.graph", "InputMetadata");
    Object list = own(PyList_New(0));
    for (uint32_t i = 0; i < node->num_inputs; ++i) {
      const GradientInfo& info = node->infos[i];
      Object shape = own(size_object(info.shape())), device = own(device_object(info.device));
      Object entry = own(
          PyObject_CallFunctionObjArgs(facts_type.get(), shape.get(), dtype_object(info.dtype), device.get(), nullptr));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// The source of a node's `_saved_...` attribute: an argument of the derivative op, a number or string argument of the
// forward op, or the sizes of a forward argument that has a gradient.
struct SavedItem {
  enum Kind : uint8_t { Operand, Constant, Shape } kind;
  size_t index;  // of the derivative op's argument, the forward op's argument, or the edge
  std::string name;
};

std::string name_of_result(const Schema& schema, size_t index) {
  if (schema.returns.size() == 1) return "result";
  const std::string& name = schema.returns[index].name;
  return name.empty() ? "result" + std::to_string(index) : name;
}

bool is_showable(const Value& value) {
  return value.tag != Tag::Device && value.tag != Tag::Layout && value.tag != Tag::MemoryFormat &&
         value.tag != Tag::Generator && value.tag != Tag::Object;
}

// The edge of a forward argument; none if a list before it makes its number unknown.
std::optional<size_t> edge_of(const OpNode& node, size_t argument) {
  size_t edge = 0;
  for (size_t i = 0; i <= argument; ++i) {
    if (!(node.op().schema.tensor_arguments >> i & 1)) continue;
    const ArgType type = node.op().schema.arguments[i].type;
    if (type == ArgType::TensorList || type == ArgType::OptionalTensorList) return std::nullopt;
    if (i < argument) ++edge;
  }
  return edge < node.num_edges && node.edges[edge].node ? std::optional(edge) : std::nullopt;
}

std::vector<SavedItem> saved_items(const OpNode& node) {
  const Schema& schema = node.op().schema;
  std::vector<SavedItem> items;
  const auto add = [&](SavedItem::Kind kind, size_t index, std::string name) {
    for (const SavedItem& item : items)
      if (item.name == name) return;
    items.push_back({kind, index, std::move(name)});
  };
  for (size_t i = 0; i < node.plan().arguments.size(); ++i) {
    const ArgumentSource& source = node.plan().arguments[i];
    const auto index = static_cast<size_t>(source.index);
    if (source.from == ArgumentSource::From::Argument) add(SavedItem::Operand, i, schema.arguments[index].name);
    if (source.from == ArgumentSource::From::Result) add(SavedItem::Operand, i, name_of_result(schema, index));
  }
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const std::string& name = schema.arguments[i].name;
    if (!(schema.tensor_arguments >> i & 1)) {
      if (is_showable(node.facts->given[i])) add(SavedItem::Constant, i, name);
    } else if (const auto edge = edge_of(node, i)) {
      add(SavedItem::Shape, *edge, name + "_sym_sizes");
    }
  }
  return items;
}

OpNode* op_node(PyObject* self, Ref<Node>& owner) {
  owner = node_of(self);
  return dynamic_cast<OpNode*>(owner.get());
}

bool holds_tensors(const OpNode& node, const SavedItem& item) {
  if (item.kind != SavedItem::Operand) return false;
  const ArgumentSource& source = node.plan().arguments[item.index];
  if (source.from == ArgumentSource::From::Result) return true;
  return source.from == ArgumentSource::From::Argument &&
         node.op().schema.tensor_arguments >> static_cast<unsigned>(source.index) & 1;
}

Object integers_of(const Value& value) {
  Object tuple = own(PyTuple_New(value.length));
  for (uint32_t i = 0; i < value.length; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, own(PyLong_FromLongLong(value.integers[i])).leak());
  return tuple;
}

PyObject* object_of(const Value& value) {
  switch (value.tag) {
    case Tag::None: return none();
    case Tag::IntList: return integers_of(value).leak();
    case Tag::DType: return new_reference(dtype_object(static_cast<DType>(value.integer)));
    case Tag::String: return to_string({value.string, value.length}).leak();
    case Tag::Int:
    case Tag::Float:
    case Tag::Bool:
    case Tag::Complex: return number_object(value);
    default: break;
  }
  const Object shown = own(value_object(value));
  return PyList_Check(shown.get()) ? checked(PyList_AsTuple(shown.get())) : new_reference(shown.get());
}

PyObject* operand_object(OpNode& node, size_t argument) {
  const Value& value = node.saved[argument];
  if (node.released || value.tag == Tag::Tensor) return wrap_or_none(node.unpack(argument));
  if (!is_tensor_list(value)) return object_of(value);
  Object tuple = own(PyTuple_New(value.length));
  for (uint32_t i = 0; i < value.length; ++i) PyTuple_SET_ITEM(tuple.get(), i, wrap_or_none(node.unpack(argument, i)));
  return tuple.leak();
}

PyObject* value_of(OpNode& node, const SavedItem& item) {
  if (item.kind == SavedItem::Operand) return operand_object(node, item.index);
  if (item.kind == SavedItem::Constant) return object_of(node.facts->given[item.index]);
  const Edge& edge = node.edges[item.index];
  return integers_of(Value::of(edge.node->infos[edge.input].shape())).leak();
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
  const std::string_view attribute = text ? text : "";
  const bool raw = attribute.starts_with("_raw_saved_");
  if (!raw && !attribute.starts_with("_saved_")) return nullptr;
  const std::string_view wanted = attribute.substr(raw ? sizeof("_raw_saved_") - 1 : sizeof("_saved_") - 1);
  return guarded([&]() -> PyObject* {
    Ref<Node> owner;
    OpNode* node = op_node(self, owner);
    if (!node) return nullptr;
    for (const SavedItem& item : saved_items(*node))
      if (item.name == wanted && (!raw || holds_tensors(*node, item))) {
        PyErr_Clear();
        return raw ? raw_saved(*node, item.index) : value_of(*node, item);
      }
    return nullptr;
  });
}

PyObject* list_names(PyObject* self, PyObject*) {
  return guarded([&] {
    Object names = own(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self));
    Ref<Node> owner;
    OpNode* node = op_node(self, owner);
    if (!node) return names.leak();
    for (const SavedItem& item : saved_items(*node)) {
      checked(PyList_Append(names.get(), to_string("_saved_" + item.name).get()));
      if (holds_tensors(*node, item)) checked(PyList_Append(names.get(), to_string("_raw_saved_" + item.name).get()));
    }
    return names.leak();
  });
}

// None for Functions, and for derivative ops of higher orders, whose names are internal.
PyObject* get_op_name(PyObject* self, void*) {
  return guarded([&] {
    Ref<Node> owner;
    const OpNode* node = op_node(self, owner);
    const bool is_declared = node && !node->op().qualified_name.starts_with("derivative::");
    return is_declared ? to_string(node->op().schema.name).leak() : none();
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
  if (!node)
    raise(ErrorKind::Runtime, "this %s outlived its node: keep the tensor that has it as grad_fn",
          Py_TYPE(object)->tp_name);
  if (node->kind != NodeKind::Function) return Ref<Node>::share(node);
  // A dying node counts zero while it waits for the interpreter lock.
  int32_t count = node->refs.load();
  while (count > 0)
    if (node->refs.compare_exchange_weak(count, count + 1)) return Ref<Node>::adopt(node);
  raise(ErrorKind::Runtime, "this %s outlived its node", Py_TYPE(object)->tp_name);
}

std::vector<uint32_t> visible_edges(const Node& node) {
  const auto* op_node = dynamic_cast<const OpNode*>(&node);
  const uint64_t places = op_node ? op_node->plan().places : 0;
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < node.num_edges; ++i)
    if (node.edges[i].node || i >= 64 || !(places >> i & 1)) found.push_back(i);
  return found;
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

void add_nodes(PyObject* module) {
  node_base_type.tp_name = "pellucid._C.Node";
  node_base_type.tp_doc = "A node of the backward graph.";
  node_base_type.tp_basicsize = sizeof(NodeObject);
  node_base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  node_base_type.tp_methods = methods;
  node_base_type.tp_getset = attributes;
  node_base_type.tp_getattro = get_attribute;
  node_base_type.tp_call = call_node;
  checked(PyType_Ready(&node_base_type));
  checked(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(&node_base_type)));
}

}  // namespace pellucid::python
