// Lists that ops take: ArrayRef and its relatives, SmallVector; ranges of integers.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pellucid/torch/errors.h"

namespace c10 {

using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& list) : data_(list.data()), size_(N) {}
#if defined(__GNUC__) && !defined(__clang__)  // a list as an argument lives until the call's end
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  const T& operator[](size_t k) const { return data_[k]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const T& at(size_t k) const {
    if (k >= size_) throw IndexError("ArrayRef: the index " + std::to_string(k) + " is out of range");
    return data_[k];
  }
  ArrayRef slice(size_t first, size_t count) const { return {data_ + first, count}; }
  ArrayRef slice(size_t first) const { return {data_ + first, size_ - first}; }
  std::vector<T> vec() const { return {begin(), end()}; }
  ArrayRef drop_front(size_t count = 1) const { return slice(count); }
  ArrayRef drop_back(size_t count = 1) const { return slice(0, size_ - count); }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t k = 0; k < size_; ++k)
      if (data_[k] != other.data_[k]) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;
using IntList = IntArrayRef;
inline bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }
inline bool operator!=(IntArrayRef a, IntArrayRef b) { return !a.equals(b); }
inline std::ostream& operator<<(std::ostream& out, IntArrayRef list) {
  out << '[';
  for (size_t k = 0; k < list.size(); ++k) out << (k ? ", " : "") << list[k];
  return out << ']';
}

// for (const auto k : c10::irange(n))
template <class Integer>
class integer_range {
 public:
  struct iterator {
    Integer at;
    Integer operator*() const { return at; }
    iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const iterator& other) const { return at != other.at; }
  };
  integer_range(Integer first, Integer last) : first_(first), last_(last < first ? first : last) {}
  iterator begin() const { return {first_}; }
  iterator end() const { return {last_}; }

 private:
  Integer first_, last_;
};
template <class T>
ArrayRef<T> makeArrayRef(const std::vector<T>& list) {
  return list;
}
template <class T>
ArrayRef<T> makeArrayRef(const T* data, size_t size) {
  return {data, size};
}
template <class List>
int64_t multiply_integers(const List& list) {
  int64_t product = 1;
  for (const auto each : list) product *= static_cast<int64_t>(each);
  return product;
}
inline int64_t multiply_integers(std::initializer_list<int64_t> list) { return multiply_integers(IntArrayRef(list)); }
template <class List>
int64_t sum_integers(const List& list) {
  int64_t sum = 0;
  for (const auto each : list) sum += static_cast<int64_t>(each);
  return sum;
}

template <class Integer>
integer_range<Integer> irange(Integer end) {
  return {Integer{0}, end};
}
template <class First, class Integer>
integer_range<Integer> irange(First begin, Integer end) {
  return {static_cast<Integer>(begin), end};
}

// A list that grows; the size that it starts with is not needed.
template <class T, unsigned = 0>
class SmallVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  SmallVector() = default;
  SmallVector(ArrayRef<T> list) : std::vector<T>(list.begin(), list.end()) {}
  template <class List>
  void append(const List& list) {
    this->insert(this->end(), list.begin(), list.end());
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    this->insert(this->end(), first, last);
  }
  T pop_back_val() {
    T value = std::move(this->back());
    this->pop_back();
    return value;
  }
};
using DimVector = SmallVector<int64_t, 5>;

// A list or nothing; a number is a list of one.
template <class T>
class OptionalArrayRef {
 public:
  OptionalArrayRef() = default;
  OptionalArrayRef(nullopt_t) {}
  OptionalArrayRef(const T& one) : list_(ArrayRef<T>(one)) {}
  OptionalArrayRef(ArrayRef<T> list) : list_(list) {}
  OptionalArrayRef(const std::vector<T>& list) : list_(list) {}
  OptionalArrayRef(const std::initializer_list<T>& list) : list_(list) {}
  OptionalArrayRef(const optional<ArrayRef<T>>& list) : list_(list) {}
  OptionalArrayRef(const optional<std::vector<T>>& list) {
    if (list) list_ = ArrayRef<T>(*list);
  }
  bool has_value() const { return list_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const ArrayRef<T>& value() const { return *list_; }
  const ArrayRef<T>& operator*() const { return *list_; }

 private:
  optional<ArrayRef<T>> list_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
using OptionalSymIntArrayRef = OptionalIntArrayRef;

}  // namespace c10
