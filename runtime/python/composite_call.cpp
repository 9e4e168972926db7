#include "python/composite_call.h"

#include <algorithm>
#include <cstring>

#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/call_event.h"
#include "core/dispatcher.h"
#include "ops/late_ops.h"
#include "python/boxing.h"
#include "python/op_callable.h"

namespace pellucid::python {
namespace {

// What the bindings cache of a body at its first call. Never freed, like op records.
struct BoundBody {
  PyObject* callable;
  PyObject* keywords;               // a tuple: the names of the keyword-only arguments
  std::vector<PyObject*> defaults;  // per argument; null: no default, or a mutable one
};

PyObject* keyword_names(const Schema& schema) {
  const size_t first = schema.num_positional, count = schema.arguments.size();
  Object names = own(PyTuple_New(static_cast<Py_ssize_t>(count - first)));
  for (size_t i = first; i < count; ++i)
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i - first),
                     checked(PyUnicode_InternFromString(schema.arguments[i].name.c_str())));
  return names.leak();
}

bool is_list(const Value& value) {
  switch (value.tag) {
    case Tag::IntList:
    case Tag::FloatList:
    case Tag::BoolList:
    case Tag::ScalarList:
    case Tag::TensorList:
    case Tag::OptionalTensorList: return true;
    default: return false;
  }
}

// The package finds the body by its module.
BoundBody* bind_body(const CompositeBody& body, const Schema& schema) {
  static LateImport find("pellucid._C._runtime.composites", "find");
  Object callable = own(PyObject_CallFunction(find.get(), "ss", body.module.c_str(), body.function.c_str()));
  auto bound = std::make_unique<BoundBody>();
  for (const Argument& argument : schema.arguments) {
    const bool has_object = argument.has_default && !is_list(argument.default_value);
    bound->defaults.push_back(has_object ? value_object(argument.default_value) : nullptr);
  }
  bound->keywords = keyword_names(schema);
  bound->callable = callable.leak();
  return bound.release();
}

// The argument as a Python object, a new reference.
PyObject* argument_object(const Value& value, const Argument& declared, PyObject* default_object) {
  if (default_object && std::memcmp(&value, &declared.default_value, sizeof(Value)) == 0)
    return new_reference(default_object);
  return value_object(value);
}

struct OwnedArguments {
  PyObject* objects[kMaxArguments];
  size_t count = 0;

  ~OwnedArguments() {
    while (count) Py_DECREF(objects[--count]);
  }
  void add(PyObject* object) { objects[count++] = object; }
};

Object returned_by_body(const OpRecord& op, CompositeBody& body, const Value* values) {
  const Schema& schema = op.schema;
  if (!body.bound) body.bound = bind_body(body, schema);
  const BoundBody& bound = *static_cast<BoundBody*>(body.bound);
  const size_t count = schema.arguments.size();
  OwnedArguments given;
  for (size_t i = 0; i < count; ++i)
    given.add(checked(argument_object(values[i], schema.arguments[i], bound.defaults[i])));
  return own(PyObject_Vectorcall(bound.callable, given.objects, schema.num_positional, bound.keywords));
}

bool is_argument(const TensorImpl& tensor, const Value* values, size_t count) {
  return std::ranges::any_of(std::span(values, count), [&](const Value& value) {
    if (value.tag == Tag::Tensor) return value.tensor == &tensor;
    if (value.tag != Tag::TensorList && value.tag != Tag::OptionalTensorList) return false;
    const std::span<TensorImpl* const> items(value.tensors, value.length);
    return std::ranges::find(items, &tensor) != items.end();
  });
}

// A body may return a view of a tensor that it computed.
void own_result(const OpRecord& op, const Value* values, TensorImpl* result) {
  if (!result || !result->base) [[likely]]
    return;
  if (!is_argument(*result, values, op.schema.arguments.size())) become_base(*result);
}

void unpack_own_results(OpCall& call, const Object& returned) {
  unpack_results(call, returned.get());
  if (call.op->gives_view) return;
  const auto& declared = call.op->schema.returns;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].aliased || declared[i].written) continue;
    const Value& value = call.rets[i];
    if (value.tag == Tag::Tensor) own_result(*call.op, call.args, value.tensor);
    if (value.tag == Tag::TensorList)
      for (TensorImpl* tensor : std::span(value.tensors, value.length)) own_result(*call.op, call.args, tensor);
  }
}

void run_body(OpCall& call, void* context) {
  HoldGil gil;
  unpack_own_results(call, returned_by_body(*call.op, *static_cast<CompositeBody*>(context), call.args));
}

}  // namespace

bool runs_body(const OpRecord& op, uint64_t keys) {
  if (is_watched(kWatchDispatches)) return false;
  return op.table[static_cast<int>(dispatch_keys(op, KeySet::from_bits(keys)).highest())].function == run_body;
}

PyObject* call_body(const Signature& signature, Value* values) {
  const OpRecord& op = *signature.op;
  const CallEvent event(OpCall{&op, values, nullptr, signature.num_parameters, KeySet()});
  Object returned = returned_by_body(op, *signature.body, values);
  const auto& declared = op.schema.returns;
  if (declared.size() == 1 && declared[0].type == ArgType::Tensor && is_plain_tensor(returned.get())) {
    if (!declared[0].aliased && !declared[0].written && !op.gives_view)
      own_result(op, values, tensor_of(returned.get()));
    return returned.leak();
  }
  Values<kMaxReturns> results(op.schema.returns.size());
  OpCall call{&op, values, results.data(), signature.num_parameters, KeySet()};
  unpack_own_results(call, returned);
  return wrap_results(op, results.data());
}

void install_composites() { run_composite = run_body; }

}  // namespace pellucid::python
