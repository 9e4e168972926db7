// NVIDIA GPUs for Python: kernels' text comes from pellucid.devices.grids, and torch.cuda asks here.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/device_names.h"
#include "cuda/convolutions.h"
#include "cuda/cuda_device.h"
#include "cuda/library.h"
#include "python/contexts.h"
#include "python/extension_device.h"
#include "python/object.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

Object id_of(const KernelId& id) {
  return own(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(id.data()), static_cast<Py_ssize_t>(id.size())));
}

// The kernels' facts and texts, by the compiler.
class Compiler final : public cuda::KernelSource {
 public:
  std::optional<cuda::KernelFacts> facts(const KernelId& id) override {
    const HoldGil gil;
    static constinit LateImport facts_of("pellucid.devices.grids", "facts_of");
    const Object found = own(PyObject_CallFunctionObjArgs(facts_of.get(), id_of(id).get(), nullptr));
    if (found.get() == Py_None) return std::nullopt;
    int form, num_params, can_fail;
    unsigned long long sums, wide;
    if (!PyArg_ParseTuple(found.get(), "iiKKp", &form, &num_params, &sums, &wide, &can_fail)) raise_python();
    return cuda::KernelFacts{{static_cast<GridForm>(form), num_params, sums, wide}, can_fail != 0};
  }

  std::string image(const KernelId& id, const GridLaunch& grid, std::span<const LaunchOperand> operands,
                    int gpu) override {
    const HoldGil gil;
    static constinit LateImport image_of("pellucid.devices.grids", "image_of");
    const Object dtypes = own(PyTuple_New(static_cast<Py_ssize_t>(operands.size())));
    for (size_t k = 0; k < operands.size(); ++k)
      PyTuple_SET_ITEM(dtypes.get(), k, to_string(pellucid::name(operands[k].dtype)).leak());
    const Object found =
        own(PyObject_CallFunction(image_of.get(), "O(iiiii)Oi", id_of(id).get(), grid.stored, grid.reduced, grid.rows,
                                  grid.columns, grid.guards, dtypes.get(), gpu));
    char* bytes;
    Py_ssize_t size;
    checked(PyBytes_AsStringAndSize(found.get(), &bytes, &size));
    return {bytes, static_cast<size_t>(size)};
  }

  std::string find_library(const char* name) override {
    const HoldGil gil;
    static constinit LateImport find("pellucid._package.vendor_libraries", "find_library");
    const Object path = own(PyObject_CallFunction(find.get(), "s", name));
    const char* const text = PyUnicode_AsUTF8(path.get());
    if (!text) raise_python();
    return text;
  }

  void log_launch(const Launch& launch, bool is_declined) override {
    if (launches_are_traced()) [[unlikely]]
      log_extension_launch(launch.op, launch.kernel.id.data(), launch.device, is_declined);
  }
  void log_library(const char* name, const std::string& op, Device device) override {
    if (launches_are_traced()) [[unlikely]]
      log_extension_op(op, name, device);
  }
  void log_fallback(const std::string& op, const char* kernel) override {
    if (!launches_are_traced()) return;
    log_extension_fallback(device_type_name(DeviceType::CUDA).c_str(), op, kernel);
  }
};

// _find_cuda(): (whether there are GPUs, the reason why there are none).
PyObject* find(PyObject*, PyObject*) {
  return guarded([&] {
    const bool is_there = find_backend(DeviceType::CUDA) != nullptr;
    return Py_BuildValue("(Os)", is_there ? Py_True : Py_False, why_no_cuda().c_str());
  });
}

PyObject* driver_version(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromLong(cuda::driver_version()); });
}

int gpu_of(PyObject* number) {
  int given;
  if (!PyArg_Parse(number, "i:_cuda_properties", &given)) raise_python();
  return given;
}

PyObject* properties(PyObject*, PyObject* gpu) {
  return guarded([&] {
    const cuda::Properties p = cuda::properties_of(gpu_of(gpu));
    return Py_BuildValue("{sssisisisisisisisisisisisisisisOsKsy#}", "name", p.name.c_str(), "major", p.major, "minor",
                         p.minor, "multi_processor_count", p.multiprocessors, "max_threads_per_multi_processor",
                         p.threads_per_multiprocessor, "warp_size", p.warp_size, "shared_memory_per_block",
                         p.shared_bytes, "shared_memory_per_multiprocessor", p.shared_bytes_per_multiprocessor,
                         "shared_memory_per_block_optin", p.shared_bytes_opt_in, "regs_per_multiprocessor",
                         p.registers_per_multiprocessor, "L2_cache_size", p.l2_bytes, "clock_rate", p.clock_rate,
                         "memory_clock_rate", p.memory_clock_rate, "memory_bus_width", p.memory_bus_width,
                         "is_multi_gpu_board", 0, "is_integrated", p.is_integrated ? Py_True : Py_False, "total_memory",
                         static_cast<unsigned long long>(p.total_memory), "uuid", reinterpret_cast<const char*>(p.uuid),
                         static_cast<Py_ssize_t>(sizeof p.uuid));
  });
}

