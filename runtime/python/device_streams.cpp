// Streams, events and memory of a device, for the modules of backends (pellucid/devices).
#include "python/device_streams.h"

#include "core/backend.h"
#include "core/captured_draws.h"
#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/error.h"
#include "core/pinned_memory.h"
#include "core/tensor.h"
#include "kernels/host_shadow.h"
#include "python/tensor_object.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

struct Place {
  Device device;
  Backend& backend;
  DevicePool& pool;
};

Place place_of(PyObject* object) {
  const Device device = with_index(device_argument(object));
  Backend& backend = backend_of(device);
  return {device, backend, *backend.pool};
}

PyObject* has_streams(PyObject*, PyObject* device) {
  return guarded([&] {
    Backend* const backend = find_backend(device_argument(device).type);
    return PyBool_FromLong(backend && backend->has_streams());
  });
}

// _new_stream(device, priority)
PyObject* new_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* device;
    int priority;
    if (!PyArg_ParseTuple(args, "Oi:_new_stream", &device, &priority)) return nullptr;
    const Place place = place_of(device);
    return PyLong_FromLongLong(place.backend.new_stream(place.device, priority));
  });
}

PyObject* get_stream(PyObject*, PyObject* device) {
  return guarded([&] { return PyLong_FromLongLong(current_stream(place_of(device).device)); });
}

// The arguments of functions that take a device and one or two numbers.
struct Numbers {
  PyObject* device;
  unsigned long long first = 0, second = 0;
};

template <class Body>
PyObject* with_numbers(PyObject* args, const char* format, Body&& body) {
  return guarded([&]() -> PyObject* {
    Numbers given{};
    if (!PyArg_ParseTuple(args, format, &given.device, &given.first, &given.second)) return nullptr;
    return body(place_of(given.device), given);
  });
}

PyObject* set_stream(PyObject*, PyObject* args) {
  return with_numbers(args, "OK:_set_current_stream", [](const Place& place, const Numbers& given) {
    return set_current_stream(place.device, static_cast<int64_t>(given.first)), none();
  });
}

PyObject* record_event(PyObject*, PyObject* args) {
  return with_numbers(args, "OKK:_record_event", [](const Place& place, const Numbers& given) {
    const auto stream = static_cast<int64_t>(given.first);
    return PyLong_FromUnsignedLongLong(given.second ? place.backend.record_timed(place.device, stream)
                                                    : place.backend.record(place.device, stream));
  });
}

PyObject* wait_event(PyObject*, PyObject* args) {
  return with_numbers(args, "OKK:_stream_wait", [](const Place& place, const Numbers& given) {
    return place.backend.wait(place.device, static_cast<int64_t>(given.first), given.second), none();
  });
}

PyObject* is_done(PyObject*, PyObject* args) {
  return with_numbers(args, "OK:_event_is_done", [](const Place& place, const Numbers& given) {
    return PyBool_FromLong(place.backend.is_done(place.device, given.first));
  });
}

PyObject* finish(PyObject*, PyObject* args) {
  return with_numbers(args, "OK:_finish_event", [](const Place& place, const Numbers& given) {
    return place.backend.finish(place.device, given.first), none();
  });
}

PyObject* drop_event(PyObject*, PyObject* args) {
  return with_numbers(args, "OK:_drop_event", [](const Place& place, const Numbers& given) {
    return place.backend.drop_event(place.device, given.first), none();
  });
}

PyObject* begin_graph(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* device;
    long long stream, pool;
    int mode;
    if (!PyArg_ParseTuple(args, "OLLi:_begin_graph", &device, &stream, &pool, &mode)) return nullptr;
    const Place place = place_of(device);
    const int64_t used = place.pool.begin_capture(place.device, stream, pool, mode);
    end_captured_draws(place.device, stream, 0);  // of a capture that never ended
    return PyLong_FromLongLong(used);
  });
}

PyObject* new_graph_pool(PyObject*, PyObject* device) {
  return guarded([&] {
    const Place place = place_of(device);
    return PyLong_FromLongLong(place.pool.new_pool(place.device));
  });
}

PyObject* is_capturing(PyObject*, PyObject* device) {
  return guarded([&] {
    const Place place = place_of(device);
    return PyBool_FromLong(place.pool.capture_of(place.device, current_stream(place.device)).has_value());
  });
}

PyObject* end_graph(PyObject*, PyObject* args) {
  return with_numbers(args, "OK:_end_graph", [](const Place& place, const Numbers& given) {
    const auto stream = static_cast<int64_t>(given.first);
    try {
      const uint64_t graph = place.pool.end_capture(place.device, stream);
      end_captured_draws(place.device, stream, graph);
      return PyLong_FromUnsignedLongLong(graph);
    } catch (...) {
      end_captured_draws(place.device, stream, 0);
      throw;
    }
  });
}

PyObject* replay(PyObject*, PyObject* args) {
  return with_numbers(args, "OKK:_replay_graph", [](const Place& place, const Numbers& given) {
    const auto stream = static_cast<int64_t>(given.second);
    {
      const ReleaseGil released;  // another thread's replay may need it
      const ReplayedDraws draws(place.device, given.first, stream);
      place.backend.replay(place.device, given.first, stream);
    }
    return none();
  });
}

PyObject* drop_graph(PyObject*, PyObject* args) {
  return with_numbers(args, "OKK:_drop_graph", [](const Place& place, const Numbers& given) {
    if (given.first) {
      drop_captured_draws(place.device, given.first);  // first: the backend may give its number to another
      place.backend.drop_graph(place.device, given.first);
    }
    return place.pool.drop_pool(place.device, static_cast<int64_t>(given.second)), none();
  });
}

