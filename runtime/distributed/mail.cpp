#include "distributed/mail.h"

#include <algorithm>
#include <cstring>

namespace pellucid::distributed {

namespace {

struct MessageHeader {
  int64_t nbytes, tag;
};

uint64_t room(const Mailbox& box) { return kMailboxBytes - (box.num_written.load() - box.num_read.load()); }
uint64_t filled(const Mailbox& box) { return box.num_written.load() - box.num_read.load(); }

// Copies at most `nbytes` between memory and a position in the ring, which may wrap.
template <class Copy>
void in_ring(uint64_t place, size_t nbytes, Copy copy) {
  const size_t begin = place % kMailboxBytes, first = std::min(nbytes, kMailboxBytes - begin);
  copy(begin, size_t{0}, first);
  if (nbytes > first) copy(size_t{0}, first, nbytes - first);
}

size_t write(Mailbox& box, const char* data, size_t nbytes) {
  nbytes = std::min<size_t>(nbytes, room(box));
  in_ring(box.num_written, nbytes,
          [&](size_t at, size_t from, size_t n) { std::memcpy(box.data + at, data + from, n); });
  box.num_written.fetch_add(nbytes);
  return nbytes;
}

size_t read(Mailbox& box, char* data, size_t nbytes) {
  nbytes = std::min<size_t>(nbytes, filled(box));
  in_ring(box.num_read, nbytes, [&](size_t at, size_t to, size_t n) { std::memcpy(data + to, box.data + at, n); });
  box.num_read.fetch_add(nbytes);
  return nbytes;
}

bool matches(const MailOperation& receive, int source, int64_t tag) {
  return (receive.peer == kAnyRank || receive.peer == source) && receive.tag == tag;
}

}  // namespace

Mail::Mail(Group& group)
    : group_(group), sends_(static_cast<size_t>(group.size())), streams_(static_cast<size_t>(group.size())) {}

Mail::~Mail() {
  stops_ = true;
  group_.segment().page(group_.rank()).post.ring_shared();
  if (thread_.joinable()) thread_.join();
}

MailHandle Mail::send(const char* data, int64_t nbytes, int target, int64_t tag) {
  auto operation = std::make_shared<MailOperation>();
  operation->peer = target;
  operation->tag = tag;
  operation->data = const_cast<char*>(data);
  operation->nbytes = nbytes;
  const std::lock_guard lock(mutex_);
  sends_[static_cast<size_t>(target)].push_back(operation);
  move();
  return operation;
}

MailHandle Mail::receive(char* data, int64_t nbytes, int source, int64_t tag) {
  auto operation = std::make_shared<MailOperation>();
  operation->peer = source;
  operation->tag = tag;
  operation->data = data;
  operation->nbytes = nbytes;
  const std::lock_guard lock(mutex_);
  receives_.push_back(operation);
  move();
  return operation;
}

void Mail::finish(MailOperation& operation) {
  operation.is_done = true;
  group_.segment().page(group_.rank()).post.ring_shared();  // another thread may wait for it
}

void Mail::wait(MailOperation& operation, double timeout) {
  const double start = seconds_now();
  bool has_notified = false;
  Bell& post = group_.segment().page(group_.rank()).post;
  const auto is_ready = [&] {
    if (operation.is_done) return true;
    const std::lock_guard lock(mutex_);
    move();
    return operation.is_done.load();
  };
  const auto is_missing = [&](int rank) {
    return !operation.is_done && (operation.peer == rank || operation.peer == kAnyRank);
  };
  wait_until(post, group_.may_spin(is_missing), is_ready, [&] {
    if (!is_ready()) group_.check(is_missing, start, timeout, has_notified);
  });
}

void Mail::move_in_background() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return;
  thread_ = std::thread([this] {
    Bell& post = group_.segment().page(group_.rank()).post;
    while (!stops_) {
      const uint32_t seen = post.count;
      bool has_moved;
      {
        const std::lock_guard own(mutex_);
        has_moved = move();
      }
      if (!has_moved && !stops_) post.sleep(seen, std::chrono::milliseconds(500));
    }
  });
}