PyObject* memory(PyObject*, PyObject* gpu) {
  return guarded([&] {
    const cuda::MemoryInfo info = cuda::memory_of(gpu_of(gpu));
    return Py_BuildValue("(KK)", static_cast<unsigned long long>(info.unused),
                         static_cast<unsigned long long>(info.total));
  });
}

PyObject* can_access_peer(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu, peer;
    if (!PyArg_ParseTuple(args, "ii:_cuda_can_access_peer", &gpu, &peer)) return nullptr;
    return PyBool_FromLong(cuda::can_access_peer(gpu, peer));
  });
}

PyObject* stream_handle(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu;
    long long stream;
    if (!PyArg_ParseTuple(args, "iL:_cuda_stream_handle", &gpu, &stream)) return nullptr;
    return PyLong_FromVoidPtr(cuda::stream_handle(gpu, stream));
  });
}

// _cuda_link(gpu, ptx): a cubin.
PyObject* link(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu;
    const char* ptx;
    if (!PyArg_ParseTuple(args, "is:_cuda_link", &gpu, &ptx)) return nullptr;
    const std::string image = cuda::link_ptx(gpu, ptx);
    return PyBytes_FromStringAndSize(image.data(), static_cast<Py_ssize_t>(image.size()));
  });
}

// _cuda_load(gpu, image, name): the address of a CUfunction.
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu;
    const char *image, *name;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "iy#s:_cuda_load", &gpu, &image, &size, &name)) return nullptr;
    const std::string whole(image, static_cast<size_t>(size));
    return PyLong_FromVoidPtr(cuda::load_kernel(gpu, whole, name).function);
  });
}

// _cuda_allow_shared(gpu, function, bytes).
PyObject* allow_shared(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu, nbytes;
    unsigned long long function;
    if (!PyArg_ParseTuple(args, "iKi:_cuda_allow_shared", &gpu, &function, &nbytes)) return nullptr;
    cuda::allow_shared({reinterpret_cast<cuda::Handle>(function), gpu}, nbytes);
    return none();
  });
}

// _cuda_launch(gpu, function, (blocks x, y, z, threads x, y, z, shared bytes), words).
PyObject* launch(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int gpu;
    unsigned long long function;
    cuda::Grid grid;
    auto& [blocks, threads, shared_bytes] = grid;
    const char* words;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "iK(IIIIIII)y#:_cuda_launch", &gpu, &function, &blocks[0], &blocks[1], &blocks[2],
                          &threads[0], &threads[1], &threads[2], &shared_bytes, &words, &size))
      return nullptr;
    std::vector<uint64_t> given(static_cast<size_t>(size) / sizeof(uint64_t));
    std::memcpy(given.data(), words, given.size() * sizeof(uint64_t));
    cuda::launch_kernel({reinterpret_cast<cuda::Handle>(function), gpu}, grid, given);
    return none();
  });
}

PyObject* require_determinism(PyObject*, PyObject* must) {
  return guarded([&] { return cuda::must_be_deterministic.store(PyObject_IsTrue(must) == 1), none(); });
}

// _set_cudnn(enabled, benchmark, benchmark_limit, deterministic, allow_tf32).
PyObject* set_cudnn(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int is_enabled, times_candidates, most_candidates, is_deterministic, allows_tf32;
    if (!PyArg_ParseTuple(args, "ppipp:_set_cudnn", &is_enabled, &times_candidates, &most_candidates, &is_deterministic,
                          &allows_tf32))
      return nullptr;
    cuda::CudnnSettings& settings = cuda::cudnn_settings;
    settings.is_enabled.store(is_enabled);
    settings.times_candidates.store(times_candidates);
    settings.most_candidates.store(most_candidates);
    settings.is_deterministic.store(is_deterministic);
    settings.allows_tf32.store(allows_tf32);
    return none();
  });
}

PyObject* cudnn_version(PyObject*, PyObject* path) {
  return guarded([&]() -> PyObject* {
    const char* const text = PyUnicode_AsUTF8(path);
    return text ? PyLong_FromLongLong(cuda::cudnn_version(text)) : nullptr;
  });
}

std::vector<int64_t> numbers_of(PyObject* tuple) {
  std::vector<int64_t> found;
  for (Py_ssize_t k = 0; k < PyTuple_Size(tuple); ++k) {
    found.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, k)));
    if (PyErr_Occurred()) raise_python();
  }
  return found;
}

struct PlacedOperand {
  uint64_t address;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  std::vector<std::vector<int64_t>> steps;  // of the guards
  std::vector<Guard> guards;

