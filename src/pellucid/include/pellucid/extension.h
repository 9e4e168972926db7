// Extension modules in C++: tensors, calls of ops, and functions with a gradient of their own.
//
// Needs this header and Python.h only; nothing is linked. The module asks the running Pellucid for a
// versioned table of C functions (`connect`), over which the classes below are a thin layer. Every call
// here holds the interpreter lock. Errors are C++ exceptions (`Error`); `guarded` turns them into Python's.
#pragma once

#include <Python.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pellucid::extension {

constexpr uint32_t kVersion = 5;

struct TensorHandle;     // a tensor of the runtime; only the table's functions look inside
struct GeneratorHandle;  // a generator of random numbers, likewise

// One argument of an op. `Default` means the schema's; dtypes, layouts and memory formats are numbers of
// the runtime, devices `type << 8 | index`.
struct Argument {
  enum Kind : int32_t {
    None,
    Tensor,
    Int,
    Float,
    Bool,
    IntList,
    FloatList,
    TensorList,
    OptionalTensorList,
    String,
    DType,
    Layout,
    MemoryFormat,
    Device,
    Default,
    Generator,
    Complex  // `numbers` are the two parts
  } kind;
  uint32_t length;
  union {
    TensorHandle* tensor;
    int64_t integer;
    double number;
    const int64_t* integers;
    const double* numbers;
    TensorHandle* const* tensors;
    const char* string;
    GeneratorHandle* generator;
  };
};

// One result of an op; tensors are counted, and a list ends with `free_list`.
struct Result {
  enum Kind : int32_t { None, Tensor, Int, Float, Bool, TensorList, Other } kind;
  uint32_t length;
  union {
    TensorHandle* tensor;
    TensorHandle** tensors;
    int64_t integer;
    double number;
  };
};

// What a tensor is at the time of the question; the lists end with its next change.
struct Facts {
  const int64_t *sizes, *strides;
  int64_t dims, elements, item_bytes, offset;
  int32_t dtype, device_type, device_index;
  bool requires_grad, is_defined;
};

// What a recorded function calls when gradients reach it. Gradients of outputs arrive as tensors, zeros
// where none did (null unless `materialize`); `needed` says which inputs take a gradient; `results` takes
// one counted handle or null per input. Returns 0, or -1 with a Python exception set or the error in `message`.
struct Backward {
  const char* name;  // of its node: "CubeBackward"
  void* state;
  int (*run)(void* state, TensorHandle* const* saved, size_t num_saved, TensorHandle* const* grads, size_t num_grads,
             TensorHandle** results, size_t num_results, const bool* needed, char* message, size_t capacity);
  void (*destroy)(void* state);
  bool materialize;
};
// What forward said about an output.
constexpr uint8_t kNotDifferentiable = 1, kWrittenInPlace = 2;

// What a function of a device returns; but for kDeviceDone and kDeviceDeclined, `DeviceMessage` says why.
constexpr int kDeviceDone = 0, kDeviceDeclined = 1, kDeviceFailed = -1, kDeviceNoMemory = -2;
struct DeviceMessage {
  char text[1024];
};
enum class DevicePolicy : int32_t { None, BestFit, FirstFit, SizeClasses };

// A value in a device's memory: sizes, and strides in bytes, per axis of the launch, or of the value for a nest.
struct LaunchedOperand {
  uint64_t address;
  const char* dtype;  // "float32"
  const int64_t *sizes, *strides;
  size_t dims;
};
struct LaunchedKernel {
  const char* op;
  const uint8_t* kernel_id;
  int32_t device, num_stored, num_outputs;
  int64_t stream;
  const int64_t* extents;
  const LaunchedOperand* operands;
  const uint64_t* params;
  size_t num_extents, num_operands, num_params;
};

// A device type: what pellucid/device.h makes of a class. The functions may be called until the process ends.
struct DeviceTable {
  const char* name;
  int32_t count;
  bool has_streams;
  DevicePolicy pool;
  bool poison;
  uint64_t alignment, padding, segment;
  void* self;
  int (*allocate)(void* self, int32_t device, size_t nbytes, uint64_t* address, DeviceMessage*);
  int (*release)(void* self, int32_t device, uint64_t address, size_t nbytes, DeviceMessage*);
  int (*to_host)(void* self, int32_t device, void* into, uint64_t address, size_t nbytes, int64_t stream,
                 DeviceMessage*);
  int (*from_host)(void* self, int32_t device, uint64_t address, const void* data, size_t nbytes, int64_t stream,
                   DeviceMessage*);
  int (*launch)(void* self, const LaunchedKernel* kernel, DeviceMessage*);
  int (*synchronize)(void* self, int32_t device, DeviceMessage*);
  int (*new_stream)(void* self, int32_t device, int64_t* stream, DeviceMessage*);
  int (*record)(void* self, int32_t device, int64_t stream, uint64_t* event, DeviceMessage*);
  int (*wait)(void* self, int32_t device, int64_t stream, uint64_t event, DeviceMessage*);
  int (*is_done)(void* self, int32_t device, uint64_t event, bool* done, DeviceMessage*);
  int (*finish)(void* self, int32_t device, uint64_t event, DeviceMessage*);
  int (*elapsed)(void* self, int32_t device, uint64_t first, uint64_t second, double* milliseconds, DeviceMessage*);
};