bool Mail::move() {
  bool has_moved = false;
  for (int rank = 0; rank < group_.size(); ++rank) {
    while (move_sends(rank)) has_moved = true;
    while (read_from(rank)) has_moved = true;
  }
  return hand_over_arrivals() || has_moved;
}

bool Mail::move_sends(int target) {
  auto& queue = sends_[static_cast<size_t>(target)];
  if (queue.empty()) return false;
  Mailbox& box = group_.segment().mailbox(group_.rank(), target);
  MailOperation& operation = *queue.front();
  if (!operation.has_header) {
    const MessageHeader header{operation.nbytes, operation.tag};
    if (room(box) < sizeof header) return false;
    write(box, reinterpret_cast<const char*>(&header), sizeof header);
    operation.has_header = true;
  }
  const auto left = static_cast<size_t>(operation.nbytes - operation.num_moved);
  const size_t moved = write(box, operation.data + operation.num_moved, left);
  operation.num_moved += static_cast<int64_t>(moved);
  group_.segment().page(target).post.ring_shared();
  if (operation.num_moved == operation.nbytes) {
    finish(operation);
    queue.pop_front();
    return true;
  }
  return moved > 0;
}

bool Mail::open_stream(int source, Stream& stream) {
  Mailbox& box = group_.segment().mailbox(source, group_.rank());
  MessageHeader header;
  if (filled(box) < sizeof header) return false;
  read(box, reinterpret_cast<char*>(&header), sizeof header);
  stream = {true, header.nbytes, 0, nullptr, nullptr};
  // A receive takes the first message of its tag, so messages that arrived earlier are matched first.
  hand_over_arrivals();
  const auto found = std::find_if(receives_.begin(), receives_.end(),
                                  [&](const MailHandle& r) { return matches(*r, source, header.tag); });
  const bool is_held = std::any_of(arrivals_.begin(), arrivals_.end(), [&](const Arrival& a) {
    return found != receives_.end() && matches(**found, a.source, a.tag);
  });
  if (found != receives_.end() && !is_held && (*found)->nbytes == header.nbytes) {
    stream.receiver = *found;
    receives_.erase(found);
  } else {
    arrivals_.push_back({source, header.tag, std::vector<char>(static_cast<size_t>(header.nbytes)), false});
    stream.arrival = &arrivals_.back();
  }
  return true;
}

bool Mail::read_from(int source) {
  Stream& stream = streams_[static_cast<size_t>(source)];
  if (!stream.is_open && !open_stream(source, stream)) return false;
  Mailbox& box = group_.segment().mailbox(source, group_.rank());
  char* data = stream.receiver ? stream.receiver->data : stream.arrival->bytes.data();
  const auto left = static_cast<size_t>(stream.nbytes - stream.num_moved);
  const size_t moved = read(box, data + stream.num_moved, left);
  stream.num_moved += static_cast<int64_t>(moved);
  group_.segment().page(source).post.ring_shared();
  if (stream.num_moved < stream.nbytes) return moved > 0;
  if (stream.receiver) {
    stream.receiver->source = source;
    finish(*stream.receiver);
  } else {
    stream.arrival->is_complete = true;
  }
  stream = {};
  return true;
}

bool Mail::hand_over_arrivals() {
  bool has_moved = false;
  for (auto receive = receives_.begin(); receive != receives_.end();) {
    MailOperation& operation = **receive;
    const auto found = std::find_if(arrivals_.begin(), arrivals_.end(),
                                    [&](const Arrival& a) { return matches(operation, a.source, a.tag); });
    if (found == arrivals_.end() || !found->is_complete) {
      ++receive;
      continue;
    }
    const auto nbytes = static_cast<int64_t>(found->bytes.size());
    if (nbytes == operation.nbytes) std::copy(found->bytes.begin(), found->bytes.end(), operation.data);
    else operation.num_received = nbytes;
    operation.source = found->source;
    finish(operation);
    arrivals_.erase(found);
    receive = receives_.erase(receive);
    has_moved = true;
  }
  return has_moved;
}

}  // namespace pellucid::distributed
