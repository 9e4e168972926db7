// The table of C functions behind pellucid/extension.h, and the node of a function written there.
#include "pellucid/extension.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/gradient_ops.h"
#include "autograd/saved_value.h"
#include "autograd/tensor_history.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/inline_vector.h"
#include "core/owned_results.h"
#include "core/thread_pool.h"
#include "core/thread_state.h"
#include "python/autograd/autograd.h"
#include "python/autograd/function_output.h"
#include "python/extension_device.h"
#include "python/generator_object.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

using extension::Backward;
using extension::GeneratorHandle;
using extension::TensorHandle;

TensorImpl* tensor_of_handle(TensorHandle* handle) { return reinterpret_cast<TensorImpl*>(handle); }
TensorHandle* handle_of(TensorImpl* tensor) { return reinterpret_cast<TensorHandle*>(tensor); }
Generator& generator_of_handle(GeneratorHandle* handle) { return *reinterpret_cast<Generator*>(handle); }
GeneratorHandle* handle_of(Generator* generator) { return reinterpret_cast<GeneratorHandle*>(generator); }

// ------------------------------------------------------------------------------------- the node

struct SavedByExtension {
  Tensor tensor;
  uint32_t version;
  int32_t output;  // if it is an output of this function, its number; else -1
};

struct ExtensionNode final : Node {
  Backward backward;
  std::vector<Edge> own_edges;
  std::vector<std::vector<int64_t>> sizes;
  std::vector<GradientInfo> own_infos;
  std::vector<Tensor> gradients;
  std::vector<SavedByExtension> saved;

  explicit ExtensionNode(Backward given) : backward(given) {
    kind = NodeKind::Function;
    sequence = ++thread_state.sequence;
    task.node = this;
  }
  ~ExtensionNode() override { backward.destroy(backward.state); }

  void add_input(TensorImpl* input) {
    own_edges.push_back(input ? retained_edge(*input) : Edge{});
    set_edges(*this, own_edges);
  }

  void add_outputs(std::span<TensorHandle*> outputs) {
    for (TensorHandle* handle : outputs) {
      const TensorImpl& output = *tensor_of_handle(handle);
      sizes.emplace_back(output.shape().begin(), output.shape().end());
      own_infos.push_back({nullptr, output.ndim, output.dtype, output.device});
    }
    for (size_t i = 0; i < sizes.size(); ++i) own_infos[i].sizes = sizes[i].data();
    gradients.resize(sizes.size());
    num_inputs = static_cast<uint32_t>(sizes.size());
    infos = own_infos.data();
    task.gradients = gradients.data();
  }

  Tensor unpack(const SavedByExtension& slot) {
    if (!slot.tensor) return {};
    if (slot.tensor->version().load() != slot.version)
      raise(ErrorKind::Runtime,
            "one of the variables needed for gradient computation has been modified by an inplace operation:\n"
            "a tensor that %s saved for backward is at version %u; expected version %u. Save a clone, or use an "
            "out-of-place op.",
            backward.name, slot.tensor->version().load(), slot.version);
    if (slot.output < 0) return slot.tensor;
    Tensor alias = detach(*slot.tensor);
    if (is_differentiable(alias->dtype))
      set_history(*alias, Ref<Node>::share(this), static_cast<uint32_t>(slot.output));
    return alias;
  }

  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool) override {
    if (released)
      raise(ErrorKind::Runtime,
            "Trying to backward through the graph a second time: what %s saved was freed by the first pass.\n"
            "Pass retain_graph=True to the first one.",
            backward.name);
    HoldGil gil;
    std::vector<Tensor> owned;
    std::vector<TensorHandle*> given, grads, results(grads_out.size());
    for (const SavedByExtension& slot : saved) {
      owned.push_back(unpack(slot));
      given.push_back(handle_of(owned.back().get()));
    }
    for (size_t i = 0; i < grads_in.size(); ++i) {
      if (!grads_in[i] && backward.materialize) grads_in[i] = zeros(infos[i]);
      grads.push_back(handle_of(grads_in[i].get()));
    }
    InlineVector<bool, 8> needed;
    for (const Edge& edge : own_edges) needed.push_back(static_cast<bool>(edge.node));
    char message[512] = "";
    const int status = backward.run(backward.state, given.data(), given.size(), grads.data(), grads.size(),
                                    results.data(), results.size(), needed.begin(), message, sizeof message);
    for (size_t i = 0; i < results.size(); ++i) grads_out[i] = Tensor::adopt(tensor_of_handle(results[i]));
    if (status && PyErr_Occurred()) raise_python();  // an error with a type of its own
    if (status) raise(ErrorKind::Runtime, "%s", message);
  }

  void release_saved() override {
    if (saved.empty()) return;
    released = true;
    saved.clear();
  }
  std::string name() const override { return backward.name; }
  void free_memory() override { delete this; }
};