// Functions return 0, or -1 with `last_error` set. Handles they give are counted: `release` them.
struct Table {
  uint32_t version;
  const char* (*last_error)();
  void (*retain)(TensorHandle*);
  void (*release)(TensorHandle*);
  int (*from_python)(PyObject* object, TensorHandle** result);
  PyObject* (*to_python)(TensorHandle* tensor);
  int (*call)(const char* op, const Argument* arguments, size_t count, Result* results, size_t capacity,
              size_t* num_results);
  bool (*set_grad_mode)(bool enabled);  // returns the mode before
  // Makes `outputs` the results of a node over `inputs`; takes `backward.state` in any case. An output that is an
  // input is replaced by a view of it; `marks` has a byte per output.
  int (*record)(Backward backward, TensorHandle* const* inputs, size_t num_inputs, TensorHandle** outputs,
                const uint8_t* marks, size_t num_outputs, TensorHandle* const* saved, size_t num_saved);
  // Since version 2.
  void (*free_list)(TensorHandle** list);
  void (*set_python_error)();  // what the last failed function said, as its exception
  void (*facts)(TensorHandle* tensor, Facts* facts);
  int (*data)(TensorHandle* tensor, void** address);  // of the first element; fails where the CPU cannot read it
  TensorHandle* (*gradient)(TensorHandle* tensor);    // counted, or null
  uint64_t (*exclude)(uint64_t keys);                 // dispatch keys by their bits; returns those before
  uint64_t autograd_keys;
  int (*dtype_from_python)(PyObject* object, int32_t* dtype);
  PyObject* (*dtype_to_python)(int32_t dtype);
  // Since version 3.
  int (*add_device)(const DeviceTable* device);
  const char* (*kernel_text)(const uint8_t* kernel_id);  // lives as long as the process; "" for an unknown kernel
  // Since version 4. A tensor over memory of the CPU; `free(context)` runs at its end. Null `strides`: row-major.
  int (*from_blob)(void* data, const int64_t* sizes, const int64_t* strides, size_t dims, int32_t dtype,
                   void (*free)(void* context), void* context, TensorHandle** result);
  uint64_t (*include)(uint64_t keys);        // dispatch keys by their bits; returns those before
  uint64_t (*keys_named)(const char* name);  // 0 for a name that no tensor carries
  int32_t (*num_threads)();
  // Blocks 0 .. num_blocks-1 on all threads; `body` must not throw. The interpreter lock must not be held.
  int (*parallel)(int64_t num_blocks, void (*body)(void* context, int64_t block), void* context);
  // Generators, counted. Words and normal numbers need its mutex, a std::mutex.
  int (*generator_from_python)(PyObject* object, GeneratorHandle** result);
  PyObject* (*generator_to_python)(GeneratorHandle* generator);
  GeneratorHandle* (*new_generator)(uint64_t seed);
  GeneratorHandle* (*default_generator)();
  void (*count_generator)(GeneratorHandle* generator, bool up);
  void* (*generator_mutex)(GeneratorHandle* generator);
  uint64_t (*random_word)(GeneratorHandle* generator, int32_t bits);  // of 32 or 64 bits
  double (*random_normal)(GeneratorHandle* generator, double mean, double deviation);
  uint64_t (*generator_seed)(GeneratorHandle* generator, const uint64_t* seed);  // sets it unless null; returns it
  // Since version 5.
  uint64_t (*address)(TensorHandle* tensor);  // of the first element, on any device
};

inline const Table*& table() {
  static const Table* functions = nullptr;
  return functions;
}

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(int status) {
  if (status) throw Error(table()->last_error());
}

// Call it first, in the module's init function; false with a Python exception set when it fails.
inline bool connect() {
  PyObject* module = PyImport_ImportModule("pellucid._C");
  PyObject* capsule = module ? PyObject_GetAttrString(module, "_extension_table") : nullptr;
  Py_XDECREF(module);
  if (!capsule) return false;
  const auto* const found = static_cast<const Table*>(PyCapsule_GetPointer(capsule, "pellucid extension table"));
  Py_DECREF(capsule);  // the module keeps it
  if (!found) return false;
  if (found->version == kVersion) {
    table() = found;
    return true;
  }
  PyErr_Format(PyExc_ImportError,
               "this extension was built for version %u of Pellucid's interface, which has version %u", kVersion,
               found->version);
  return false;
}

// A counted reference to a tensor.
class Tensor {
 public:
  Tensor() = default;
  static Tensor adopt(TensorHandle* handle) {
    Tensor tensor;
    tensor.handle_ = handle;
    return tensor;
  }
  static Tensor from_python(PyObject* object) {
    TensorHandle* handle = nullptr;
    check(table()->from_python(object, &handle));
    return adopt(handle);
  }
  Tensor(const Tensor& other) : handle_(other.handle_) {
    if (handle_) table()->retain(handle_);
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) table()->release(handle_);
  }

  TensorHandle* get() const { return handle_; }
  TensorHandle* leak() { return std::exchange(handle_, nullptr); }
  explicit operator bool() const { return handle_ != nullptr; }
  PyObject* to_python() const { return table()->to_python(handle_); }

 private:
  TensorHandle* handle_ = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(TensorHandle*), "a list of tensors is a list of handles");

