#include "python/generator_object.h"

#include <array>

#include "core/device_names.h"
#include "core/layout.h"
#include "python/boundary.h"
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
    if (device.type != DeviceType::CPU)
      raise(ErrorKind::Runtime, "Generator(): no generator for device %s, only for cpu", device_name(device).c_str());
    Object object = own(type->tp_alloc(type, 0));
    reinterpret_cast<GeneratorObject*>(object.get())->generator = new Generator;
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
  return PyLong_FromUnsignedLongLong(generator_of(self)->initial_seed());
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    pass_boundary("get_state");
    Tensor state = empty(std::array<int64_t, 1>{Generator::kStateBytes}, DType::UInt8);
    generator_of(self)->get_state(
        std::span<uint8_t, Generator::kStateBytes>(state->host_as<uint8_t>(), Generator::kStateBytes));
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
  return guarded([&]() -> PyObject* {
    Object copy = own(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&generator_type)));
    Object state = own(get_state(self, nullptr));
    return own(set_state(copy.get(), state.get())).leak();
  });
}

PyObject* get_device(PyObject*, void*) {
  return guarded([] { return device_object(Device{}); });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed): starts the stream of that seed; returns self."},
    {"seed", seed, METH_NOARGS, "Takes a seed from the system's entropy and returns it."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed the stream started from."},
    {"get_state", get_state, METH_NOARGS, "The state, as a uint8 tensor."},
    {"set_state", set_state, METH_O, "set_state(state): continues from a state that get_state() gave."},
    {"clone_state", clone_state, METH_NOARGS, "A generator with the same state."},
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
}

}  // namespace pellucid::python