PyObject* elapsed(PyObject*, PyObject* args) {
  return with_numbers(args, "OKK:_event_elapsed", [](const Place& place, const Numbers& given) {
    return PyFloat_FromDouble(place.backend.elapsed(place.device, given.first, given.second));
  });
}

// _record_stream(tensor, stream): a stream other than the tensor's own uses its memory.
PyObject* record_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object;
    long long stream;
    if (!PyArg_ParseTuple(args, "OL:_record_stream", &object, &stream)) return nullptr;
    const TensorImpl& tensor = *tensor_of(object);
    Backend& backend = backend_of(tensor.device);
    if (tensor.storage && tensor.storage->device_address)
      backend.pool->record_use(tensor.device, tensor.storage->device_address, stream);
    return none();
  });
}

PyObject* pin_memory(PyObject*, PyObject* object) {
  return guarded([&] {
    TensorImpl& tensor = *tensor_of(object);
    if (tensor.device.type != DeviceType::CPU)
      raise(ErrorKind::Runtime, "cannot pin a tensor on %s: only dense CPU tensors can be pinned",
            device_name(tensor.device).c_str());
    return is_pinned(*tensor.storage) ? new_reference(object) : wrap(pinned_copy(tensor));
  });
}

PyObject* as_tuple(const MemoryCount& count) {
  return checked(Py_BuildValue("(LLLL)", static_cast<long long>(count.current), static_cast<long long>(count.peak),
                               static_cast<long long>(count.taken), static_cast<long long>(count.given)));
}

// _device_memory(device): (current, peak, taken, given) of each quantity, and two numbers.
PyObject* memory(PyObject*, PyObject* device) {
  return guarded([&] {
    const Place place = place_of(device);
    const MemoryCounts counts = place.pool.counts(place.device);
    return Py_BuildValue("{sNsNsNsNsNsLsL}", "allocation", as_tuple(counts.blocks), "allocated_bytes",
                         as_tuple(counts.allocated), "requested_bytes", as_tuple(counts.requested), "segment",
                         as_tuple(counts.segments), "reserved_bytes", as_tuple(counts.reserved), "num_alloc_retries",
                         static_cast<long long>(counts.retries), "num_ooms", static_cast<long long>(counts.failures));
  });
}

// _device_blocks(device): (address, bytes, bytes requested, stream, state, whether a segment begins) of each part.
PyObject* blocks(PyObject*, PyObject* device) {
  return guarded([&] {
    const Place place = place_of(device);
    Object list = own(PyList_New(0));
    for (const DevicePool::Listed& block : place.pool.list_blocks(place.device)) {
      const Object row = own(
          Py_BuildValue("(KKKLsO)", static_cast<unsigned long long>(block.address),
                        static_cast<unsigned long long>(block.nbytes), static_cast<unsigned long long>(block.requested),
                        static_cast<long long>(block.stream), block.state, block.starts_segment ? Py_True : Py_False));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.leak();
  });
}

template <void (DevicePool::*Change)(Device)>
PyObject* change(PyObject*, PyObject* device) {
  return guarded([&] {
    const Place place = place_of(device);
    return (place.pool.*Change)(place.device), none();
  });
}

PyMethodDef functions[] = {
    {"_has_streams", has_streams, METH_O, "Whether work on devices of the type is queued."},
    {"_new_stream", new_stream, METH_VARARGS, "_new_stream(device, priority): the number of a new stream."},
    {"_current_stream", get_stream, METH_O, "The number of this thread's stream of the device."},
    {"_set_current_stream", set_stream, METH_VARARGS, "_set_current_stream(device, stream)."},
    {"_record_event", record_event, METH_VARARGS,
     "_record_event(device, stream, is_timed): an event at the stream's end."},
    {"_stream_wait", wait_event, METH_VARARGS, "_stream_wait(device, stream, event)."},
    {"_event_is_done", is_done, METH_VARARGS, "_event_is_done(device, event)."},
    {"_finish_event", finish, METH_VARARGS, "_finish_event(device, event): returns when it is done."},
    {"_event_elapsed", elapsed, METH_VARARGS, "_event_elapsed(device, first, second): milliseconds."},
    {"_drop_event", drop_event, METH_VARARGS, "_drop_event(device, event): nothing will name it again."},
    {"_begin_graph", begin_graph, METH_VARARGS, "_begin_graph(device, stream, pool, mode): the graph's pool."},
    {"_new_graph_pool", new_graph_pool, METH_O, "A pool that graphs of the device can share."},
    {"_is_capturing", is_capturing, METH_O, "Whether this thread's stream of the device is being captured."},
    {"_end_graph", end_graph, METH_VARARGS, "_end_graph(device, stream): the number of the graph."},
    {"_replay_graph", replay, METH_VARARGS, "_replay_graph(device, graph, stream)."},
    {"_drop_graph", drop_graph, METH_VARARGS, "_drop_graph(device, graph, pool): graph 0 does not exist."},
    {"_pin_memory", pin_memory, METH_O, "The tensor, or a copy of it in pinned memory."},
    {"_record_stream", record_stream, METH_VARARGS, "_record_stream(tensor, stream)."},
    {"_device_memory", memory, METH_O, "Counts of the device's memory."},
    {"_device_blocks", blocks, METH_O, "The parts of the device's memory, by address."},
    {"_empty_device_cache", change<&DevicePool::empty>, METH_O, "Gives free segments back to the backend."},
    {"_reset_device_peaks", change<&DevicePool::reset_peaks>, METH_O, "Sets the peaks to the current values."},
    {"_reset_device_sums", change<&DevicePool::reset_sums>, METH_O, "Sets the sums to 0."},
    {},
};

}  // namespace

void add_device_streams(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
