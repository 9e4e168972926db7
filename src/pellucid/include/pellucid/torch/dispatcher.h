// Dispatch keys and their guards, and calls of ops by their names: c10::Dispatcher.
#pragma once

#include "pellucid/torch/autograd.h"
#include "pellucid/torch/module.h"

namespace c10 {

// Keys by name, as the runtime has them: the enumerators of PyTorch that libraries name.
enum class DispatchKey : uint8_t {
#define PELLUCID_KEYS(key)                                                                                          \
  key(Undefined) key(CPU) key(CUDA) key(XPU) key(MPS) key(Meta) key(PrivateUse1) key(PrivateUse2) key(PrivateUse3)  \
      key(QuantizedCPU) key(SparseCPU) key(BackendSelect) key(Python) key(ADInplaceOrView) key(Autograd)            \
          key(AutogradOther) key(AutogradCPU) key(AutogradCUDA) key(AutogradPrivateUse1) key(Autocast)              \
              key(AutocastCPU) key(AutocastCUDA) key(FuncTorchBatched) key(CatchAll) key(CompositeImplicitAutograd) \
                  key(CompositeExplicitAutograd)
#define PELLUCID_KEY(name) name,
  PELLUCID_KEYS(PELLUCID_KEY)
#undef PELLUCID_KEY
};
inline const char* toString(DispatchKey key) {
#define PELLUCID_KEY(name) #name,
  constexpr const char* names[] = {PELLUCID_KEYS(PELLUCID_KEY)};
#undef PELLUCID_KEY
  return names[static_cast<int>(key)];
}
inline std::ostream& operator<<(std::ostream& out, DispatchKey key) { return out << toString(key); }

class DispatchKeySet {
 public:
  DispatchKeySet() = default;
  DispatchKeySet(DispatchKey key) : bits_(at::detail::table().keys_named(toString(key))) {}
  uint64_t bits() const { return bits_; }
  bool has(DispatchKey key) const { return (DispatchKeySet(key).bits_ & ~bits_) == 0; }
  bool empty() const { return bits_ == 0; }
  DispatchKeySet add(DispatchKey key) const { return *this | key; }
  DispatchKeySet remove(DispatchKey key) const { return of(bits_ & ~DispatchKeySet(key).bits_); }
  DispatchKeySet operator|(DispatchKeySet other) const { return of(bits_ | other.bits_); }
  DispatchKeySet operator&(DispatchKeySet other) const { return of(bits_ & other.bits_); }
  DispatchKeySet operator-(DispatchKeySet other) const { return of(bits_ & ~other.bits_); }

 private:
  static DispatchKeySet of(uint64_t bits) {
    DispatchKeySet made;
    made.bits_ = bits;
    return made;
  }
  uint64_t bits_ = 0;
};
inline DispatchKeySet operator|(DispatchKey a, DispatchKey b) { return DispatchKeySet(a) | b; }
constexpr DispatchKey kAutograd = DispatchKey::Autograd;

namespace impl {

class ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) : before_(at::detail::table().exclude(~uint64_t{0})) {
    at::detail::table().exclude(before_ | keys.bits());
  }
  explicit ExcludeDispatchKeyGuard(DispatchKey key) : ExcludeDispatchKeyGuard(DispatchKeySet(key)) {}
  ~ExcludeDispatchKeyGuard() { at::detail::table().exclude(before_); }
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ExcludeDispatchKeyGuard& operator=(const ExcludeDispatchKeyGuard&) = delete;

