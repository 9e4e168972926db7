// A connected socket that messages of RPC arrive at and leave by.
//
// One thread at a time receives, and one sends: the caller sees to both. Errors are std::system_error.
#pragma once

#include <cstddef>
#include <vector>

namespace pellucid::distributed {

class Connection {
 public:
  explicit Connection(int descriptor);  // owned from here on
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // How many of the bytes can be sent without waiting.
  size_t send_at_once(const char* data, size_t nbytes);
  void send(const char* data, size_t nbytes);
  // Neither side sends or receives any more; threads that do hear of it.
  void shut_down();

  bool has_arrived(size_t nbytes) const { return end_ - first_ >= nbytes; }
  // Whether so many bytes arrive within so many seconds (0: it waits for as long as it takes). A signal may end the
  // wait before.
  bool wait_for(size_t nbytes, double seconds);
  // Of what has arrived; valid until the next call.
  const char* take(size_t nbytes);
  void read_into(char* target, size_t nbytes);

 private:
  enum class Blocking { No, Yes };
  // How many bytes were received; 0 where that would block, or a signal arrived.
  size_t receive(char* target, size_t nbytes, Blocking blocking);
  bool fetch(Blocking blocking);

  int descriptor_;
  std::vector<char> arrived_;
  size_t first_ = 0, end_ = 0;  // of what has arrived and was not taken
};

}  // namespace pellucid::distributed
