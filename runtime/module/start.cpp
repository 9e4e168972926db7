// Starts the layers below the bindings: kernel packs, op table, autograd's handlers, tracing.
#include "module/start.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "autograd/handler.h"
#include "core/named_ops.h"
#include "core/pending.h"
#include "core/thread_pool.h"
#include "intrinsics/kernels.h"
#include "kernels/code_memory.h"
#include "kernels/pack.h"
#include "library/fourier.h"
#include "library/lapack.h"
#include "library/linear_algebra.h"
#include "library/sort.h"
#include "module/intrinsic_kernels.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/library.h"
#include "plan/tile_program.h"
#include "python/object.h"
#include "python/tensor_object.h"
#include "threads/fork_safe_mutex.h"
#include "timeline/session.h"
#include "transforms/handler.h"

namespace pellucid::python {

namespace {

// Calls pellucid._C._runtime.tracing.answer(what, request), with or without the interpreter lock held.
std::string ask_python(std::string_view what, std::string_view request) {
  const HoldGil lock;
  Object module = own(PyImport_ImportModule("pellucid._C._runtime.tracing"));
  Object result = own(PyObject_CallMethod(module.get(), "answer", "s#y#", what.data(), Py_ssize_t(what.size()),
                                          request.data(), Py_ssize_t(request.size())));
  char* bytes;
  Py_ssize_t size;
  checked(PyBytes_AsStringAndSize(result.get(), &bytes, &size));
  return {bytes, static_cast<size_t>(size)};
}

// pellucid._C._runtime.tracing.kernel_code(id, level): machine code that no pack has, or null.
KernelFunction compile_kernel(const KernelId& id) {
  const HoldGil lock;
  Object module = own(PyImport_ImportModule("pellucid._C._runtime.tracing"));
  Object found = own(PyObject_CallMethod(module.get(), "kernel_code", "y#s", reinterpret_cast<const char*>(id.data()),
                                         static_cast<Py_ssize_t>(id.size()), isa_level()));
  if (found.get() == Py_None) return nullptr;
  const char* code;
  Py_ssize_t size, entry;
  checked(PyArg_ParseTuple(found.get(), "y#n", &code, &size, &entry) ? 0 : -1);
  return place_code(static_cast<size_t>(size), static_cast<size_t>(entry),
                    [&](std::span<char> room) { std::copy_n(code, size, room.data()); });
}

// Converts the options of a library call to Python: the plan's, then the call's.
void add_options(PyObject* options, const LibraryCall& call) {
  const Step& step = call.step;
  for (size_t k = 0; k < step.options.size(); ++k) {
    const auto& [name, constant] = step.options[k];
    Object value = step.texts[k].empty()
                       ? own(constant.is_number ? PyFloat_FromDouble(constant.value.number)
                                                : PyLong_FromLongLong(constant.value.integer))
                       : own(PyUnicode_FromStringAndSize(step.texts[k].data(), Py_ssize_t(step.texts[k].size())));
    checked(PyDict_SetItemString(options, name.c_str(), value.get()));
  }
  for (size_t k = 0; k < step.numbers.size(); ++k) {
    Object value = own(PyLong_FromLongLong(call.numbers[k].integer));
    checked(PyDict_SetItemString(options, step.number_names[k].c_str(), value.get()));
  }
}

Object tensor_list(std::span<TensorImpl* const> tensors) {
  Object list = own(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t k = 0; k < tensors.size(); ++k)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(k), wrap(Tensor::share(tensors[k])));
  return list;
}

// pellucid._C._runtime.tracing.run_routine(name, inputs, outputs, options): the routine's definition in NumPy.
void run_routine_in_python(LibraryCall& call) {
  const HoldGil lock;
  Object module = own(PyImport_ImportModule("pellucid._C._runtime.tracing"));
  Object options = own(PyDict_New());
  add_options(options.get(), call);
  own(PyObject_CallMethod(module.get(), "run_routine", "sNNO", call.step.name.c_str(), tensor_list(call.inputs).leak(),
                          tensor_list(call.outputs).leak(), options.get()));
}

// pellucid._C._runtime.lapack.library_file().
std::string find_lapack_package() {
  const HoldGil lock;
  Object module = own(PyImport_ImportModule("pellucid._C._runtime.lapack"));
  Object path = own(PyObject_CallMethod(module.get(), "library_file", nullptr));
  const char* text = PyUnicode_AsUTF8(path.get());
  if (!text) raise_python();
  return text;
}

// A missing pack is slow, never an error: kernels then run as tile programs. In checked mode the compiler
// recompiles every kernel.
void open_pack_if_there(const std::string& path) {
  const char* checked = std::getenv("PELLUCID_CHECKED");
  if (checked && *checked) return;
  if (access(path.c_str(), R_OK) == 0) open_pack(path);
}

// _start(directory): called once, with the directory of the package's data files.
PyObject* start(PyObject*, PyObject* directory) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(directory);
    if (!text) raise_python();
    const std::string folder = text;
    take_mutexes_at_forks();
    forget_threads_at_forks();
    forget_sessions_at_forks();
    install_tile_interpreter();
    register_sort_routines();
    register_factorizations();
    register_systems();
    register_least_squares();
    register_fourier();
    register_search();
    register_spectra();
    open_pack_if_there(folder + "/kernels-" + isa_level() + ".pack");
    for (const char* level : product_levels()) open_pack_if_there(folder + "/kernels-" + level + ".pack");
    register_autograd();
    register_transforms();
    load_op_table(folder + "/frozen.bin", kIntrinsics);
    intrinsics::install_in_place_views();
    register_pending();
    register_view_rules();
    find_named_ops();
    trace_function = ask_python;
    set_kernel_resolver(compile_kernel);
    library_fallback = run_routine_in_python;
    find_lapack = find_lapack_package;
    return none();
  });
}

PyObject* kernel_is_packed(PyObject*, PyObject* id) {
  return guarded([&] {
    char* bytes;
    Py_ssize_t size;
    checked(PyBytes_AsStringAndSize(id, &bytes, &size));
    KernelId kernel;
    if (static_cast<size_t>(size) != kernel.size()) raise(ErrorKind::Value, "a kernel id has %zu bytes", kernel.size());
    std::copy_n(bytes, size, kernel.begin());
    return new_reference(is_packed(kernel) ? Py_True : Py_False);
  });
}

PyMethodDef functions[] = {
    {"_kernel_is_packed", kernel_is_packed, METH_O, "Whether a pack holds the kernel of this id."},
    {"_start", start, METH_O, "Maps the kernel pack and the op table of a directory."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_start(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
