#include "python/generator_object.h"

#include <array>

#include "core/device_names.h"
#include "core/layout.h"
#include "core/philox_generator.h"
#include "python/boundary.h"
#include "python/device_streams.h"
#include "python/tensor_object.h"
#include "python/types.h"

namespace pellucid::python {

PyTypeObject generator_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

namespace {

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* given = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &given)) return nullptr;
    Device device;
    if (given && given != Py_None && !to_device(given, device))
      raise(ErrorKind::Type, "Generator(): argument 'device' must be device or str, not %s", Py_TYPE(given)->tp_name);
    const Generator& standard = default_generator(device);
    if (device.type != standard.device.type)
      raise(ErrorKind::Runtime, "Generator(): no generator for device %s, only for cpu", device_name(device).c_str());
    Object object = own(type->tp_alloc(type, 0));
    Generator*& made = reinterpret_cast<GeneratorObject*>(object.get())->generator;
    if (device.type == DeviceType::CPU) made = new HostGenerator;
    else made = new PhiloxGenerator(standard.device);
    return object.leak();
  });
}

void deallocate(PyObject* self) {
  Generator* generator = generator_of(self);
  if (generator && generator != &default_generator()) Ref<Generator>::adopt(generator);
  Py_TYPE(self)->tp_free(self);
}

// Seeds are 64-bit words; negative ones are taken modulo 2**64, as PyTorch takes them.
uint64_t to_seed(PyObject* object, const char* function) {
  if (!PyIndex_Check(object) && !PyFloat_Check(object))
    raise(ErrorKind::Type, "%s(): the seed must be int, not %s", function, Py_TYPE(object)->tp_name);
  Object integer = own(PyNumber_Long(object));
  const uint64_t seed = PyLong_AsUnsignedLongLong(integer.get());
  if (!PyErr_Occurred()) return seed;
  PyErr_Clear();
  const int64_t negative = PyLong_AsLongLong(integer.get());
  if (negative == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    raise(ErrorKind::Runtime, "%s(): the seed does not fit into 64 bits (-2**63 .. 2**64-1)", function);
  }
  return static_cast<uint64_t>(negative);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    pass_boundary("manual_seed");
    generator_of(self)->manual_seed(to_seed(seed, "manual_seed"));
    return new_reference(self);
  });
}

PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] {
    pass_boundary("seed");
    return PyLong_FromUnsignedLongLong(generator_of(self)->seed());
  });
}

PyObject* initial_seed(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(generator_of(self)->initial_seed()); });
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    pass_boundary("get_state");
    const Generator& generator = *generator_of(self);
    Tensor state = empty(std::array{static_cast<int64_t>(generator.state_bytes())}, DType::UInt8);
    generator.get_state({state->host_as<uint8_t>(), generator.state_bytes()});
    return wrap(std::move(state));
  });
}

PyObject* set_state(PyObject* self, PyObject* object) {
  return guarded([&] {
    if (!is_tensor(object) || tensor_of(object)->dtype != DType::UInt8 || !tensor_of(object)->is_contiguous())
      raise(ErrorKind::Type, "set_state(): the state must be a contiguous uint8 tensor, as get_state() gives it");
    pass_boundary("set_state");
    TensorImpl& state = *tensor_of(object);
    generator_of(self)->set_state({state.host_as<uint8_t>(), static_cast<size_t>(state.numel)});
    return new_reference(self);
  });
}

PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] { return generator_object(*generator_of(self)->clone()); });
}

// The Philox generator of an object; raises for the CPU's, of which a program asks `function`.
PhiloxGenerator& device_generator_of(PyObject* object, const char* function, ErrorKind kind) {
  Generator& generator = *generator_of(object);
  if (generator.device.type == DeviceType::CPU)
    raise(kind, "%s(): a generator of the CPU has no offset; only those of devices have, such as Generator('cuda')",
          function);
  return static_cast<PhiloxGenerator&>(generator);
}

PyObject* get_offset(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyLong_FromUnsignedLongLong(device_generator_of(self, "get_offset", ErrorKind::Runtime).position().offset);
  });
}

