// What torch.ops and torch.library need: callables of single overloads, ops and kernels from Python,
// and a record of dispatches.
#include <map>
#include <string>
#include <vector>

#include "core/dispatcher.h"
#include "core/format.h"
#include "ops/late_ops.h"
#include "python/boxing.h"
#include "python/contexts.h"
#include "python/op_overload.h"

namespace pellucid::python {
namespace {

std::string text_of(PyObject* object, const char* what) {
  if (!PyUnicode_Check(object)) raise(ErrorKind::Type, "%s must be a str, not %s", what, Py_TYPE(object)->tp_name);
  return PyUnicode_AsUTF8(object);
}

OpRecord& op_named(const std::string& name) {
  OpRecord* op = find_op(name);
  if (!op)
    raise(ErrorKind::Runtime, "there is no op %s: define it first, or check its name and overload", name.c_str());
  return *op;
}

// _overloads("aten::add"): {overload name: OpOverload}, empty for an unknown name.
PyObject* overloads(PyObject*, PyObject* name_object) {
  struct Search {
    std::string name;
    std::vector<OpRecord*> found;
  };
  return guarded([&] {
    Search search{text_of(name_object, "the op's name"), {}};
    if (define_missing_ops && search.name.starts_with("aten::")) define_missing_ops(search.name.substr(6));
    for_each_op(
        [](OpRecord& op, void* context) {
          auto& wanted = *static_cast<Search*>(context);
          const std::string& full = op.qualified_name;
          if (full.compare(0, full.find('.'), wanted.name) == 0) wanted.found.push_back(&op);
        },
        &search);
    Object callables = own(PyDict_New());
    for (OpRecord* op : search.found) {
      const std::string overload = op->schema.overload.empty() ? "default" : op->schema.overload;
      checked(PyDict_SetItemString(callables.get(), overload.c_str(), overload_object(*op)));
    }
    return callables.leak();
  });
}

void run_python_kernel(OpCall& call, void* context) {
  HoldGil gil;
  Object positional, keywords;
  pack_arguments(call, positional, keywords);
  Object returned = own(PyObject_Call(static_cast<PyObject*>(context), positional.get(), keywords.get()));
  unpack_results(call, returned.get());
}

PyObject* define(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *schema, *name_space;
    if (!PyArg_ParseTuple(args, "ss:_define_op", &schema, &name_space)) return nullptr;
    OpRecord* op = define_op(schema, name_space);
    register_fall_through(*op, Key::Autograd);  // the ops that a kernel in Python calls are recorded
    return to_string(op->qualified_name).leak();
  });
}

// _register_kernel(name, key, function): key "" serves every key.
PyObject* register_python_kernel(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name_text, *key_text;
    PyObject* function;
    if (!PyArg_ParseTuple(args, "ssO:_register_kernel", &name_text, &key_text, &function)) return nullptr;
    if (!PyCallable_Check(function))
      raise(ErrorKind::Type, "a kernel must be callable, a %s is not", Py_TYPE(function)->tp_name);
    OpRecord& op = op_named(name_text);
    const KernelEntry entry{run_python_kernel, new_reference(function)};  // kernels live forever
    if (*key_text == '\0') {
      register_catch_all(op, entry);
      return none();
    }
    Key key;
    if (!parse_key(key_text, key)) raise(ErrorKind::Runtime, "there is no dispatch key '%s'", key_text);
    register_kernel(op, key, entry, /*replace=*/true);
    return none();
  });
}

// ------------------------------------------------------------------------------ dispatch traces

struct Step {
  std::string op, key, arguments;
  int depth;
  bool failed = false;
};

struct Trace {
  std::vector<Step> steps;
  std::vector<size_t> open;
  int token = 0;
};
thread_local Trace* active_trace = nullptr;

std::string describe(const Value& value) {
  switch (value.tag) {
    case Tag::Tensor: return std::string(name(value.tensor->dtype)) + format_sizes(value.tensor->shape());
    case Tag::TensorList:
    case Tag::OptionalTensorList: return std::to_string(value.length) + " tensors";
    case Tag::IntList: return format_sizes(value.ints());
    case Tag::Int: return std::to_string(value.integer);
    case Tag::Bool: return value.integer ? "True" : "False";
    case Tag::Float: return std::to_string(value.number);
    case Tag::None: return "None";
    case Tag::DType: return std::string(name(static_cast<DType>(value.integer)));
    case Tag::String: return "'" + std::string(value.string, value.length) + "'";
    default: return "...";
  }
}

void enter_step(const OpCall& call, Key key, void*) {
  if (!active_trace) return;
  std::string arguments;
  for (int i = 0; i < call.num_args; ++i) arguments += (i ? ", " : "") + describe(call.args[i]);
  const int depth = static_cast<int>(active_trace->open.size());
  active_trace->open.push_back(active_trace->steps.size());
  active_trace->steps.push_back({call.op->qualified_name, std::string(name(key)), std::move(arguments), depth});
}

void leave_step(const OpCall&, Key, bool failed, void*) {
  if (!active_trace || active_trace->open.empty()) return;
  active_trace->steps[active_trace->open.back()].failed = failed;
  active_trace->open.pop_back();
}

PyObject* start_trace(PyObject*, PyObject*) {
  return guarded([] {
    if (active_trace) raise(ErrorKind::Runtime, "a dispatch trace is already running in this thread");
    active_trace = new Trace;
    active_trace->token = add_dispatch_observer({enter_step, leave_step, nullptr});
    return none();
  });
}

// [(depth, op, key, arguments, failed)] of this thread's dispatches since the start.
PyObject* stop_trace(PyObject*, PyObject*) {
  return guarded([] {
    if (!active_trace) raise(ErrorKind::Runtime, "no dispatch trace is running in this thread");
    const std::unique_ptr<Trace> trace(std::exchange(active_trace, nullptr));
    remove_dispatch_observer(trace->token);
    Object list = own(PyList_New(0));
    for (const Step& step : trace->steps) {
      Object entry = own(Py_BuildValue("(isssO)", step.depth, step.op.c_str(), step.key.c_str(), step.arguments.c_str(),
                                       step.failed ? Py_True : Py_False));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// _backward_ops(): {op: the op that PyTorch computes its gradient by}.
PyObject* list_backward_ops(PyObject*, PyObject*) {
  return guarded([] {
    Object found = own(PyDict_New());
    for (const LateBinding& binding : late_bindings())
      if (!binding.is_method && !binding.is_function)
        checked(PyDict_SetItem(found.get(), to_string(std::string(binding.original)).get(),
                               to_string(std::string(binding.name)).get()));
    return found.leak();
  });
}

PyMethodDef functions[] = {
    {"_overloads", overloads, METH_O, "_overloads(name): the callables of an op's overloads, by overload name."},
    {"_define_op", define, METH_VARARGS, "_define_op(schema, namespace): a new op; its full name."},
    {"_register_kernel", register_python_kernel, METH_VARARGS,
     "_register_kernel(name, key, function): a kernel written in Python; key '' serves every key."},
    {"_backward_ops", list_backward_ops, METH_NOARGS,
     "_backward_ops(): the names of gradient ops, by the op whose gradient they give."},
    {"_start_dispatch_trace", start_trace, METH_NOARGS, "Begins to record this thread's dispatches."},
    {"_stop_dispatch_trace", stop_trace, METH_NOARGS, "[(depth, op, key, arguments, failed)] since the start."},
    {},
};

}  // namespace

void add_library(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
