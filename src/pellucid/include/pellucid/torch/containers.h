// Containers and values that ops of C++ libraries take: List, Dict, IValue, and counted objects of their classes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>

#include "pellucid/torch/tensors.h"

namespace c10 {

// A list whose copies share their elements.
template <class T>
class List {
 public:
  using value_type = T;
  List() : items_(std::make_shared<std::vector<T>>()) {}
  List(std::initializer_list<T> items) : items_(std::make_shared<std::vector<T>>(items)) {}
  explicit List(std::vector<T> items) : items_(std::make_shared<std::vector<T>>(std::move(items))) {}
  explicit List(ArrayRef<T> items) : List(items.vec()) {}
  size_t size() const { return items_->size(); }
  bool empty() const { return items_->empty(); }
  T get(size_t k) const { return items_->at(k); }
  T extract(size_t k) const { return std::move(items_->at(k)); }
  void set(size_t k, T value) const { items_->at(k) = std::move(value); }
  decltype(auto) operator[](size_t k) const { return items_->at(k); }
  void push_back(T value) const { items_->push_back(std::move(value)); }
  template <class... Parts>
  void emplace_back(Parts&&... parts) const {
    items_->emplace_back(std::forward<Parts>(parts)...);
  }
  void append(const List& other) const { items_->insert(items_->end(), other.begin(), other.end()); }
  void pop_back() const { items_->pop_back(); }
  void reserve(size_t count) const { items_->reserve(count); }
  void resize(size_t count) const { items_->resize(count); }
  void clear() const { items_->clear(); }
  auto begin() const { return items_->begin(); }
  auto end() const { return items_->end(); }
  List copy() const { return List(*items_); }
  std::vector<T> vec() const { return *items_; }

 private:
  std::shared_ptr<std::vector<T>> items_;
};

// A dictionary in order of insertion, whose copies share their entries.
template <class Key, class Item>
class Dict {
 public:
  class Entry {
   public:
    Entry(Key key, Item item) : pair_(std::move(key), std::move(item)) {}
    const Key& key() const { return pair_.first; }
    const Item& value() const { return pair_.second; }
    void setValue(Item item) const { pair_.second = std::move(item); }

   private:
    mutable std::pair<Key, Item> pair_;
  };
  using iterator = typename std::vector<Entry>::const_iterator;

  Dict() : entries_(std::make_shared<std::vector<Entry>>()) {}
  size_t size() const { return entries_->size(); }
  bool empty() const { return entries_->empty(); }
  iterator begin() const { return entries_->cbegin(); }
  iterator end() const { return entries_->cend(); }
  iterator find(const Key& key) const {
    auto place = begin();
    while (place != end() && !(place->key() == key)) ++place;
    return place;
  }
  bool contains(const Key& key) const { return find(key) != end(); }
  const Item& at(const Key& key) const {
    const auto place = find(key);
    if (place == end()) throw std::out_of_range("Dict::at: there is no such key");
    return place->value();
  }
  std::pair<iterator, bool> insert(Key key, Item item) const {
    if (const auto place = find(key); place != end()) return {place, false};
    entries_->emplace_back(std::move(key), std::move(item));
    return {end() - 1, true};
  }
  void insert_or_assign(Key key, Item item) const {
    if (const auto place = find(key); place != end()) place->setValue(std::move(item));
    else entries_->emplace_back(std::move(key), std::move(item));
  }
  size_t erase(const Key& key) const {
    const auto place = find(key);
    if (place == end()) return 0;
    entries_->erase(place);
    return 1;
  }
  void clear() const { entries_->clear(); }

 private:
  std::shared_ptr<std::vector<Entry>> entries_;
};

// The base of objects that `intrusive_ptr` counts.
class intrusive_ptr_target {
 public:
  virtual ~intrusive_ptr_target() = default;

