#include "distributed/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "distributed/waiting.h"

namespace pellucid::distributed {

namespace {

constexpr size_t kBufferBytes = 1 << 16;
// Yields before sleeping: an answer to a short call arrives sooner than a sleeping thread wakes.
constexpr int kYields = 64;

[[noreturn]] void fail(int code) { throw std::system_error(code, std::generic_category(), "the connection"); }

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

Connection::Connection(int descriptor) : descriptor_(descriptor), arrived_(kBufferBytes) {}

Connection::~Connection() { close(descriptor_); }

size_t Connection::send_at_once(const char* data, size_t nbytes) {
  const ssize_t sent = ::send(descriptor_, data, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (!would_block(errno)) fail(errno);
  return 0;
}

void Connection::send(const char* data, size_t nbytes) {
  while (nbytes > 0) {
    const ssize_t sent = ::send(descriptor_, data, nbytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) fail(errno);
    const auto count = static_cast<size_t>(std::max<ssize_t>(sent, 0));
    data += count;
    nbytes -= count;
  }
}

void Connection::shut_down() { shutdown(descriptor_, SHUT_RDWR); }

size_t Connection::receive(char* target, size_t nbytes, Blocking blocking) {
  const ssize_t count = recv(descriptor_, target, nbytes, blocking == Blocking::Yes ? 0 : MSG_DONTWAIT);
  if (count > 0) return static_cast<size_t>(count);
  if (count == 0) fail(ECONNRESET);
  if (!would_block(errno)) fail(errno);
  return 0;
}

bool Connection::fetch(Blocking blocking) {
  const size_t count = receive(arrived_.data() + end_, arrived_.size() - end_, blocking);
  end_ += count;
  return count > 0;
}

bool Connection::wait_for(size_t nbytes, double seconds) {
  if (has_arrived(nbytes)) return true;
  std::memmove(arrived_.data(), arrived_.data() + first_, end_ - first_);
  end_ -= first_;
  first_ = 0;
  if (nbytes > arrived_.size()) arrived_.resize(nbytes);
  for (int i = may_yield() ? 0 : kYields; i < kYields; ++i) {
    if (fetch(Blocking::No) && has_arrived(nbytes)) return true;
    if (!yield_processor()) break;
  }
  const auto start = std::chrono::steady_clock::now();
  while (!has_arrived(nbytes)) {
    if (seconds > 0) {
      const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
      pollfd watched{descriptor_, POLLIN, 0};
      const double left = std::clamp(seconds - past.count(), 0.0, 1e6);
      if (poll(&watched, 1, static_cast<int>(1e3 * left)) <= 0) return false;
    }
    if (!fetch(Blocking::Yes)) return false;
  }
  return true;
}

const char* Connection::take(size_t nbytes) {
  const char* data = arrived_.data() + first_;
  first_ += nbytes;
  return data;
}

void Connection::read_into(char* target, size_t nbytes) {
  const size_t ready = std::min(end_ - first_, nbytes);
  std::memcpy(target, take(ready), ready);
  for (size_t done = ready; done < nbytes;) done += receive(target + done, nbytes - done, Blocking::Yes);
}

}  // namespace pellucid::distributed
