// Start of the runtime: the op table, the kernel packs, and the way back into Python for misses.
#include <filesystem>
#include <string>

#include "exec/op_table.h"
#include "exec/tile_program.h"
#include "exec/trace.h"
#include "kernels/pack.h"
#include "python/contexts.h"

namespace pellucid::python {
namespace {

// Kernels called from worker threads may miss too: the lock is taken here.
std::string trace_in_python(std::string_view what, std::string_view request) {
  HoldGil gil;
  static PyObject* answer = nullptr;
  if (!answer) {
    Object module = own(PyImport_ImportModule("pellucid._trace"));
    answer = checked(PyObject_GetAttrString(module.get(), "answer"));
  }
  Object bytes = own(PyBytes_FromStringAndSize(request.data(), static_cast<Py_ssize_t>(request.size())));
  Object reply = own(PyObject_CallFunctionObjArgs(answer, to_string(what).get(), bytes.get(), nullptr));
  char* data = nullptr;
  Py_ssize_t size = 0;
  checked(PyBytes_AsStringAndSize(reply.get(), &data, &size));
  return {data, static_cast<size_t>(size)};
}

// _start(directory): reads what the build left beside the package.
PyObject* start(PyObject*, PyObject* directory_object) {
  return guarded([&] {
    const char* directory = PyUnicode_AsUTF8(directory_object);
    if (!directory) raise_python();
    const std::filesystem::path folder(directory);
    const std::filesystem::path pack = folder / (std::string("kernels-") + isa_level() + ".pack");
    if (std::filesystem::exists(pack)) open_pack(pack.string());
    install_tile_interpreter();
    trace_function = trace_in_python;
    load_op_table((folder / "frozen.bin").string());
    return none();
  });
}

PyMethodDef functions[] = {
    {"_start", start, METH_O, "_start(directory): loads the op table and the kernels found there."},
    {},
};

}  // namespace

void add_start(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
