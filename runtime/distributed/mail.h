// Messages from one rank to another through their mailboxes: send and recv with tags, in any order of posting.
//
// A message is a header and its bytes, streamed through a ring buffer. Messages that arrive before their receive is
// posted are buffered in this process, so no order of sends and receives can deadlock. A waiting thread advances all
// operations; a background thread advances those that nobody waits for yet.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "distributed/group.h"

namespace pellucid::distributed {

constexpr int kAnyRank = -1;

struct MailOperation {
  int peer;
  int64_t tag;
  char* data;
  int64_t nbytes;
  std::atomic<bool> is_done{false};
  int64_t num_received = -1;  // bytes of the message, if not the expected number
  int source = kAnyRank;
  bool has_header = false;  // of a send: whether its header has been written
  int64_t num_moved = 0;
};
using MailHandle = std::shared_ptr<MailOperation>;

class Mail {
 public:
  explicit Mail(Group& group);
  ~Mail();
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  // The memory must stay valid until the operation is done.
  MailHandle send(const char* data, int64_t nbytes, int target, int64_t tag);
  MailHandle receive(char* data, int64_t nbytes, int source, int64_t tag);
  void wait(MailOperation& operation, double timeout);
  void move_in_background();

 private:
  struct Arrival {  // a message without a receiver, or whose receiver expects another size
    int source;
    int64_t tag;
    std::vector<char> bytes;
    bool is_complete = false;
  };
  struct Stream {  // the message that is being read from one rank
    bool is_open = false;
    int64_t nbytes = 0, num_moved = 0;
    MailHandle receiver;
    Arrival* arrival = nullptr;
  };

  bool move();
  bool move_sends(int target);
  bool read_from(int source);
  bool open_stream(int source, Stream& stream);
  bool hand_over_arrivals();
  void finish(MailOperation& operation);

  Group& group_;
  std::mutex mutex_;
  std::vector<std::list<MailHandle>> sends_;  // per target
  std::list<MailHandle> receives_;
  std::list<Arrival> arrivals_;
  std::vector<Stream> streams_;
  std::thread thread_;
  std::atomic<bool> stops_{false};
};

}  // namespace pellucid::distributed
