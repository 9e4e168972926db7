#include "device/emulated_grid.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "device/grid_matrices.h"

// Saves the callee-saved state of the ABI and switches to the other stack; swapcontext would take ten times as long.
extern "C" void pellucid_switch_stack(void** save, void* to);
asm(R"(
.text
.hidden pellucid_switch_stack
.globl pellucid_switch_stack
.type pellucid_switch_stack, @function
pellucid_switch_stack:
  push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
  ret
.size pellucid_switch_stack, . - pellucid_switch_stack
)");

namespace pellucid {
namespace {

constexpr size_t kStackBytes = 32768;
constexpr uint64_t kNear = 4096;  // bytes behind an operand that an error names
constexpr int kNobody = -1, kSeveral = -2, kAtomics = -3;
constexpr uint32_t kAllLanes = 0xFFFFFFFF;

enum class State { Ready, AtBarrier, AtShuffle, Done };

enum class SharedAccess { Read, ReadForWarp, Write, Update };  // other lanes receive what is read for the warp

class Grid;

// A copy that `wait_copies` ends.
struct Copy {
  char* to;
  const char* from;
  int64_t nbytes, used;
};

struct Fiber {
  GridMachine machine;  // must come first: a fiber is found by its address
  Grid* grid;
  void* stack_pointer;
  State state;
  uint64_t word;
  uint64_t* words;  // of the gather that it waits in
  uint32_t lanes;
  bool orders;
  std::vector<Copy> copies;  // on their way
  std::unique_ptr<char[]> stack;
};

// The thread that wrote, and one that read, a byte of shared memory since the last barrier, with the time of its warp:
// how many gathers have ordered the warp's accesses.
struct SharedByte {
  int writer = kNobody, reader = kNobody;
  int reading_warp = kNobody;
  uint32_t written_at = 0, read_at = 0;
  bool is_written = false;  // at any time
  bool is_on_its_way = false;
};

class Grid {
 public:
  explicit Grid(const GridCall& call)
      : call_(call), random_(call.order), fibers_(static_cast<size_t>(call.threads)),
        shared_(static_cast<size_t>(call.shared_bytes) + 16), times_(fibers_.size() / kWarp + 1) {
    for (Fiber& fiber : fibers_) fiber.stack = std::make_unique<char[]>(kStackBytes);
  }

  std::string run() {
    const std::span<char> variables = this->variables();
    const std::vector<char> before(variables.begin(), variables.end());  // other variables of the library are there too
    for (const int64_t block : sequence(call_.blocks)) {
      start(block);
      while (fault_.empty() && !run_threads()) {}
      if (!fault_.empty()) break;
    }
    std::ranges::copy(before, variables.begin());
    return fault_;
  }

 private:
  std::span<char> variables() const {
    return {reinterpret_cast<char*>(call_.variables.begin), call_.variables.end - call_.variables.begin};
  }

  static Fiber& fiber_of(GridMachine* machine) { return *reinterpret_cast<Fiber*>(machine); }

  std::vector<int64_t> sequence(int64_t count) {
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    if (call_.order == 1) std::ranges::reverse(numbers);
    if (call_.order > 1) std::ranges::shuffle(numbers, random_);
    return numbers;
  }

  void start(int64_t block) {
    std::ranges::fill(shared_, static_cast<char>(0xFF));  // NaN
    std::ranges::fill(variables(), static_cast<char>(0xFF));
    shared_bytes_.assign(static_cast<size_t>(call_.shared_bytes) + variables().size(), {});
    const auto shared = (reinterpret_cast<uintptr_t>(shared_.data()) + 15) & ~uintptr_t{15};
    for (size_t k = 0; k < fibers_.size(); ++k) {
      Fiber& fiber = fibers_[k];
      fiber.machine = {.thread = static_cast<int64_t>(k),
                       .block = block,
                       .blocks = call_.blocks,
                       .barrier = barrier,
                       .shuffle = shuffle,
                       .touch = touch,
                       .shared = reinterpret_cast<char*>(shared),
                       .gather = gather,
                       .update = update,
                       .fail = fail_in,
                       .copy = copy,
                       .wait_copies = wait_copies,
                       .load_matrices = load_matrices,
                       .multiply_matrices = multiply_matrices};
      fiber.grid = this;
      fiber.copies.clear();
      fiber.state = State::Ready;
      const auto top = reinterpret_cast<uintptr_t>(fiber.stack.get() + kStackBytes) & ~uintptr_t{15};
      auto* const frame = reinterpret_cast<void**>(top) - 2;  // aligned as after a call: 16 bytes plus 8
      *frame = reinterpret_cast<void*>(enter);
      fiber.stack_pointer = frame - 6;
    }
  }