// ------------------------------------------------------------------------------------ the table

// The last error of a thread; never freed: a thread may end after the interpreter.
struct LastError {
  std::string message;
  std::exception_ptr error;
};
thread_local LastError* failed = nullptr;

const char* last_error() { return failed ? failed->message.c_str() : ""; }

void set_error() {
  try {
    if (failed && failed->error) std::rethrow_exception(std::exchange(failed->error, nullptr));
    raise(ErrorKind::Runtime, "%s", last_error());
  } catch (...) { set_python_error(); }
}

// Runs `body` for an extension, which cannot receive exceptions.
template <class Body>
int status_of(Body&& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    if (!failed) failed = new LastError;
    *failed = {error.what(), std::current_exception()};
    return -1;
  }
}

void retain(TensorHandle* handle) { tensor_of_handle(handle)->retain(); }
void release(TensorHandle* handle) { Tensor::adopt(tensor_of_handle(handle)); }

int from_python(PyObject* object, TensorHandle** result) {
  return status_of([&] {
    if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
    *result = handle_of(Tensor::share(tensor_of(object)).leak());
  });
}

PyObject* to_python(TensorHandle* handle) {
  return guarded([&] { return wrap(Tensor::share(tensor_of_handle(handle))); });
}

Value tagged(Tag tag, int64_t integer) {
  Value value = Value::of_int(integer);
  value.tag = tag;
  return value;
}

Value value_of(const extension::Argument& argument) {
  using Given = extension::Argument;
  Value value;
  value.length = argument.length;
  switch (argument.kind) {
    case Given::None:
    case Given::Default: return {};
    case Given::Tensor: return Value::of(tensor_of_handle(argument.tensor));
    case Given::Int: return Value::of_int(argument.integer);
    case Given::Float: return Value::of_float(argument.number);
    case Given::Bool: return Value::of_bool(argument.integer != 0);
    case Given::IntList: return Value::of({argument.integers, argument.length});
    case Given::FloatList:
      value.tag = Tag::FloatList;
      value.numbers = argument.numbers;
      return value;
    case Given::TensorList:
    case Given::OptionalTensorList:
      value.tag = argument.kind == Given::TensorList ? Tag::TensorList : Tag::OptionalTensorList;
      value.tensors = reinterpret_cast<TensorImpl* const*>(argument.tensors);
      return value;
    case Given::String:
      value.tag = Tag::String;
      value.string = argument.string;
      return value;
    case Given::DType: return tagged(Tag::DType, argument.integer);
    case Given::Layout: return tagged(Tag::Layout, argument.integer);
    case Given::MemoryFormat: return tagged(Tag::MemoryFormat, argument.integer);
    case Given::Device: return tagged(Tag::Device, argument.integer);
    case Given::Generator:
      value.tag = Tag::Generator;
      value.object = argument.generator;
      return value;
    case Given::Complex:
      value.tag = Tag::Complex;
      value.complex = reinterpret_cast<const Complex*>(argument.numbers);
      return value;
  }
  return {};
}

// Converts a result for the extension, which takes over the value's ownership.
extension::Result result_of(Value& value) {
  using Kind = extension::Result;
  extension::Result result{Kind::None, value.length, {}};
  switch (value.tag) {
    case Tag::None: return result;
    case Tag::Tensor:
      result.kind = Kind::Tensor;
      result.tensor = handle_of(std::exchange(value, Value()).tensor);
      return result;
    case Tag::TensorList:
      result.kind = Kind::TensorList;
      result.tensors =
          const_cast<TensorHandle**>(reinterpret_cast<TensorHandle* const*>(std::exchange(value, Value()).tensors));
      return result;
    case Tag::Float:
      result.kind = Kind::Float;
      result.number = value.number;
      return result;
    default:
      result.kind = value.tag == Tag::Int ? Kind::Int : value.tag == Tag::Bool ? Kind::Bool : Kind::Other;
      result.integer = value.integer;
      return result;
  }
}

int call_op(const char* name, const extension::Argument* arguments, size_t count, extension::Result* results,
            size_t capacity, size_t* num_results) {
  return status_of([&] {
    const OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::NotImplemented, "there is no op %s", name);
    const auto& declared = op->schema.arguments;
    if (count > declared.size())
      raise(ErrorKind::Type, "%s takes %zu arguments; %zu were given", name, declared.size(), count);
    if (op->schema.returns.size() > capacity)
      raise(ErrorKind::Runtime, "%s has %zu results; there is room for %zu", name, op->schema.returns.size(), capacity);
    Values<kMaxArguments> args(declared.size());
    Values<kMaxReturns> rets(op->schema.returns.size());
    for (size_t i = 0; i < declared.size(); ++i)
      args[i] = i < count && arguments[i].kind != extension::Argument::Default ? value_of(arguments[i])
                                                                               : declared[i].default_value;
    OpCall call{op, args.data(), rets.data(), static_cast<uint8_t>(declared.size()), {}};
    dispatch(call);
    *num_results = op->schema.returns.size();
    for (size_t i = 0; i < *num_results; ++i) results[i] = result_of(rets[i]);
  });
}