 private:
  const uint64_t before_;
};
class IncludeDispatchKeyGuard {
 public:
  explicit IncludeDispatchKeyGuard(DispatchKeySet keys) : before_(at::detail::table().include(0)) {
    at::detail::table().include(before_ | keys.bits());
  }
  explicit IncludeDispatchKeyGuard(DispatchKey key) : IncludeDispatchKeyGuard(DispatchKeySet(key)) {}
  ~IncludeDispatchKeyGuard() { at::detail::table().include(before_); }
  IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;
  IncludeDispatchKeyGuard& operator=(const IncludeDispatchKeyGuard&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace impl

struct OperatorName {
  std::string name, overload_name;
};
struct Argument {
  std::string given_name, type_text;  // "Tensor[]"
  const std::string& name() const { return given_name; }
};
struct FunctionSchema {
  OperatorName given;
  std::vector<Argument> list;
  const OperatorName& operator_name() const { return given; }
  const std::string& name() const { return given.name; }
  const std::string& overload_name() const { return given.overload_name; }
  const std::vector<Argument>& arguments() const { return list; }
};

template <class Signature>
class TypedOperatorHandle;
template <class Return, class... Arguments>
class TypedOperatorHandle<Return(Arguments...)> {
 public:
  explicit TypedOperatorHandle(std::string name) : name_(std::move(name)) {}
  Return call(Arguments... arguments) const {
    if constexpr (std::is_reference_v<Return>) {  // what the op writes
      at::detail::call<void>(name_.c_str(), at::detail::pack(arguments)...);
      at::Tensor* written = nullptr;
      (note<Arguments>(written, arguments), ...);
      return *written;
    } else {
      return at::detail::call<Return>(name_.c_str(), at::detail::pack(arguments)...);
    }
  }

 private:
  template <class Argument, class Value>
  static void note(at::Tensor*& written, Value& value) {
    constexpr bool is_written = std::is_same_v<Argument, Return> && std::is_same_v<Return, at::Tensor&>;
    if constexpr (is_written || std::is_same_v<Argument, const at::Tensor&>)
      if (is_written || !written) written = const_cast<at::Tensor*>(&value);
  }
  std::string name_;
};

class OperatorHandle {
 public:
  explicit OperatorHandle(std::string name) : name_(std::move(name)) {}
  template <class Signature>
  TypedOperatorHandle<Signature> typed() const {
    return TypedOperatorHandle<Signature>(name_);
  }
  const std::string& text() const { return name_; }
  OperatorName operator_name() const { return schema().given; }
  FunctionSchema schema() const {
    const c10::detail::Lock lock;
    FunctionSchema found;
    const pybind11::object rows = at::detail::object_from(at::detail::call_helper("op_schema", "(s)", name_.c_str()));
    found.given = {rows[0].cast<std::string>(), rows[1].cast<std::string>()};
    for (const pybind11::handle row : pybind11::object(rows[2]))
      found.list.push_back({row[0].cast<std::string>(), row[1].cast<std::string>()});
    return found;
  }
  // Takes the op's arguments off the stack and puts its results there.
  void callBoxed(torch::jit::Stack* stack) const {
    const c10::detail::Lock lock;
    const size_t count = schema().list.size();
    TORCH_CHECK(stack->size() >= count, name_, " takes ", count, " arguments; the stack has ", stack->size());
    const pybind11::list given;
    for (const IValue& value : torch::jit::last(stack, count)) given.append(value);
    torch::jit::drop(stack, count);
    const pybind11::object results =
        at::detail::object_from(at::detail::call_helper("call_op", "(sO)", name_.c_str(), given.ptr()));
    for (const pybind11::handle result : results) stack->push_back(result.cast<IValue>());
  }
  void callBoxed(torch::jit::Stack& stack) const { callBoxed(&stack); }

 private:
  std::string name_;
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const {
    const optional<OperatorHandle> found = findSchema({name, overload});
    TORCH_CHECK(found, "Could not find schema for ", name, '.', overload,
                ": no library that is loaded defines this overload; load the one that does, or mend the name");
    return *found;
  }
  optional<OperatorHandle> findSchema(const OperatorName& name) const {
    const OperatorHandle found(name.overload_name.empty() ? name.name : name.name + "." + name.overload_name);
    const c10::detail::Lock lock;
    const pybind11::object known =
        at::detail::object_from(at::detail::call_helper("is_op", "(s)", found.text().c_str()));
    return known.cast<bool>() ? optional<OperatorHandle>(found) : nullopt;
  }
};

}  // namespace c10
