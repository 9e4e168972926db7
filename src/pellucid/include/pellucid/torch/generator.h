// at::Generator: a counted reference to a generator of random numbers.
#pragma once

#include <memory>
#include <mutex>

#include "pellucid/torch/calls.h"

namespace at {

// A counted reference to a generator of random numbers.
class Generator {
 public:
  Generator() = default;
  static Generator adopt(GeneratorHandle* handle) {
    Generator made;
    made.handle_ = handle;
    if (handle) made.slot_ = std::make_shared<Slot>();
    return made;
  }
  Generator(const Generator& other) : handle_(other.handle_), slot_(other.slot_) {
    if (handle_) detail::table().count_generator(handle_, true);
  }
  Generator(Generator&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), slot_(std::move(other.slot_)) {}
  Generator& operator=(Generator other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~Generator() {
    if (handle_) detail::table().count_generator(handle_, false);
  }
  GeneratorHandle* handle() const { return handle_; }
  bool defined() const { return handle_ != nullptr; }
  uint64_t current_seed() const { return detail::table().generator_seed(handle_, nullptr); }
  void set_current_seed(uint64_t seed) { detail::table().generator_seed(handle_, &seed); }
  Device device() const { return kCPU; }
  std::mutex& mutex() const { return *static_cast<std::mutex*>(detail::table().generator_mutex(handle_)); }
  // The class of PyTorch's over it (random.h), which lives as long as this reference or a copy of it.
  template <class Implementation>
  Implementation* get() const {
    const std::lock_guard<std::mutex> lock(slot_->mutex);
    if (!slot_->implementation) slot_->implementation = std::make_shared<Implementation>(handle_, mutex());
    return static_cast<Implementation*>(slot_->implementation.get());
  }

 private:
  GeneratorHandle* handle_ = nullptr;
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<void> implementation;
  };
  std::shared_ptr<Slot> slot_;  // of all copies
};

}  // namespace at