  // Runs every ready thread once; returns whether all are done.
  bool run_threads() {
    size_t done = 0;
    for (const int64_t k : sequence(call_.threads)) {
      Fiber& fiber = fibers_[static_cast<size_t>(k)];
      if (fiber.state == State::Ready) {
        current_ = &fiber;
        pellucid_switch_stack(&scheduler_, fiber.stack_pointer);
        if (!fault_.empty()) return false;  // its thread is left suspended
      }
      done += fiber.state == State::Done;
    }
    if (done == fibers_.size()) return true;
    if (!release()) fail("a thread waits at a barrier or a shuffle that another thread does not reach");
    return false;
  }

  // Releases threads that wait for each other: lanes at a gather, the block at a barrier.
  bool release() {
    bool any = false;
    for (size_t first = 0; first < fibers_.size(); first += kWarp)
      any |= release_warp(std::span(fibers_).subspan(first, std::min<size_t>(kWarp, fibers_.size() - first)),
                          times_[first / kWarp]);
    if (any) return true;
    for (const Fiber& fiber : fibers_)
      if (fiber.state != State::AtBarrier && !has_left(fiber)) return false;
    for (Fiber& fiber : fibers_)
      if (fiber.state == State::AtBarrier) fiber.state = State::Ready;
    for (SharedByte& byte : shared_bytes_) byte.writer = byte.reader = byte.reading_warp = kNobody;
    return true;
  }

  bool has_left(const Fiber& fiber) const { return call_.ends_early && fiber.state == State::Done; }

  bool release_warp(std::span<Fiber> warp, uint32_t& time) {
    bool any = false;
    for (const Fiber& fiber : warp) {
      if (fiber.state != State::AtShuffle) continue;
      const uint32_t lanes = fiber.lanes;
      const bool orders = fiber.orders;
      bool is_whole = true, is_warp = true;
      for (size_t lane = 0; lane < warp.size(); ++lane) {
        const bool is_here = warp[lane].state == State::AtShuffle && warp[lane].lanes == lanes;
        is_warp &= is_here || has_left(warp[lane]);
        if (lanes >> lane & 1) is_whole &= is_here || has_left(warp[lane]);
      }
      if (!is_whole) continue;
      for (size_t lane = 0; lane < warp.size(); ++lane) {
        Fiber& waiting = warp[lane];
        if (!(lanes >> lane & 1) || waiting.state != State::AtShuffle) continue;
        for (size_t other = 0; other < warp.size(); ++other) waiting.words[other] = warp[other].word;
        waiting.state = State::Ready;
      }
      time += orders && is_warp;
      any = true;
    }
    return any;
  }

  void give_way(Fiber& fiber, State state) {
    fiber.state = state;
    pellucid_switch_stack(&fiber.stack_pointer, scheduler_);
  }

  static void enter() {
    Fiber& fiber = *current_;
    fiber.grid->call_.entry(&fiber.machine, fiber.grid->call_.words);
    fiber.grid->give_way(fiber, State::Done);
  }

  static void barrier(GridMachine* machine) { fiber_of(machine).grid->give_way(fiber_of(machine), State::AtBarrier); }

  static uint64_t shuffle(GridMachine* machine, uint64_t word, int64_t mask) {
    uint64_t words[kWarp];
    gather(machine, word, kAllLanes, false, words);
    return words[(machine->thread ^ mask) % kWarp];
  }

  static void gather(GridMachine* machine, uint64_t word, uint32_t lanes, bool orders, uint64_t* words) {
    Fiber& fiber = fiber_of(machine);
    fiber.word = word, fiber.words = words, fiber.lanes = lanes, fiber.orders = orders;
    fiber.grid->give_way(fiber, State::AtShuffle);
  }

  static void update(GridMachine* machine, char* address, int64_t nbytes) {
    Fiber& fiber = fiber_of(machine);
    fiber.grid->touch_shared(fiber, address, nbytes, SharedAccess::Update);
    fiber.grid->leave_on_fault(fiber);
  }