PyObject* set_offset(PyObject* self, PyObject* given) {
  return guarded([&] {
    pass_boundary("set_offset");
    const Object integer = own(PyNumber_Index(given));
    int overflows = 0;
    const int64_t offset = PyLong_AsLongLongAndOverflow(integer.get(), &overflows);
    if (overflows || offset < 0)
      raise(ErrorKind::Runtime, "set_offset(): the offset is a multiple of 4 from 0 to 2**63 - 4, and not %s",
            overflows > 0 ? "as great as this one" : "negative");
    device_generator_of(self, "set_offset", ErrorKind::Runtime).set_offset(static_cast<uint64_t>(offset));
    return new_reference(self);
  });
}

PyObject* graphsafe_get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const PhiloxGenerator& given = device_generator_of(self, "graphsafe_get_state", ErrorKind::NotImplemented);
    const Ref<Generator> made = Ref<Generator>::adopt(new PhiloxGenerator(given.device));
    static_cast<PhiloxGenerator&>(*made).share_state(given);
    return generator_object(*made);
  });
}

PyObject* graphsafe_set_state(PyObject* self, PyObject* other) {
  return guarded([&] {
    if (!is_generator(other))
      raise(ErrorKind::Type, "graphsafe_set_state(): expected a Generator, not %s", Py_TYPE(other)->tp_name);
    pass_boundary("graphsafe_set_state");
    PhiloxGenerator& own = device_generator_of(self, "graphsafe_set_state", ErrorKind::NotImplemented);
    own.share_state(device_generator_of(other, "graphsafe_set_state", ErrorKind::NotImplemented));
    return new_reference(self);
  });
}

PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(generator_of(self)->device); });
}

PyObject* default_generator_on(PyObject*, PyObject* device) {
  return guarded([&] { return generator_object(default_generator(device_argument(device))); });
}

PyObject* seed_devices(PyObject*, PyObject* seed) {
  return guarded([&] { return seed_device_generators(to_seed(seed, "manual_seed")), none(); });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed): starts the stream of that seed; returns self."},
    {"seed", seed, METH_NOARGS, "Takes a seed from the system's entropy and returns it."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed the stream started from."},
    {"get_state", get_state, METH_NOARGS, "The state, as a uint8 tensor."},
    {"set_state", set_state, METH_O, "set_state(state): continues from a state that get_state() gave."},
    {"clone_state", clone_state, METH_NOARGS, "A generator with the same state."},
    {"get_offset", get_offset, METH_NOARGS, "How many words of a device's stream have been drawn."},
    {"set_offset", set_offset, METH_O, "set_offset(offset): continues there, a multiple of 4."},
    {"graphsafe_get_state", graphsafe_get_state, METH_NOARGS, "A generator of the same stream: both advance."},
    {"graphsafe_set_state", graphsafe_set_state, METH_O, "graphsafe_set_state(generator): shares its stream."},
    {},
};
PyGetSetDef attributes[] = {{"device", get_device, nullptr, nullptr, nullptr}, {}};

}  // namespace

PyObject* generator_object(Generator& generator) {
  Object object = own(generator_type.tp_alloc(&generator_type, 0));
  if (&generator != &default_generator()) generator.retain();
  reinterpret_cast<GeneratorObject*>(object.get())->generator = &generator;
  return object.leak();
}

void add_generator(PyObject* module) {
  generator_type.tp_name = "pellucid._C.Generator";
  generator_type.tp_doc = "Generator(device='cpu'): a stream of random numbers.";
  generator_type.tp_basicsize = sizeof(GeneratorObject);
  generator_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  generator_type.tp_new = generator_new;
  generator_type.tp_dealloc = deallocate;
  generator_type.tp_methods = methods;
  generator_type.tp_getset = attributes;
  checked(PyType_Ready(&generator_type));
  checked(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(&generator_type)));
  Object standard = own(generator_type.tp_alloc(&generator_type, 0));
  reinterpret_cast<GeneratorObject*>(standard.get())->generator = &default_generator();
  checked(PyModule_AddObjectRef(module, "default_generator", standard.get()));
  static PyMethodDef functions[] = {
      {"_default_generator", default_generator_on, METH_O, "_default_generator(device): what the device draws from."},
      {"_seed_device_generators", seed_devices, METH_O, "Seeds the generators of all devices."},
      {},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
