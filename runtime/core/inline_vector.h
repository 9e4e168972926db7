// A growable array of plain values with inline room for N: for lists that are usually short and must not allocate
// then, such as those of the autograd engine and of overriding arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace pellucid {

template <class T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() : items_(reinterpret_cast<T*>(inline_)) {}
  ~InlineVector() {
    if (on_heap()) std::free(items_);
  }
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  void push_back(T item) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    items_[size_++] = item;
  }
  // Inserts before `position`, or at the end.
  void insert(const T* position, T item) {
    const auto index = position - items_;
    push_back(item);
    std::rotate(items_ + index, end() - 1, end());
  }
  void pop_back() { --size_; }
  T& back() { return items_[size_ - 1]; }
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  bool on_heap() const { return items_ != reinterpret_cast<const T*>(inline_); }
  [[gnu::noinline]] void grow() {
    const size_t bytes = 2 * capacity_ * sizeof(T);
    auto* larger = static_cast<T*>(std::malloc(bytes));
    if (!larger) throw std::bad_alloc();
    std::memcpy(larger, items_, size_ * sizeof(T));
    if (on_heap()) std::free(items_);
    items_ = larger;
    capacity_ *= 2;
  }

  T* items_;
  size_t size_ = 0, capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace pellucid