  // The destination holds NaN until the copy ends.
  static void copy(GridMachine* machine, char* to, const char* from, int64_t nbytes, int64_t used) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    const auto is_aligned = [&](const char* p) {
      return reinterpret_cast<uintptr_t>(p) % static_cast<size_t>(nbytes) == 0;
    };
    if (!is_aligned(to) || (used && !is_aligned(from)))
      grid.fail_at(fiber, "copies", nbytes, "bytes that are not aligned");
    if (used) grid.touch_global(fiber, reinterpret_cast<uint64_t>(from), used, false);
    grid.touch_shared(fiber, to, nbytes, SharedAccess::Write);
    grid.leave_on_fault(fiber);
    std::memset(to, 0xFF, static_cast<size_t>(nbytes));
    grid.mark_on_its_way(fiber, to, nbytes, true);
    fiber.copies.push_back({to, from, nbytes, used});
  }

  static void wait_copies(GridMachine* machine) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    for (const Copy& copy : fiber.copies) {
      grid.mark_on_its_way(fiber, copy.to, copy.nbytes, false);
      grid.touch_shared(fiber, copy.to, copy.nbytes, SharedAccess::Write);
      grid.leave_on_fault(fiber);
      std::memset(copy.to, 0, static_cast<size_t>(copy.nbytes));
      std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.used));
    }
    fiber.copies.clear();
  }

  static void load_matrices(GridMachine* machine, char* row, uint32_t* words, int64_t transposed) {
    Fiber& fiber = fiber_of(machine);
    fiber.grid->touch_shared(fiber, row, 16, SharedAccess::ReadForWarp);
    fiber.grid->leave_on_fault(fiber);
    uint64_t rows[kWarp];
    gather(machine, reinterpret_cast<uint64_t>(row), kAllLanes, false, rows);
    const int64_t lane = machine->thread % kWarp, line = lane / 4, place = lane % 4;
    for (int64_t j = 0; j < 4; ++j) {
      uint16_t halves[2];
      for (int64_t k = 0; k < 2; ++k) {
        const int64_t from = transposed ? 2 * place + k : line, at = transposed ? line : 2 * place + k;
        std::memcpy(&halves[k], reinterpret_cast<const char*>(rows[8 * j + from]) + 2 * at, 2);
      }
      words[j] = uint32_t{halves[1]} << 16 | halves[0];
    }
  }

  static void multiply_matrices(GridMachine* machine, uint32_t* words, int64_t kind) {
    uint64_t shown[kWarp];
    gather(machine, reinterpret_cast<uint64_t>(words), kAllLanes, false, shown);
    const int64_t lane = machine->thread % kWarp;
    // Words `first` and `first + step` of four lanes are a row of 32 bytes.
    const auto row_of = [&](int64_t line, int first, int step) {
      MatrixRow row;
      for (int64_t k = 0; k < 4; ++k) {
        const auto* const theirs = reinterpret_cast<const uint32_t*>(shown[4 * line + k]);
        row.words[k] = theirs[first];
        row.words[4 + k] = theirs[first + step];
      }
      return row;
    };
    uint32_t sums[4];
    for (int down = 0; down < 2; ++down)
      for (int across = 0; across < 2; ++across)
        sums[2 * down + across] = matrix_sum(words[6 + 2 * down + across], row_of(lane / 4, down, 2),
                                             row_of(2 * (lane % 4) + across, 4, 1), static_cast<GridMatrix>(kind));
    gather(machine, 0, kAllLanes, false, shown);  // until all lanes have read
    std::ranges::copy(sums, words + 6);
  }

  static void fail_in(GridMachine* machine, const char* what) {
    Fiber& fiber = fiber_of(machine);
    fiber.grid->fail(fiber, what);
    fiber.grid->give_way(fiber, State::Done);  // does not return
  }

  static void touch(GridMachine* machine, char* address, int64_t nbytes, int64_t access) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    const auto kind = static_cast<GridAccess>(access);
    const bool is_shared = kind == GridAccess::ReadShared || kind == GridAccess::WriteShared;
    const bool writes = kind == GridAccess::WriteShared || kind == GridAccess::WriteGlobal;
    is_shared ? grid.touch_shared(fiber, address, nbytes, writes ? SharedAccess::Write : SharedAccess::Read)
              : grid.touch_global(fiber, reinterpret_cast<uint64_t>(address), nbytes, writes);
    grid.leave_on_fault(fiber);
  }

  // Does not return after a fault.
  void leave_on_fault(Fiber& fiber) {
    if (!fault_.empty()) give_way(fiber, State::Done);
  }

  void touch_global(const Fiber& fiber, uint64_t address, int64_t nbytes, bool writes) {
    const uint64_t end = address + static_cast<uint64_t>(nbytes);
    const bool is_inside = std::ranges::any_of(
        call_.ranges, [&](const auto& range) { return address >= range.begin && end <= range.end; });
    if (is_inside) return;
    std::string what = "bytes outside of all operands";
    for (size_t k = 0; k < call_.ranges.size(); ++k)
      if (const uint64_t past = address - call_.ranges[k].end; address >= call_.ranges[k].end && past < kNear)
        what += ", " + std::to_string(past) + " bytes behind number " + std::to_string(k);
    fail_at(fiber, writes ? "writes" : "reads", nbytes, what.c_str());
  }

  // The place of an address among the bytes of shared memory: those of the call, then the variables; or -1.
  int64_t place_of(const Fiber& fiber, const char* address, int64_t nbytes) const {
    const int64_t first = address - fiber.machine.shared;
    if (first >= 0 && first + nbytes <= call_.shared_bytes) return first;
    const auto at = static_cast<int64_t>(reinterpret_cast<uint64_t>(address) - call_.variables.begin);
    return at >= 0 && at + nbytes <= static_cast<int64_t>(variables().size()) ? call_.shared_bytes + at : -1;
  }

  void mark_on_its_way(const Fiber& fiber, const char* address, int64_t nbytes, bool is_on_its_way) {
    const auto first = static_cast<size_t>(place_of(fiber, address, nbytes));
    for (size_t k = first; k < first + static_cast<size_t>(nbytes); ++k) shared_bytes_[k].is_on_its_way = is_on_its_way;
  }

  void touch_shared(const Fiber& fiber, const char* address, int64_t nbytes, SharedAccess access) {
    const bool is_update = access == SharedAccess::Update, for_warp = access == SharedAccess::ReadForWarp;
    const bool writes = is_update || access == SharedAccess::Write;
    const auto me = static_cast<int>(fiber.machine.thread);
    const int warp = me / static_cast<int>(kWarp);
    const uint32_t now = times_[static_cast<size_t>(warp)];
    const char* const verb = writes ? "writes" : "reads";
    const int64_t first = place_of(fiber, address, nbytes);
    if (first < 0) return fail_at(fiber, verb, nbytes, "bytes outside of shared memory");
    for (int64_t k = first; k < first + nbytes; ++k) {
      SharedByte& byte = shared_bytes_[static_cast<size_t>(k)];
      if (byte.is_on_its_way)
        return fail_at(fiber, verb, nbytes, "bytes of shared memory that a copy has yet to write");
      const bool is_ordered_write =
          byte.writer >= 0 && byte.writer / static_cast<int>(kWarp) == warp && byte.written_at < now;
      const bool is_ordered_read = byte.reading_warp == warp && byte.read_at < now;
      const bool met_writer = byte.writer != kNobody && (for_warp || byte.writer != me) && !is_ordered_write &&
                              !(is_update && byte.writer == kAtomics);
      const bool met_reader = writes && byte.reader != kNobody && byte.reader != me && !is_ordered_read;
      if (met_writer || met_reader)
        return fail_at(fiber, verb, nbytes,
                       met_writer ? "bytes of shared memory that another thread wrote since the last barrier"
                                  : "bytes of shared memory that another thread read since the last barrier");
      if ((is_update || !writes) && !byte.is_written)
        return fail_at(fiber, "reads", nbytes, "bytes of shared memory that nobody wrote");
      if (!writes) {
        byte.reading_warp = byte.reader == kNobody || byte.reading_warp == warp ? warp : kSeveral;
        byte.reader = !for_warp && (byte.reader == kNobody || byte.reader == me) ? me : kSeveral;
        byte.read_at = now;
      } else {
        byte.writer = is_update ? kAtomics : me;
        byte.written_at = now;
        byte.is_written = true;
      }
    }
  }

  void fail_at(const Fiber& fiber, const char* verb, int64_t nbytes, const char* what) {
    fail(fiber, (std::string(verb) + ' ' + std::to_string(nbytes) + ' ' + what).c_str());
  }

  void fail(const Fiber& fiber, const char* what) {
    fail(("thread " + std::to_string(fiber.machine.thread) + " of block " + std::to_string(fiber.machine.block) + ' ' +
          what)
             .c_str());
  }

  void fail(const char* text) {
    if (fault_.empty()) fault_ = text;
  }

  const GridCall& call_;
  std::mt19937_64 random_;
  std::vector<Fiber> fibers_;
  std::vector<char> shared_;
  std::vector<SharedByte> shared_bytes_;  // of the call's shared memory and of the variables
  std::vector<uint32_t> times_;           // of the warps
  std::string fault_;
  void* scheduler_ = nullptr;
  static inline thread_local Fiber* current_ = nullptr;
};

}  // namespace

std::string run_emulated_grid(const GridCall& call) { return Grid(call).run(); }

}  // namespace pellucid
