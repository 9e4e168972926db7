#include "python/derivation.h"

#include <optional>
#include <string>

#include "core/dispatcher.h"
#include "ops/derivation.h"
#include "ops/op_table.h"
#include "python/arguments.h"
#include "python/boxing.h"
#include "python/convert.h"
#include "python/op_overload.h"

namespace pellucid::python {
namespace {

// _derived_from(name), of a derivative op: (rule, forward overload, [(source, index, element)] per argument,
// [(argument, value)] of the forward call that select the plan, [forward input per result]).
PyObject* derivation(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    const OpRecord* op = find_op(name);
    const std::optional<Derivation> found = op ? derived_from(*op) : std::nullopt;
    if (!found && op && derivative_origin(*op)) return none();  // a stage of an op, not a derivative
    if (!found) raise(ErrorKind::Runtime, "%s is not a derivative of an op", name);
    if (!found->op) raise(ErrorKind::Runtime, "the op that %s is the derivative of is forgotten", name);
    Object sources = own(PyList_New(0)), structural = own(PyList_New(0)), results = own(PyList_New(0));
    const auto append = [](Object& list, PyObject* entry) { checked(PyList_Append(list.get(), own(entry).get())); };
    for (const ArgumentSource& from : found->arguments)
      append(sources, Py_BuildValue("(sii)", kArgumentOriginNames[static_cast<int>(from.from)].data(), from.index,
                                    from.element));
    for (const StructuralArgument& chosen : found->structural)
      append(structural, Py_BuildValue("(iN)", chosen.index, value_object(chosen.value)));
    for (const int16_t input : found->results) append(results, PyLong_FromLong(input));
    return checked(Py_BuildValue("(sOOOO)", kRuleNames[static_cast<int>(found->rule)].data(),
                                 overload_object(*found->op), sources.get(), structural.get(), results.get()));
  });
}

// _derivative_of(name, mask, results, *args, **kwargs): the op that computes the gradients of the inputs in the mask
// for such a call of the op `name`, and [(argument, element, dim)] of the sizes that it reads. None: there is no such
// op.
PyObject* derivative_of(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count < 3) raise(ErrorKind::Type, "_derivative_of takes a name, a mask and results before the arguments");
    const char* name = PyUnicode_AsUTF8(args[0]);
    if (!name) raise_python();
    OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Runtime, "there is no op %s to derive", name);
    const uint64_t mask = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) raise_python();
    const Signature signature(*op);
    const PythonArguments given{nullptr, args + 3, count - 3, names};
    ParsedArguments parsed;
    if (!parse(signature, given, parsed))
      raise(ErrorKind::Type, "%s", explain_mismatch(signature, given, true).c_str());
    const Object results = own(PySequence_Tuple(args[2]));
    Value returned[kMaxReturns];
    for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(PyTuple_GET_SIZE(results.get()), kMaxReturns); ++i)
      if (PyObject* result = PyTuple_GET_ITEM(results.get(), i); is_tensor(result))
        returned[i] = Value::of(tensor_of(result));
    const OpCall call{op, parsed.values(), returned, signature.num_parameters, KeySet::from_bits(parsed.keys)};
    const SharedPlan plan = find_derivative(call, mask);
    if (!plan || !plan->op) return none();
    Object sizes = own(PyList_New(0));
    for (const SizeSource& size : plan->sizes)
      checked(PyList_Append(sizes.get(), own(Py_BuildValue("(iii)", size.argument, size.element, size.dim)).get()));
    return checked(Py_BuildValue("(OO)", overload_object(*plan->op), sizes.get()));
  });
}

// _derivative_origin(name): the encoded [rule, op, arguments, mask] that a derivative op was traced from.
PyObject* origin(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    const OpRecord* op = find_op(name);
    const std::string* found = op ? derivative_origin(*op) : nullptr;
    if (!found) raise(ErrorKind::Runtime, "%s is not a derivative of an op", name);
    return checked(PyBytes_FromStringAndSize(found->data(), static_cast<Py_ssize_t>(found->size())));
  });
}

// _op_of_origin(schema, origin): the op that the compiler makes from an encoded origin.
PyObject* op_of_origin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *schema, *origin;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "sy#:_op_of_origin", &schema, &origin, &length)) return nullptr;
    const auto op =
        derivative_op(schema, OpKind::Loop, 0, {origin, static_cast<size_t>(length)}, ResultLayout::RowMajor, {});
    return new_reference(overload_object(*op));
  });
}

PyMethodDef functions[] = {
    {"_derived_from", derivation, METH_O, "_derived_from(name): what a derivative op is the derivative of."},
    {"_derivative_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(derivative_of)),
     METH_FASTCALL | METH_KEYWORDS,
     "_derivative_of(name, mask, results, *args, **kwargs): (op, sizes) of the gradients of a call, or None."},
    {"_op_of_origin", op_of_origin, METH_VARARGS, "_op_of_origin(schema, origin): an op of an encoded description."},
    {"_derivative_origin", origin, METH_O, "_derivative_origin(name): what a derivative op was traced from, encoded."},
    {},
};

}  // namespace

void add_derivation(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