 private:
  template <class>
  friend class intrusive_ptr;
  mutable std::atomic<size_t> count_{0};
};

template <class T>
class intrusive_ptr {
 public:
  intrusive_ptr() = default;
  intrusive_ptr(std::nullptr_t) {}
  explicit intrusive_ptr(T* object) : object_(object) { count(); }
  intrusive_ptr(const intrusive_ptr& other) : object_(other.object_) { count(); }
  intrusive_ptr(intrusive_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class Other, std::enable_if_t<std::is_convertible_v<Other*, T*>, int> = 0>
  intrusive_ptr(const intrusive_ptr<Other>& other) : object_(other.get()) {
    count();
  }
  intrusive_ptr& operator=(intrusive_ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~intrusive_ptr() {
    if (object_ && --target()->count_ == 0) delete object_;
  }
  template <class... Parts>
  static intrusive_ptr make(Parts&&... parts) {
    return intrusive_ptr(new T(std::forward<Parts>(parts)...));
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  bool defined() const { return object_ != nullptr; }
  explicit operator bool() const { return defined(); }
  size_t use_count() const { return object_ ? target()->count_.load() : 0; }

 private:
  const intrusive_ptr_target* target() const { return object_; }
  void count() const {
    if (object_) ++target()->count_;
  }
  T* object_ = nullptr;
};
template <class T, class... Parts>
intrusive_ptr<T> make_intrusive(Parts&&... parts) {
  return intrusive_ptr<T>::make(std::forward<Parts>(parts)...);
}

// Any value that an op takes or returns, or that a context holds for backward.
class IValue {
 public:
  IValue() = default;
  IValue(nullopt_t) {}
  IValue(at::Tensor value) : value_(std::move(value)) {}
  IValue(double value) : value_(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  IValue(T value) {
    if constexpr (std::is_same_v<T, bool>) value_ = value;
    else value_ = static_cast<int64_t>(value);
  }
  IValue(std::string value) : value_(std::move(value)) {}
  IValue(const char* value) : value_(std::string(value)) {}
  IValue(std::vector<int64_t> value) : value_(std::move(value)) {}
  IValue(IntArrayRef value) : value_(value.vec()) {}
  IValue(const List<int64_t>& value) : value_(value.vec()) {}
  IValue(std::vector<double> value) : value_(std::move(value)) {}
  IValue(std::vector<bool> value) : value_(std::move(value)) {}
  IValue(std::vector<std::string> value) : value_(std::move(value)) {}
  IValue(std::vector<at::Tensor> value) : value_(std::move(value)) {}
  IValue(const List<at::Tensor>& value) : value_(value.vec()) {}
  IValue(at::TensorList value) : value_(value.vec()) {}
  IValue(ScalarType value) : value_(static_cast<int64_t>(value)) {}
  IValue(Device value) : value_(value) {}
  IValue(at::Generator value) : value_(std::move(value)) {}
  IValue(const complex<double>& value) : value_(value) {}
  IValue(const Scalar& value) {
    if (value.isComplex()) value_ = value.toComplexDouble();
    else if (value.isFloatingPoint()) value_ = value.toDouble();
    else if (value.isBoolean()) value_ = value.toBool();
    else value_ = value.toLong();
  }
  template <class T>
  IValue(const optional<T>& value) {
    if (value) *this = IValue(*value);
  }

#define PELLUCID_KIND(name, type)                                        \
  bool is##name() const { return std::holds_alternative<type>(value_); } \
  const type& to##name() const {                                         \
    TORCH_CHECK(is##name(), "Expected " #name " but got ", tagKind());   \
    return std::get<type>(value_);                                       \
  }
  PELLUCID_KIND(Tensor, at::Tensor)
  PELLUCID_KIND(Double, double)
  PELLUCID_KIND(Int, int64_t)
  PELLUCID_KIND(Bool, bool)
  PELLUCID_KIND(Device, c10::Device)
  PELLUCID_KIND(Generator, at::Generator)
  PELLUCID_KIND(ComplexDouble, complex<double>)
#undef PELLUCID_KIND
#define PELLUCID_KIND(name, type)                                                           \
  bool is##name##List() const { return std::holds_alternative<std::vector<type>>(value_); } \
  List<type> to##name##List() const { return List<type>(to##name##Vector()); }              \
  const std::vector<type>& to##name##Vector() const {                                       \
    TORCH_CHECK(is##name##List(), "Expected " #name "List but got ", tagKind());            \
    return std::get<std::vector<type>>(value_);                                             \
  }
  PELLUCID_KIND(Int, int64_t)
  PELLUCID_KIND(Double, double)
  PELLUCID_KIND(Bool, bool)
  PELLUCID_KIND(Tensor, at::Tensor)
#undef PELLUCID_KIND
  bool isNone() const { return std::holds_alternative<std::monostate>(value_); }
  bool isString() const { return std::holds_alternative<std::string>(value_); }
  const std::string& toStringRef() const {
    TORCH_CHECK(isString(), "toStringRef: the value is a ", tagKind());
    return std::get<std::string>(value_);
  }
  std::string_view toStringView() const { return toStringRef(); }
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  Scalar toScalar() const {
    if (isInt()) return toInt();
    if (isBool()) return toBool();
    if (isComplexDouble()) return toComplexDouble();
    return toDouble();
  }
  ScalarType toScalarType() const { return static_cast<ScalarType>(toInt()); }
  template <class T>
  optional<T> toOptional() const {
    return isNone() ? optional<T>() : optional<T>(to<T>());
  }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, std::string>) return toStringRef();
    else if constexpr (std::is_same_v<T, Scalar>) return toScalar();
    else if constexpr (std::is_same_v<T, ScalarType>) return toScalarType();
    else if constexpr (std::is_same_v<T, List<int64_t>>) return toIntList();
    else if constexpr (std::is_same_v<T, List<at::Tensor>>) return toTensorList();
    else {
      TORCH_CHECK(std::holds_alternative<T>(value_), "the value is a ", tagKind());
      return std::get<T>(value_);
    }
  }
  std::string tagKind() const {
    constexpr const char* names[] = {"None",       "Tensor",  "Double",     "Int",          "Bool",
                                     "String",     "IntList", "DoubleList", "BoolList",     "StringList",
                                     "TensorList", "Device",  "Generator",  "ComplexDouble"};
    return names[value_.index()];
  }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

 private:
  std::variant<std::monostate, at::Tensor, double, int64_t, bool, std::string, std::vector<int64_t>,
               std::vector<double>, std::vector<bool>, std::vector<std::string>, std::vector<at::Tensor>, c10::Device,
               at::Generator, complex<double>>
      value_;
};

}  // namespace c10

namespace torch {

using c10::Dict;
using c10::List;
// The base of classes that TORCH_LIBRARY registers.
class CustomClassHolder : public c10::intrusive_ptr_target {};

namespace jit {

using IValue = c10::IValue;
// Arguments of a boxed kernel, then its results.
using Stack = std::vector<IValue>;
inline at::ArrayRef<IValue> last(const Stack& stack, size_t count) {
  return at::ArrayRef<IValue>(stack.data() + stack.size() - count, count);
}
inline at::ArrayRef<IValue> last(const Stack* stack, size_t count) { return last(*stack, count); }
inline void drop(Stack& stack, size_t count) { stack.resize(stack.size() - count); }
inline void drop(Stack* stack, size_t count) { drop(*stack, count); }
inline IValue pop(Stack& stack) {
  IValue value = std::move(stack.back());
  stack.pop_back();
  return value;
}
inline IValue pop(Stack* stack) { return pop(*stack); }
template <class... Values>
void push(Stack& stack, Values&&... values) {
  (stack.emplace_back(std::forward<Values>(values)), ...);
}
template <class... Values>
void push(Stack* stack, Values&&... values) {
  push(*stack, std::forward<Values>(values)...);
}

}  // namespace jit
}  // namespace torch

namespace c10 {
using Stack = torch::jit::Stack;
}
namespace at {
using c10::IValue;
}
namespace torch {
using torch::jit::Stack;
}
