// Process-wide settings: threads, default dtype, memory statistics; warnings and interrupts.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <chrono>
#include <thread>

#include "core/allocation_failure.h"
#include "core/allocator.h"
#include "core/defaults.h"
#include "core/hooks.h"
#include "core/large_blocks.h"
#include "core/thread_pool.h"
#include "kernels/pack.h"
#include "python/boundary.h"
#include "python/contexts.h"
#include "python/passing_error.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* put_num_threads(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!PyLong_Check(object) || PyBool_Check(object))
      raise(ErrorKind::Runtime, "set_num_threads(): expected an int, not %s", Py_TYPE(object)->tp_name);
    const long count = PyLong_AsLong(object);
    if (count == -1 && PyErr_Occurred()) raise_python();
    if (count < 1 || count > 4096)
      raise(ErrorKind::Runtime, "set_num_threads(): expected a positive number of threads, not %ld", count);
    set_num_threads(static_cast<int>(count));
    return none();
  });
}

PyObject* get_default_dtype(PyObject*, PyObject*) { return new_reference(dtype_object(default_dtype())); }

PyObject* put_default_dtype(PyObject*, PyObject* object) {
  return guarded([&] {
    DType dtype;
    if (!to_dtype(object, dtype) || category(dtype) != DTypeCategory::Floating)
      raise(ErrorKind::Type, "set_default_dtype(): expected a floating point dtype, not %s",
            is_dtype(object) ? std::string(name(dtype_of(object))).c_str() : Py_TYPE(object)->tp_name);
    pass_boundary("set_default_dtype");
    set_default_dtype(dtype);
    return none();
  });
}

PyObject* get_isa_level(PyObject*, PyObject*) {
  return guarded([] { return checked(PyUnicode_FromString(isa_level())); });
}

PyObject* log_api_usage(PyObject*, PyObject*) { return none(); }

PyObject* promote_dtypes(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "O!O!:promote_types", &dtype_type, &a, &dtype_type, &b)) return nullptr;
    return new_reference(dtype_object(promote(dtype_of(a), dtype_of(b))));
  });
}

PyObject* can_cast_dtypes(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"from_", "to", nullptr};
    PyObject *from, *to;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:can_cast", const_cast<char**>(names), &dtype_type, &from,
                                     &dtype_type, &to))
      return nullptr;
    return PyBool_FromLong(can_cast(dtype_of(from), dtype_of(to)));
  });
}

void warn_in_python(const char* message) {
  HoldGil gil;
  const bool is_passing = PyErr_Occurred() != nullptr;
  const PassingError passing;  // replaces the error of a warning filter
  if (PyErr_WarnEx(PyExc_UserWarning, message, 1) < 0 && !is_passing) raise_python();
}

// The counters of the caching allocator.
PyObject* get_memory_statistics(PyObject*, PyObject*) {
  const AllocatorStatistics counts = allocator_statistics();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated_bytes", counts.allocated_bytes,
                       "peak_allocated_bytes", counts.peak_allocated_bytes, "reserved_bytes", counts.reserved_bytes,
                       "peak_reserved_bytes", counts.peak_reserved_bytes, "num_allocations", counts.num_allocations,
                       "num_frees", counts.num_frees, "num_base_allocations", counts.num_base_allocations,
                       "num_out_of_memory", counts.num_out_of_memory);
}

