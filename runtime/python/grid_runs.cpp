// Runs of GPU kernels' grids on the CPU, for Python.
#include <memory>

#include "device/emulated_grid.h"
#include "python/contexts.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

// _run_grid(entry, words, ranges, blocks, threads, shared_bytes, order, variables=(0, 0), ends_early=False): see
// device/emulated_grid.h.
PyObject* run_grid(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    unsigned long long entry, order;
    Py_buffer words, ranges;
    long long blocks, threads, shared_bytes;
    unsigned long long begin = 0, end = 0;
    int ends_early = 0;
    if (!PyArg_ParseTuple(args, "Ky*y*LLLK|(KK)p:_run_grid", &entry, &words, &ranges, &blocks, &threads, &shared_bytes,
                          &order, &begin, &end, &ends_early))
      return nullptr;
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> owned[] = {{&words, PyBuffer_Release},
                                                                      {&ranges, PyBuffer_Release}};
    const auto* const first = static_cast<const GridCall::Range*>(ranges.buf);
    const std::string fault = run_emulated_grid({reinterpret_cast<GridCall::Entry>(entry),
                                                 static_cast<const uint64_t*>(words.buf),
                                                 {first, static_cast<size_t>(ranges.len) / sizeof(GridCall::Range)},
                                                 blocks,
                                                 threads,
                                                 shared_bytes,
                                                 order,
                                                 {begin, end},
                                                 ends_early != 0});
    if (!fault.empty()) raise(ErrorKind::Runtime, "%s", fault.c_str());
    return none();
  });
}

PyMethodDef functions[] = {
    {"_run_grid", run_grid, METH_VARARGS,
     "_run_grid(entry, words, ranges, blocks, threads, shared_bytes, order, variables=(0, 0), ends_early=False)."},
    {},
};

}  // namespace

void add_grid_runs(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