void free_list(TensorHandle** list) { delete[] reinterpret_cast<TensorImpl**>(list); }

void give_facts(TensorHandle* handle, extension::Facts* facts) {
  const TensorImpl& tensor = *tensor_of_handle(handle);
  *facts = {tensor.sizes,
            tensor.strides,
            tensor.ndim,
            tensor.numel,
            static_cast<int64_t>(item_size(tensor.dtype)),
            tensor.offset,
            static_cast<int32_t>(tensor.dtype),
            static_cast<int32_t>(tensor.device.type),
            tensor.device.index,
            requires_grad(tensor),
            true};
}

int give_data(TensorHandle* handle, void** address) {
  return status_of([&] { *address = tensor_of_handle(handle)->host(); });
}

uint64_t give_address(TensorHandle* handle) { return tensor_of_handle(handle)->address(); }

TensorHandle* give_gradient(TensorHandle* handle) {
  Object tensor = Object::steal(to_python(handle));
  Object gradient = tensor ? Object::steal(PyObject_GetAttrString(tensor.get(), "grad")) : Object();
  if (!gradient || !is_tensor(gradient.get())) return nullptr;
  return handle_of(Tensor::share(tensor_of(gradient.get())).leak());
}

uint64_t exclude(uint64_t keys) { return std::exchange(thread_state.exclude, KeySet::from_bits(keys)).bits(); }

int dtype_from_python(PyObject* object, int32_t* code) {
  return status_of([&] {
    DType dtype;
    if (!to_dtype(object, dtype)) raise(ErrorKind::Type, "expected a dtype, not %s", Py_TYPE(object)->tp_name);
    *code = static_cast<int32_t>(dtype);
  });
}

PyObject* dtype_to_python(int32_t code) {
  return guarded([&] { return Py_NewRef(dtype_object(static_cast<DType>(code))); });
}

bool set_grad_mode(bool enabled) { return std::exchange(thread_state.grad_mode, enabled); }

int record(Backward backward, TensorHandle* const* inputs, size_t num_inputs, TensorHandle** outputs,
           const uint8_t* marks, size_t num_outputs, TensorHandle* const* saved, size_t num_saved) {
  return status_of([&] {
    auto* node = new ExtensionNode(backward);
    const Ref<Node> owner = Ref<Node>::adopt(node);
    bool needed = false;
    for (size_t i = 0; i < num_inputs; ++i) {
      TensorImpl* input = tensor_of_handle(inputs[i]);
      node->add_input(input);
      needed |= input && requires_grad(*input);
    }
    for (size_t i = 0; i < num_outputs; ++i)
      if (marks[i] & extension::kWrittenInPlace) tensor_of_handle(outputs[i])->bump_version();
    if (!needed || !thread_state.grad_mode) return;
    node->add_outputs({outputs, num_outputs});
    for (size_t i = 0; i < num_outputs; ++i) {
      TensorImpl& output = *tensor_of_handle(outputs[i]);
      const auto input = std::find(inputs, inputs + num_inputs, outputs[i]);
      const FunctionOutput facts{
          .number = static_cast<uint32_t>(i),
          .argument = static_cast<uint32_t>(input - inputs),
          .is_argument = input != inputs + num_inputs,
          .written = (marks[i] & extension::kWrittenInPlace) != 0,
          .differentiable = is_differentiable(output.dtype) && !(marks[i] & extension::kNotDifferentiable),
          .single = num_outputs == 1};
      outputs[i] = handle_of(give_history(output, owner, facts).leak());
      Tensor::adopt(&output);
    }
    for (size_t i = 0; i < num_saved; ++i) {
      TensorImpl* tensor = tensor_of_handle(saved[i]);
      int32_t output = -1;
      for (size_t k = 0; k < num_outputs; ++k)
        if (saved[i] == outputs[k] && tensor->autograd && tensor->autograd->grad_fn.get() == node)
          output = static_cast<int32_t>(k);
      node->saved.push_back(
          {output < 0 ? Tensor::share(tensor) : detach(*tensor), tensor ? tensor->version().load() : 0, output});
    }
    if (thread_state.anomaly_mode) remember_forward_stack(*node);
  });
}

int add_device(const extension::DeviceTable* device) {
  return status_of([&] { add_extension_device(*device); });
}

// ------------------------------------------------------------------ foreign memory, keys, threads, generators

struct ForeignMemory {
  void (*free)(void*);
  void* context;
};