// What an argument may be given as.
struct Given : Argument {
  Given(const extension::Tensor& given) {
    kind = given ? Tensor : None;
    length = 0;
    tensor = given.get();
  }
  Given(double given) {
    kind = Float;
    length = 0;
    number = given;
  }
  Given(int given) : Given(static_cast<int64_t>(given)) {}
  Given(int64_t given) {
    kind = Int;
    length = 0;
    integer = given;
  }
  Given(bool given) {
    kind = Bool;
    length = 0;
    integer = given;
  }
  Given(const std::vector<int64_t>& given) {
    kind = IntList;
    length = static_cast<uint32_t>(given.size());
    integers = given.data();
  }
};

// The tensors that an op returns: call("aten::mul.Tensor", {x, y}). Arguments left out take their defaults.
inline std::vector<Tensor> call_all(const char* op, std::initializer_list<Given> arguments) {
  const std::vector<Argument> given(arguments.begin(), arguments.end());
  Result results[8];
  size_t count = 0;
  check(table()->call(op, given.data(), given.size(), results, 8, &count));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    if (results[i].kind == Result::Tensor) tensors.push_back(Tensor::adopt(results[i].tensor));
    if (results[i].kind != Result::TensorList) continue;
    for (uint32_t k = 0; k < results[i].length; ++k) tensors.push_back(Tensor::adopt(results[i].tensors[k]));
    table()->free_list(results[i].tensors);
  }
  return tensors;
}
inline Tensor call(const char* op, std::initializer_list<Given> arguments) {
  std::vector<Tensor> results = call_all(op, arguments);
  if (results.empty()) throw Error(std::string(op) + " returned no tensor");
  return std::move(results[0]);
}

// What forward leaves for backward.
struct Context {
  std::vector<Tensor> saved;
};

// A function with a gradient of its own:
//
//   struct Cube : Function<Cube> {
//     static constexpr const char* name = "CubeBackward";
//     static std::vector<Tensor> forward(Context& context, const std::vector<Tensor>& inputs);
//     static std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads);
//   };
//   Tensor y = Cube::apply({x})[0];
//
// backward returns one tensor per input, a default-made one for none. `context.saved` is checked for
// changes in place and freed like what ops save. What backward calls is recorded when a derivative of
// the derivative is requested.
template <class Derived>
struct Function {
  static std::vector<Tensor> apply(const std::vector<Tensor>& inputs) {
    Context context;
    const bool mode = table()->set_grad_mode(false);
    std::vector<Tensor> outputs;
    try {
      outputs = Derived::forward(context, inputs);
    } catch (...) {
      table()->set_grad_mode(mode);
      throw;
    }
    table()->set_grad_mode(mode);
    const auto in = handles(inputs), saved = handles(context.saved);
    const std::vector<uint8_t> marks(outputs.size());
    const Backward backward{Derived::name, nullptr, run_backward, [](void*) {}, true};
    check(table()->record(backward, in.data(), in.size(), reinterpret_cast<TensorHandle**>(outputs.data()),
                          marks.data(), outputs.size(), saved.data(), saved.size()));
    return outputs;
  }

 private:
  static std::vector<TensorHandle*> handles(const std::vector<Tensor>& tensors) {
    std::vector<TensorHandle*> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.get());
    return result;
  }
  static std::vector<Tensor> shared(TensorHandle* const* handles, size_t count) {
    std::vector<Tensor> result;
    for (size_t i = 0; i < count; ++i) {
      if (handles[i]) table()->retain(handles[i]);
      result.push_back(Tensor::adopt(handles[i]));
    }
    return result;
  }
  static int run_backward(void*, TensorHandle* const* saved, size_t num_saved, TensorHandle* const* grads,
                          size_t num_grads, TensorHandle** results, size_t num_results, const bool*, char* message,
                          size_t capacity) {
    try {
      Context context{shared(saved, num_saved)};
      std::vector<Tensor> found = Derived::backward(context, shared(grads, num_grads));
      if (found.size() != num_results)
        throw Error(std::string(Derived::name) + " returned " + std::to_string(found.size()) + " gradients for " +
                    std::to_string(num_results) + " inputs");
      for (size_t i = 0; i < num_results; ++i) results[i] = found[i].leak();
      return 0;
    } catch (const std::exception& error) {
      PyOS_snprintf(message, capacity, "%s", error.what());
      return -1;
    }
  }
};

// Runs `body`, which returns a new reference; its exceptions become Python's.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    if (PyErr_Occurred()) return nullptr;
    if (dynamic_cast<const Error*>(&error)) table()->set_python_error();
    else PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

}  // namespace pellucid::extension
