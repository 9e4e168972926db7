#include "python/pre_dispatch.h"

#include "core/dispatcher.h"
#include "core/error.h"
#include "core/thread_state.h"
#include "python/boundary.h"
#include "python/boxing.h"
#include "python/dispatch_protocol.h"
#include "python/mode_stack.h"

namespace pellucid::python {
namespace {

ModeStack& mode_stack() {
  static thread_local ModeStack stack __attribute__((tls_model("initial-exec"))) ([](const ModeStack& modes, int) {
    KeySet& include = thread_state.include;
    include = modes.empty() ? include - KeySet(Key::PreDispatch) : include | Key::PreDispatch;
  });
  return stack;
}

// Runs an op that PyTorch does not have as ops that it has, which modes see; false if it did not.
bool ran_composed(OpCall& call) {
  // An op whose decomposition declined runs with the key excluded.
  const bool is_own = call.op->qualified_name.starts_with("pellucid::") && !thread_state.exclude.has(Key::Decompose);
  const KernelEntry composed = is_own ? entry_at(*call.op, Key::Decompose).kernel : KernelEntry{};
  if (composed.function) composed.function(call, composed.context);
  return composed.function != nullptr;
}

void go_on(OpCall& call) {
  ExcludeKeys below{Key::PreDispatch};
  dispatch(call, call.keys);
}

// The fallback of every op at the PreDispatch key.
void ask_modes(OpCall& call, void*) {
  HoldGil gil;
  if (mode_stack().empty()) return go_on(call);  // the program included the key without a mode
  if (decomposed_derivative(call, mode_stack().innermost()) || ran_composed(call)) return;
  const Object types = overriding_classes(call);
  Object args, kwargs;
  pack_given_arguments(call, args, kwargs);
  Object result;
  {
    const RunningMode mode(mode_stack());
    result = ask(call, mode.get(), {types.get(), args.get(), kwargs.get()});
    if (!result) return dispatch(call);  // it declined: the outer modes see the call
  }
  if (!share_written(call)) unpack_results(call, result.get());
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  return guarded([&] {
    pass_boundary("a dispatch mode");
    prepare_decompositions();
    mode_stack().put(new_reference(mode));
    return none();
  });
}

PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    if (mode_stack().empty()) raise(ErrorKind::Runtime, "no dispatch mode is active at PreDispatch");
    return mode_stack().take();
  });
}

PyObject* list_modes(PyObject*, PyObject*) {
  return guarded([] { return mode_stack().as_list(); });
}

PyMethodDef functions[] = {
    {"_push_pre_dispatch_mode", push_mode, METH_O, "Makes a mode the innermost one of this thread at PreDispatch."},
    {"_pop_pre_dispatch_mode", pop_mode, METH_NOARGS, "Removes the innermost mode at PreDispatch and returns it."},
    {"_pre_dispatch_modes", list_modes, METH_NOARGS, "This thread's modes at PreDispatch, the innermost last."},
    {},
};

}  // namespace

void add_pre_dispatch(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  register_fallback(Key::PreDispatch, {ask_modes, nullptr});
}

}  // namespace pellucid::python
