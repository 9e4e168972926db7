// Messages between pairs of ranks over the system's library Gloo, as C functions for `gloo.py`, which compiles this
// file at first use. Gloo's waits close all connections when they time out, so none of them does here: a thread waits
// for what is being sent, threads of the caller for what arrives, and `pellucid_gloo_stop` ends them.
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kNoLimit = std::chrono::hours(24 * 365);

struct Sending {
  std::vector<char> copy;  // of short messages; others are sent from the caller's memory
  Buffer buffer;
};

class Links {
 public:
  Links(int rank, int size, const char* host, int64_t milliseconds)
      : device_(gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(host))),
        context_(device_->createContext(rank, size)) {
    context_->setTimeout(Milliseconds(milliseconds));
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank) context_->createPair(peer);
    completing_ = std::thread([this] { complete(); });
  }

  ~Links() {
    stop();
    completing_.join();
  }

  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  std::vector<char> address_for(int peer) { return context_->getPair(peer)->address().bytes(); }

  void connect(int peer, const char* address, size_t nbytes) {
    context_->getPair(peer)->connect(std::vector<char>(address, address + nbytes));
  }

  // The number of messages that are being sent from the callers' memory: the last of those sent.
  int64_t send(int peer, uint64_t slot, const char* data, size_t nbytes, bool is_copied) {
    Sending sending;
    if (is_copied) {
      sending.copy.assign(data, data + nbytes);
      data = sending.copy.data();
    }
    const std::lock_guard lock(mutex_);
    if (is_stopped_) throw std::runtime_error("the connections are closed");
    sending.buffer = context_->createUnboundBuffer(const_cast<char*>(data), nbytes);
    sending.buffer->send(peer, slot);
    num_uncopied_ += !is_copied;
    under_way_.push_back(std::move(sending));
    changed_.notify_all();
    return num_uncopied_;
  }

  // Whether the callers' memory has been sent within the time.
  bool flush(Milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return num_uncopied_ == 0 || is_stopped_; });
  }

  // Whether all has been sent.
  bool drain(Milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return under_way_.empty() || is_stopped_; });
  }

  // Waits for a message of at most `nbytes`; false once it is stopped.
  bool receive(int peer, uint64_t slot, char* target, size_t nbytes) {
    Buffer buffer;
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return false;
      buffer = context_->createUnboundBuffer(target, nbytes);
      buffer->recv(peer, slot);
      receiving_.push_back(buffer.get());
    }
    const auto forget = [&] {
      const std::lock_guard lock(mutex_);
      receiving_.erase(std::find(receiving_.begin(), receiving_.end(), buffer.get()));
    };
    try {
      const bool has_arrived = buffer->waitRecv(kNoLimit);
      forget();
      return has_arrived;
    } catch (...) {
      forget();
      throw;
    }
  }

  // Ends all waits and connections.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
      is_stopped_ = true;
      for (auto* each : receiving_) each->abortWaitRecv();
      for (auto& each : under_way_) each.buffer->abortWaitSend();
      changed_.notify_all();
    }
    for (int peer = 0; peer < context_->size; ++peer)
      if (peer != context_->rank) context_->getPair(peer)->close();
  }

 private:
  // Runs on a thread of its own: forgets what has been sent, in the order of the calls.
  void complete() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !under_way_.empty() || is_stopped_; });
      if (is_stopped_) return;
      Sending& first = under_way_.front();
      lock.unlock();
      try {
        first.buffer->waitSend(kNoLimit);
      } catch (const std::exception&) {
        // The peer is gone: its reader says so.
      }
      lock.lock();
      num_uncopied_ -= first.copy.empty();
      under_way_.pop_front();
      changed_.notify_all();
    }
  }

  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sending> under_way_;
  std::vector<gloo::transport::UnboundBuffer*> receiving_;
  int64_t num_uncopied_ = 0;
  bool is_stopped_ = false;
  std::thread completing_;
};

thread_local std::string last_error;

// The result of `body`, or -1 after an exception.
template <class Body>
int64_t guarded(Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return -1;
  }
}

}  // namespace

extern "C" {

const char* pellucid_gloo_error() { return last_error.c_str(); }

Links* pellucid_gloo_open(int rank, int size, const char* host, int64_t milliseconds) {
  Links* made = nullptr;
  guarded([&] {
    made = new Links(rank, size, host, milliseconds);
    return 0;
  });
  return made;
}

void pellucid_gloo_close(Links* links) { delete links; }

void pellucid_gloo_stop(Links* links) { links->stop(); }

// The length of the address for a peer, which is written to `target`.
int64_t pellucid_gloo_address(Links* links, int peer, char* target, int64_t capacity) {
  return guarded([&] {
    const std::vector<char> address = links->address_for(peer);
    std::copy_n(address.begin(), std::min<size_t>(address.size(), capacity), target);
    return static_cast<int64_t>(address.size());
  });
}

int64_t pellucid_gloo_connect(Links* links, int peer, const char* address, int64_t nbytes) {
  return guarded([&] { return links->connect(peer, address, nbytes), 0; });
}

int64_t pellucid_gloo_send(Links* links, int peer, int64_t slot, const char* data, int64_t nbytes, int is_copied) {
  return guarded([&] { return links->send(peer, slot, data, nbytes, is_copied); });
}

int64_t pellucid_gloo_receive(Links* links, int peer, int64_t slot, char* target, int64_t nbytes) {
  return guarded([&] { return links->receive(peer, slot, target, nbytes); });
}

int64_t pellucid_gloo_flush(Links* links, int64_t milliseconds) { return links->flush(Milliseconds(milliseconds)); }

int64_t pellucid_gloo_drain(Links* links, int64_t milliseconds) { return links->drain(Milliseconds(milliseconds)); }

}  // extern "C"
