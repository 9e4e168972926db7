// What a block's threads did to a byte of its shared memory since the last barrier, and which access is a race.
//
// Read emulated_grid.h first.
#pragma once

#include <cstdint>

namespace pellucid {

enum class SharedAccess { Read, ReadForWarp, Write, Update };  // other lanes receive what is read for the warp

// An access: its thread, its warp, and the warp's time: how many gathers have ordered the warp's accesses.
struct Visit {
  int16_t thread, warp;
  uint32_t time;
};

// Accesses of one kind. Those that precede a warp's own later one are forgotten: they precede all that follow.
class Visits {
 public:
  bool race_with(const Visit& visit) const { return warp_ != kNobody && thread_ != visit.thread && !are_before(visit); }

  void add(const Visit& visit) {
    if (warp_ == kNobody || are_before(visit)) thread_ = visit.thread;
    else if (thread_ != visit.thread) thread_ = kSeveral;
    warp_ = warp_ == kNobody || warp_ == visit.warp ? visit.warp : kSeveral;
    time_ = visit.time;
  }

 private:
  static constexpr int16_t kNobody = -1, kSeveral = -2;
  bool are_before(const Visit& visit) const { return warp_ == visit.warp && time_ < visit.time; }

  int16_t thread_ = kNobody, warp_ = kNobody;
  uint32_t time_ = 0;
};

class SharedByte {
 public:
  bool is_written = false;  // at any time
  bool is_on_its_way = false;

  // What is wrong with an access, or null. It is remembered.
  const char* visit(SharedAccess access, Visit by) {
    const bool is_update = access == SharedAccess::Update, writes = is_update || access == SharedAccess::Write;
    if (access == SharedAccess::ReadForWarp) by.thread = kWholeWarp;
    if (is_on_its_way) return "bytes of shared memory that a copy has yet to write";
    if (writes_.race_with(by) || (!is_update && updates_.race_with(by)))
      return "bytes of shared memory that another thread wrote since the last barrier";
    if (writes && reads_.race_with(by)) return "bytes of shared memory that another thread read since the last barrier";
    if (access != SharedAccess::Write && !is_written) return "bytes of shared memory that nobody wrote";
    is_written = true;
    (is_update ? updates_ : writes ? writes_ : reads_).add(by);
    return nullptr;
  }

  void forget_visits() { writes_ = updates_ = reads_ = {}; }

 private:
  static constexpr int16_t kWholeWarp = -3;  // the thread of what is read for the warp
  Visits writes_, updates_, reads_;          // updates are atomics
};

}  // namespace pellucid
