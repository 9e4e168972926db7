// pellucid.Generator: a random generator as a Python object.
#pragma once

#include "core/generator.h"
#include "python/object.h"

namespace pellucid::python {

extern PyTypeObject generator_type;

struct GeneratorObject {
  PyObject_HEAD Generator* generator;  // owned, except for the default generator
};

inline bool is_generator(PyObject* object) { return PyObject_TypeCheck(object, &generator_type); }
inline Generator* generator_of(PyObject* object) { return reinterpret_cast<GeneratorObject*>(object)->generator; }

// A new reference to a Python object that shares the generator.
PyObject* generator_object(Generator& generator);

void add_generator(PyObject* module);

}  // namespace pellucid::python
