// For torch.ops: callables of single overloads, the ops that modes see, and traces of dispatches.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/dispatcher.h"
#include "core/format.h"
#include "ops/op_table.h"
#include "python/boxing.h"
#include "python/contexts.h"
#include "python/op_overload.h"

namespace pellucid::python {
namespace {

std::string text_of(PyObject* object, const char* what) {
  if (!PyUnicode_Check(object)) raise(ErrorKind::Type, "%s must be a str, not %s", what, Py_TYPE(object)->tp_name);
  return PyUnicode_AsUTF8(object);
}

// _overloads("add"), or "mine::f": {overload name: OpOverload}, empty for an unknown name.
PyObject* overloads(PyObject*, PyObject* name_object) {
  struct Search {
    std::string name;
    std::vector<OpRecord*> found;
  };
  return guarded([&] {
    Search search{qualified_name(text_of(name_object, "the op's name")), {}};
    if (define_missing_ops) define_missing_ops(short_name(search.name));
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

// _overload("add.Tensor"), or "mine::f" of the overload without a name.
PyObject* overload(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const std::string name = text_of(name_object, "the overload's name");
    const OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Attribute, "there is no op overload %s", name.c_str());
    return new_reference(overload_object(*op));
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

// ------------------------------------------------------------------- TORCH_SHOW_DISPATCH_TRACE=1

thread_local std::vector<const OpRecord*>* printed_calls = nullptr;  // on the heap: a small thread-local block

void print_step(const OpCall& call, Key key, void*) {
  if (!printed_calls) printed_calls = new std::vector<const OpRecord*>;
  const bool again = !printed_calls->empty() && printed_calls->back() == call.op;
  printed_calls->push_back(call.op);
  const std::string indent(printed_calls->size(), ' ');
  std::fprintf(stderr, "%s[%s] op=[%s], key=[%s]\n", indent.c_str(), again ? "redispatch" : "call",
               call.op->qualified_name.c_str(), key_name(key, gather_keys(call)).c_str());
}

void end_printed_step(const OpCall&, Key, bool, void*) {
  if (printed_calls && !printed_calls->empty()) printed_calls->pop_back();
}

void print_dispatches_if_asked() {
  const char* asked = std::getenv("TORCH_SHOW_DISPATCH_TRACE");
  if (asked && std::string_view(asked) == "1") add_dispatch_observer({print_step, end_printed_step, nullptr});
}

// _seen_ops(): {op: (gradient op, its arguments, whether the op is composed, whether its gradients are)}.
PyObject* list_seen_ops(PyObject*, PyObject*) {
  return guarded([] {
    Object found = own(PyDict_New());
    for (const SeenOp& seen : seen_ops()) {
      const auto size = [](std::string_view text) { return static_cast<Py_ssize_t>(text.size()); };
      Object facts =
          own(Py_BuildValue("(s#s#OO)", seen.gradient.data(), size(seen.gradient), seen.given.data(), size(seen.given),
                            seen.composed ? Py_True : Py_False, seen.composed_gradients ? Py_True : Py_False));
      checked(PyDict_SetItem(found.get(), to_string(std::string(seen.op)).get(), facts.get()));
    }
    return found.leak();
  });
}

PyMethodDef functions[] = {
    {"_overload", overload, METH_O,
     "_overload(full_name): the callable of one overload; AttributeError for an unknown one."},
    {"_overloads", overloads, METH_O, "_overloads(name): the callables of an op's overloads, by overload name."},
    {"_seen_ops", list_seen_ops, METH_NOARGS,
     "_seen_ops(): what dispatch modes see in place of ops and of their gradients, by op."},
    {"_start_dispatch_trace", start_trace, METH_NOARGS, "Begins to record this thread's dispatches."},
    {"_stop_dispatch_trace", stop_trace, METH_NOARGS, "[(depth, op, key, arguments, failed)] since the start."},
    {},
};

}  // namespace

void add_library(PyObject* module) {
  print_dispatches_if_asked();
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
