// Intrusive reference counting: `RefCounted` objects and the `Ref` that owns one count.
//
// Counts are atomic because graphs and tensors cross threads. The last `release` calls
// T::destroy(T*), found by overload, so that each type decides where its memory goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace pellucid {

struct RefCounted {
  std::atomic<int32_t> refs{1};

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  // True when the caller held the last count and must destroy the object.
  bool release() {
    if (refs.load(std::memory_order_acquire) == 1) return true;
    return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  bool unique() const { return refs.load(std::memory_order_acquire) == 1; }
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref adopt(T* object) { Ref ref; ref.object_ = object; return ref; }  // takes the caller's count
  static Ref share(T* object) { if (object) object->retain(); return adopt(object); }
  Ref(const Ref& other) : object_(other.object_) { if (object_) object_->retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept { std::swap(object_, other.object_); return *this; }
  ~Ref() { if (object_ && object_->release()) destroy(object_); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* leak() { return std::exchange(object_, nullptr); }  // gives the count away

 private:
  T* object_ = nullptr;
};

}  // namespace pellucid
