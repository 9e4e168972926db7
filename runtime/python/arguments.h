// Schema-driven argument parsing: Python objects to tagged Values on the C stack.
//
// One Signature per op record describes how Python may call it. `parse` allocates nothing for ordinary
// calls. It returns false on a mismatch instead of raising, so that overloads can be tried in order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/call_op.h"
#include "core/op_record.h"
#include "ops/late_ops.h"
#include "python/function_protocol.h"

namespace pellucid::python {

struct Parameter {
  ArgType type;
  bool optional;
  bool has_default;
  bool written;
  int8_t list_size;
  PyObject* name;                      // interned
  std::span<PyObject* const> aliases;  // other names of it (NumPy's axis for dim), interned
};

struct Signature {
  explicit Signature(OpRecord& record);

  OpRecord* op;
  CompositeBody* body;  // of a composite; else null
  uint8_t num_parameters;
  uint8_t num_positional;
  uint8_t num_results;
  bool variadic_ints;      // view(2, 3): the only positional list of integers may be given as separate arguments
  bool variadic_tensors;   // einsum(equation, a, b): the same for tensors, if the op's record permits it
  bool is_factory;         // takes requires_grad besides its schema's arguments
  uint32_t required;       // bit per parameter without a default
  uint32_t integer_lists;  // bit per parameter that is a list of integers
  uint32_t outputs;        // bit per keyword-only parameter that is written: given together as `out`
  std::vector<Parameter> parameters;
  std::vector<Value> defaults;

  // "add(Tensor self, Tensor or number other, *, number alpha=1)"
  std::string describe(bool as_function) const;
};

// Memory for what Values point to; small calls need only the stack.
class ArgumentMemory {
 public:
  ArgumentMemory() = default;
  ~ArgumentMemory() {
    for (int i = 0; i < num_owned_; ++i) Tensor::adopt(owned_[i]);
  }
  ArgumentMemory(const ArgumentMemory&) = delete;
  ArgumentMemory& operator=(const ArgumentMemory&) = delete;

  template <class T>
  T* take(size_t count) {
    const size_t words = (count * sizeof(T) + 7) / 8;
    if (used_ + words > kWords) [[unlikely]]
      return static_cast<T*>(take_from_heap(words * 8));
    T* block = reinterpret_cast<T*>(words_ + used_);
    used_ += static_cast<uint32_t>(words);
    return block;
  }
  // Keeps a tensor alive until the call ends: a list may change while the call runs.
  void hold(TensorImpl* tensor);
  size_t mark() const { return used_; }
  void reset(size_t mark) { used_ = static_cast<uint32_t>(mark); }

 private:
  static constexpr size_t kWords = 64, kInline = 16;
  void* take_from_heap(size_t bytes);

  uint32_t used_ = 0;
  int num_owned_ = 0;
  std::unique_ptr<std::vector<std::unique_ptr<char[]>>> heap_;
  std::unique_ptr<std::vector<Tensor>> more_owned_;
  int64_t words_[kWords];
  TensorImpl* owned_[kInline];
};

// The arguments of one call. Values beyond the signature's parameters are not initialised.
struct ParsedArguments {
  Value* values() { return storage.data(); }

  uint64_t keys = 0;                 // of all tensor arguments
  int64_t elements = 0;              // of all tensor arguments: an estimate of the op's work
  bool overridden = false;           // whether an argument's __torch_function__ must be called
  PyTypeObject* subclass = nullptr;  // the class of tensors that inherit Tensor's __torch_function__; else null
  bool requires_grad = false;        // of a factory
  bool numbers_as_tensors = false;   // in a second attempt: convert numbers given for tensors
  ArgumentMemory memory;
  Values<kMaxArguments> storage{0};
};

// Arguments in the vectorcall convention; `self` is a method's object or null.
struct PythonArguments {
  PyObject* self;
  PyObject* const* positional;
  Py_ssize_t count;
  PyObject* keywords;  // tuple of names or null; their values follow the positional ones
};

// Whether the signature has all keywords of the call: a quick test before `parse` where there are several overloads.
bool has_keywords(const Signature& signature, PyObject* keywords);

// False if the arguments do not fit the signature. Conversions may raise (overflow, devices).
bool parse(const Signature& signature, const PythonArguments& given, ParsedArguments& parsed);

// The message for arguments that do not fit the only signature of a callable.
std::string explain_mismatch(const Signature& signature, const PythonArguments& given, bool as_function);
// "(Tensor, str, alpha=int)"
std::string describe_types(const PythonArguments& given);

}  // namespace pellucid::python
