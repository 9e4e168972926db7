// Python's side of the autograd engine: nodes, hooks, Function, backward.
//
// node.cpp wraps nodes, hooks.cpp runs hooks, function.cpp has the base class of autograd.Function, engine.cpp has
// backward and Tensor's attributes and methods for autograd.
#pragma once

#include <vector>

#include "autograd/hooks.h"
#include "autograd/op_node.h"
#include "python/object.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// A wrapper that owns a node. A Function's context derives from it; there, the node owns the wrapper.
struct NodeObject {
  PyObject_HEAD Node* node;
};

extern PyTypeObject node_base_type;      // pellucid._C.Node
extern PyTypeObject function_base_type;  // pellucid._C.FunctionBase

inline bool is_node(PyObject* object) { return PyObject_TypeCheck(object, &node_base_type); }
// A new reference to the node; raises if the node was freed before its Function's context.
Ref<Node> node_of(PyObject* object);
// The Python object of a node, a new reference; None for null.
PyObject* wrap_node(Node* node);
// The edges of a node that Python sees: all but those of indices and masks.
std::vector<uint32_t> visible_edges(const Node& node);
// The context of a Function's node, borrowed; null for other nodes.
PyObject* context_of(const Node& node);

// Owns a reference that may be dropped on any thread, with or without the interpreter lock.
class SharedObject {
 public:
  explicit SharedObject(PyObject* object) : object_(object) { Py_XINCREF(object); }
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

enum class HookKind : uint8_t { Tensor, Before, After, Accumulated };
// The ordered dict of Python hooks in a list of hooks, a new reference; created if absent. Post-hooks of a node receive
// the gradients of the edges that Python sees (`edges`); an empty list means all edges.
PyObject* hook_dict(std::vector<Ref<Hook>>& hooks, HookKind kind, std::vector<uint32_t> edges = {});
PyObject* hook_dict_of_tensor(TensorImpl& tensor);
PyObject* hook_dict_after_accumulation(TensorImpl& tensor);
// The same dict if it exists, else None.
PyObject* known_hooks_of_tensor(const TensorImpl& tensor);
PyObject* known_hooks_after_accumulation(const TensorImpl& tensor);

// A tuple of tensors, None where undefined.
Object tuple_of(std::span<const Tensor> tensors);

void add_nodes(PyObject* module);
void add_function_base(PyObject* module);
void add_engine(PyObject* module);
void add_extension_table(PyObject* module);
void add_autograd(PyObject* module);  // all of the above

}  // namespace pellucid::python