// [(address, bytes, resident bytes, free, starts a segment, the segment's largest block so far or 0)]
PyObject* list_parts(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyList_New(0));
    for (const LargeBlocks::Listed& part : list_large_blocks()) {
      Object entry = own(Py_BuildValue(
          "KKKOOK", reinterpret_cast<unsigned long long>(part.address), static_cast<unsigned long long>(part.nbytes),
          static_cast<unsigned long long>(part.resident), part.free ? Py_True : Py_False,
          part.starts_segment ? Py_True : Py_False, static_cast<unsigned long long>(part.largest)));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

PyObject* empty_block_cache(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}

// Applies to this thread, and to workers while they work for it (core/thread_pool.h). Returns whether it is supported.
PyObject* set_flush_denormal(PyObject*, PyObject* mode) {
  return guarded([&]() -> PyObject* {
    const int on = PyObject_IsTrue(mode);
    if (on < 0) raise_python();
#if defined(__x86_64__)
    constexpr unsigned kFlush = 1u << 15, kInputsAreZero = 1u << 6;
    const unsigned others = _mm_getcsr() & ~(kFlush | kInputsAreZero);
    _mm_setcsr(on ? others | kFlush | kInputsAreZero : others);
    Py_RETURN_TRUE;
#else
    Py_RETURN_FALSE;
#endif
  });
}

PyObject* reset_peaks(PyObject*, PyObject*) {
  reset_allocator_peaks();
  Py_RETURN_NONE;
}

PyObject* refuse_block(PyObject*, PyObject* object) {
  return guarded([&] {
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred()) raise_python();
    fail_allocation(number);
    return none();
  });
}

// A signal handler may call ops while an op runs: they are dispatched from the highest key, like the user's code.
class UserKeys {
 public:
  UserKeys() : excluded_(std::exchange(thread_state.exclude, KeySet())) {}
  ~UserKeys() { thread_state.exclude = excluded_; }
  UserKeys(const UserKeys&) = delete;
  UserKeys& operator=(const UserKeys&) = delete;

 private:
  const KeySet excluded_;
};

// Ctrl-C during a long computation: called often, checks Python's signals twenty times a second.
void check_interrupt() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next{};
  const Clock::time_point now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(50);
  HoldGil gil;
  const UserKeys keys;
  if (PyErr_CheckSignals() < 0) raise_python();
}

void without_interpreter_lock(void (*work)(void*), void* context) {
  if (!PyGILState_Check()) return work(context);
  const ReleaseGil released;
  work(context);
}

PyMethodDef functions[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads ops may use."},
    {"set_num_threads", put_num_threads, METH_O, "set_num_threads(count): how many threads ops may use."},
    {"get_default_dtype", get_default_dtype, METH_NOARGS, "The dtype of factories without a dtype argument."},
    {"set_default_dtype", put_default_dtype, METH_O, "set_default_dtype(dtype): the dtype of factories."},
    {"promote_types", promote_dtypes, METH_VARARGS, "promote_types(a, b): the dtype that both promote to."},
    {"can_cast", reinterpret_cast<PyCFunction>(can_cast_dtypes), METH_VARARGS | METH_KEYWORDS,
     "can_cast(from_, to): whether promotion rules allow writing `from_` into `to`."},
    {"_memory_statistics", get_memory_statistics, METH_NOARGS, "The allocator's counters, as a dict."},
    {"_set_flush_denormal", set_flush_denormal, METH_O, "Whether denormals can be, and now are, flushed to zero."},
    {"_reset_memory_peaks", reset_peaks, METH_NOARGS, "Sets the allocator's peaks to the current values."},
    {"_empty_cache", empty_block_cache, METH_NOARGS, "Returns the allocator's cached blocks to the system."},
    {"_large_blocks", list_parts, METH_NOARGS,
     "Parts of segments: (address, bytes, resident bytes, free, starts a segment)."},
    {"_fail_allocation", refuse_block, METH_O,
     "_fail_allocation(number): refuses the number-th block of memory from now on, once; 0: none. For tests."},
    {"_log_api_usage_once", log_api_usage, METH_O, "Does nothing: usage is not logged."},
    {"_isa_level", get_isa_level, METH_NOARGS, "The instruction-set level whose kernels run."},
    {},
};

}  // namespace

void add_settings(PyObject* module) {
  core_hooks.warn = warn_in_python;
  core_hooks.check_interrupt = check_interrupt;
  core_hooks.without_interpreter_lock = without_interpreter_lock;
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
