// Intrusive reference counting: `RefCounted` objects and the `Ref` that owns one count.
//
// Counts are atomic because graphs and tensors cross threads. The last `release` calls T::destroy(T*), so that
// each type decides how its memory is freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace pellucid {

// Whether this is the only thread of the process: then a plain store suffices and saves a locked instruction. The
// C library clears its flag before a second thread starts.
inline bool is_only_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}

template <class Integer>
void count_up(std::atomic<Integer>& counter) {
  if (is_only_thread()) counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else counter.fetch_add(1, std::memory_order_relaxed);
}
// True if this was the last count.
template <class Integer>
bool count_down(std::atomic<Integer>& counter) {
  if (!is_only_thread()) return counter.fetch_sub(1, std::memory_order_acq_rel) == 1;
  const Integer before = counter.load(std::memory_order_relaxed);
  counter.store(before - 1, std::memory_order_relaxed);
  return before == 1;
}

struct RefCounted {
  std::atomic<int32_t> refs{1};

  void retain() { count_up(refs); }
  // True if the caller held the last count and must destroy the object.
  bool release() { return refs.load(std::memory_order_acquire) == 1 || count_down(refs); }
  bool unique() const { return refs.load(std::memory_order_acquire) == 1; }
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }  // takes over the caller's count
  static Ref share(T* object) {
    if (object) object->retain();
    return adopt(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->release()) destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* leak() { return std::exchange(object_, nullptr); }  // gives up ownership of the count

 private:
  T* object_ = nullptr;
};

}  // namespace pellucid