int from_blob(void* data, const int64_t* sizes, const int64_t* strides, size_t dims, int32_t dtype,
              void (*free)(void* context), void* context, TensorHandle** result) {
  return status_of([&] {
    std::vector<int64_t> row_major(dims);
    int64_t step = 1, reach = 0;
    bool empty = false;
    for (size_t d = dims; d-- > 0;) {
      if (sizes[d] < 0)
        raise(ErrorKind::Runtime, "from_blob: the size %lld is negative", static_cast<long long>(sizes[d]));
      row_major[d] = step;
      step *= std::max<int64_t>(sizes[d], 1);
      empty |= sizes[d] == 0;
    }
    if (!strides) strides = row_major.data();
    for (size_t d = 0; d < dims && !empty; ++d) reach += (sizes[d] - 1) * strides[d];
    const DType type = static_cast<DType>(dtype);
    const size_t nbytes = empty ? 0 : static_cast<size_t>(reach + 1) * item_size(type);
    const auto release_memory = [](Storage* storage) {
      const std::unique_ptr<ForeignMemory> memory(static_cast<ForeignMemory*>(storage->context));
      if (memory->free) memory->free(memory->context);
    };
    const Ref<Storage> storage = wrap_storage(data, nbytes, release_memory, new ForeignMemory{free, context});
    let_escape(*storage);
    *result = handle_of(pellucid::tensor_of(*storage, {sizes, dims}, {strides, dims}, 0, type).leak());
  });
}

uint64_t include(uint64_t keys) { return std::exchange(thread_state.include, KeySet::from_bits(keys)).bits(); }

uint64_t keys_named(const char* name) {
  const NamedKey* named = find_key(name);
  if (!named || !named->key) return 0;
  return KeySet(*named->key).bits();
}

int32_t give_num_threads() { return num_threads(); }

int parallel(int64_t num_blocks, void (*body)(void* context, int64_t block), void* context) {
  return status_of([&] { parallel_blocks(num_blocks, [&](int64_t block) { body(context, block); }); });
}

int generator_from_python(PyObject* object, GeneratorHandle** result) {
  return status_of([&] {
    if (!is_generator(object)) raise(ErrorKind::Type, "expected a Generator, not %s", Py_TYPE(object)->tp_name);
    *result = handle_of(Ref<Generator>::share(&as_host(*generator_of(object))).leak());
  });
}
PyObject* generator_to_python(GeneratorHandle* handle) {
  return guarded([&] { return generator_object(generator_of_handle(handle)); });
}
GeneratorHandle* new_generator(uint64_t seed) { return handle_of(new HostGenerator(seed)); }
GeneratorHandle* give_default_generator() { return handle_of(Ref<Generator>::share(&default_generator()).leak()); }
void count_generator(GeneratorHandle* handle, bool up) {
  if (up) generator_of_handle(handle).retain();
  else Ref<Generator>::adopt(&generator_of_handle(handle));
}
void* generator_mutex(GeneratorHandle* handle) { return &as_host(generator_of_handle(handle)).mutex; }
uint64_t random_word(GeneratorHandle* handle, int32_t bits) {
  HostGenerator& generator = as_host(generator_of_handle(handle));
  return bits == 32 ? generator.random32_locked() : generator.random64_locked();
}
double random_normal(GeneratorHandle* handle, double mean, double deviation) {
  return as_host(generator_of_handle(handle)).normal_locked(mean, deviation);
}
uint64_t generator_seed(GeneratorHandle* handle, const uint64_t* seed) {
  Generator& generator = generator_of_handle(handle);
  if (seed) generator.manual_seed(*seed);
  return generator.initial_seed();
}

constexpr extension::Table functions{extension::kVersion,
                                     last_error,
                                     retain,
                                     release,
                                     from_python,
                                     to_python,
                                     call_op,
                                     set_grad_mode,
                                     record,
                                     free_list,
                                     set_error,
                                     give_facts,
                                     give_data,
                                     give_gradient,
                                     exclude,
                                     (KeySet(Key::Autograd) | Key::ViewInPlace).bits(),
                                     dtype_from_python,
                                     dtype_to_python,
                                     add_device,
                                     extension_kernel_text,
                                     from_blob,
                                     include,
                                     keys_named,
                                     give_num_threads,
                                     parallel,
                                     generator_from_python,
                                     generator_to_python,
                                     new_generator,
                                     give_default_generator,
                                     count_generator,
                                     generator_mutex,
                                     random_word,
                                     random_normal,
                                     generator_seed,
                                     give_address};

}  // namespace

void add_extension_table(PyObject* module) {
  Object capsule = own(PyCapsule_New(const_cast<extension::Table*>(&functions), "pellucid extension table", nullptr));
  checked(PyModule_AddObjectRef(module, "_extension_table", capsule.get()));
}

}  // namespace pellucid::python