  LaunchOperand operand() const { return {address, DType::UInt8, sizes, strides, guards, offset, 0}; }

  // From (first, size, steps).
  void add_guard(PyObject* given) {
    long long first, size;
    PyObject* numbers;
    if (!PyArg_ParseTuple(given, "LLO!", &first, &size, &PyTuple_Type, &numbers)) raise_python();
    steps.push_back(numbers_of(numbers));
    guards.push_back({first, size, steps.back()});
  }
};

// _place_on_grid((form, params, sums, wide), outputs, stored, extents, operands, params, status): ((stored axes, other
// axes, a product's rows, columns and guards), the kernel's arguments). Operands: (address, sizes, strides, offset,
// guards).
PyObject* place(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int form, num_params, num_outputs, num_stored;
    unsigned long long sums, wide, status;
    PyObject *extents_given, *operands_given, *params_given;
    if (!PyArg_ParseTuple(args, "(iiKK)iiO!O!O!K:_place_on_grid", &form, &num_params, &sums, &wide, &num_outputs,
                          &num_stored, &PyTuple_Type, &extents_given, &PyTuple_Type, &operands_given, &PyTuple_Type,
                          &params_given, &status))
      return nullptr;
    std::vector<PlacedOperand> placed;
    for (Py_ssize_t k = 0; k < PyTuple_Size(operands_given); ++k) {
      unsigned long long address;
      long long offset;
      PyObject *sizes, *strides, *guards;
      if (!PyArg_ParseTuple(PyTuple_GET_ITEM(operands_given, k), "KO!O!LO!", &address, &PyTuple_Type, &sizes,
                            &PyTuple_Type, &strides, &offset, &PyTuple_Type, &guards))
        return nullptr;
      placed.push_back({address, numbers_of(sizes), numbers_of(strides), offset, {}, {}});
      for (Py_ssize_t g = 0; g < PyTuple_Size(guards); ++g) placed.back().add_guard(PyTuple_GET_ITEM(guards, g));
    }
    std::vector<LaunchOperand> operands;
    for (const PlacedOperand& operand : placed) operands.push_back(operand.operand());
    std::vector<uint64_t> params;
    for (Py_ssize_t k = 0; k < PyTuple_Size(params_given); ++k) {
      params.push_back(PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(params_given, k)));
      if (PyErr_Occurred()) raise_python();
    }
    const std::vector<int64_t> extents = numbers_of(extents_given);
    const KernelRef nothing;
    const Launch launch{"", nothing, {}, extents, num_stored, operands, num_outputs, params};
    const GridKernel kernel{static_cast<GridForm>(form), num_params, sums, wide};
    const GridLaunch grid = place_on_grid(kernel, launch, status);
    return Py_BuildValue("((iiiii)y#)", grid.stored, grid.reduced, grid.rows, grid.columns, grid.guards,
                         reinterpret_cast<const char*>(grid.words.data()),
                         static_cast<Py_ssize_t>(grid.words.size() * sizeof(uint64_t)));
  });
}

PyMethodDef functions[] = {
    {"_find_cuda", find, METH_NOARGS, "(whether there are CUDA GPUs, the reason why there are none)."},
    {"_cuda_driver_version", driver_version, METH_NOARGS, "The CUDA version of the driver: 12040 for 12.4."},
    {"_cuda_properties", properties, METH_O, "A GPU's properties by name."},
    {"_cuda_memory", memory, METH_O, "(free bytes, total bytes) of a GPU."},
    {"_cuda_can_access_peer", can_access_peer, METH_VARARGS, "_cuda_can_access_peer(gpu, peer)."},
    {"_cuda_stream_handle", stream_handle, METH_VARARGS, "_cuda_stream_handle(gpu, stream): a CUstream."},
    {"_cuda_link", link, METH_VARARGS, "_cuda_link(gpu, ptx): a cubin, by the driver's compiler."},
    {"_cuda_load", load, METH_VARARGS, "_cuda_load(gpu, image, name): a CUfunction."},
    {"_cuda_allow_shared", allow_shared, METH_VARARGS, "_cuda_allow_shared(gpu, function, bytes) of dynamic memory."},
    {"_cuda_launch", launch, METH_VARARGS, "_cuda_launch(gpu, function, grid, words) on the current stream."},
    {"_require_determinism", require_determinism, METH_O, "Whether GPUs' libraries may only do what is deterministic."},
    {"_set_cudnn", set_cudnn, METH_VARARGS, "The switches of torch.backends.cudnn."},
    {"_cudnn_version", cudnn_version, METH_O, "The version of the library at a path."},
    {"_place_on_grid", place, METH_VARARGS, "A launch as the arguments of a grid's kernel."},
    {},
};

}  // namespace

void add_cuda(PyObject* module) {
  static auto* const compiler = new Compiler;
  cuda::install(*compiler);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
