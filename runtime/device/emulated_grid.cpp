#include "device/emulated_grid.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

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
constexpr int kNobody = -1, kSeveral = -2;

enum class State { Ready, AtBarrier, AtShuffle, Done };

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
  uint64_t word;             // what other lanes of the warp read
  std::vector<Copy> copies;  // on their way
  std::unique_ptr<char[]> stack;
};

// The thread that wrote, and one that read, a byte of shared memory since the last barrier.
struct SharedByte {
  int writer = kNobody, reader = kNobody;
  bool is_written = false;  // at any time
  bool is_on_its_way = false;
};

// What the lanes of a warp multiply (pellucid_compiler/gpu/builder.py, multiply_matrices): rows of 32 bytes.
union MatrixRow {
  uint32_t words[8];
  int8_t int8[32];
  uint8_t uint8[32];
  uint16_t bits[16];
};

float float_of(uint16_t bits, GridMatrix kind) {
  return kind == GridMatrix::BFloat16 ? std::bit_cast<float>(uint32_t{bits} << 16)
                                      : static_cast<float>(std::bit_cast<_Float16>(bits));
}

// One element of the sums, in ascending order; products of 16-bit floats are exact.
uint32_t added(uint32_t sum, const MatrixRow& row, const MatrixRow& column, GridMatrix kind) {
  if (kind == GridMatrix::Int8 || kind == GridMatrix::UInt8) {
    const bool has_sign = kind == GridMatrix::Int8;
    for (int k = 0; k < 32; ++k)
      sum += static_cast<uint32_t>(has_sign ? row.int8[k] * column.int8[k] : row.uint8[k] * column.uint8[k]);
    return sum;
  }
  float total = std::bit_cast<float>(sum);
  for (int k = 0; k < 16; ++k) total += float_of(row.bits[k], kind) * float_of(column.bits[k], kind);
  return std::bit_cast<uint32_t>(total);
}

class Grid {
 public:
  explicit Grid(const GridCall& call)
      : call_(call), random_(call.order), fibers_(static_cast<size_t>(call.threads)),
        shared_(static_cast<size_t>(call.shared_bytes) + 16) {
    for (Fiber& fiber : fibers_) fiber.stack = std::make_unique<char[]>(kStackBytes);
  }

  std::string run() {
    for (const int64_t block : sequence(call_.blocks)) {
      start(block);
      while (fault_.empty() && !run_threads()) {}
      if (!fault_.empty()) break;
    }
    return fault_;
  }

 private:
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
    shared_bytes_.assign(shared_.size(), {});
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

  // Releases threads that wait for each other: a warp at a shuffle, the block at a barrier.
  bool release() {
    bool any = false;
    for (size_t first = 0; first < fibers_.size(); first += kWarp) {
      const auto warp = std::span(fibers_).subspan(first, std::min<size_t>(kWarp, fibers_.size() - first));
      if (!std::ranges::all_of(warp, [](const Fiber& f) { return f.state == State::AtShuffle; })) continue;
      for (Fiber& fiber : warp) fiber.state = State::Ready;
      any = true;
    }
    if (any) return true;
    if (!std::ranges::all_of(fibers_, [](const Fiber& f) { return f.state == State::AtBarrier; })) return false;
    for (Fiber& fiber : fibers_) fiber.state = State::Ready;
    for (SharedByte& byte : shared_bytes_) byte.writer = byte.reader = kNobody;
    return true;
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
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    grid.show(fiber, word);
    const uint64_t other = grid.fibers_[static_cast<size_t>(machine->thread ^ mask)].word;
    grid.give_way(fiber, State::AtShuffle);  // until all lanes have read
    return other;
  }

  // Returns when all lanes of the warp have shown a word.
  void show(Fiber& fiber, uint64_t word) {
    fiber.word = word;
    give_way(fiber, State::AtShuffle);
  }

  // The word of a lane of the fiber's warp, as an address.
  template <class T>
  T* shown_by(const Fiber& fiber, int64_t lane) const {
    const int64_t first = fiber.machine.thread / kWarp * kWarp;
    return reinterpret_cast<T*>(fibers_[static_cast<size_t>(first + lane)].word);
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
    grid.touch_shared(fiber, to, nbytes, true);
    if (!grid.fault_.empty()) grid.give_way(fiber, State::Done);  // does not return
    std::memset(to, 0xFF, static_cast<size_t>(nbytes));
    grid.mark_on_its_way(to, nbytes, true);
    fiber.copies.push_back({to, from, nbytes, used});
  }

  static void wait_copies(GridMachine* machine) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    for (const Copy& copy : fiber.copies) {
      grid.mark_on_its_way(copy.to, copy.nbytes, false);
      grid.touch_shared(fiber, copy.to, copy.nbytes, true);
      if (!grid.fault_.empty()) grid.give_way(fiber, State::Done);  // does not return
      std::memset(copy.to, 0, static_cast<size_t>(copy.nbytes));
      std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.used));
    }
    fiber.copies.clear();
  }

  static void load_matrices(GridMachine* machine, char* row, uint32_t* words, int64_t transposed) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    grid.touch_shared(fiber, row, 16, false, true);
    if (!grid.fault_.empty()) grid.give_way(fiber, State::Done);  // does not return
    grid.show(fiber, reinterpret_cast<uint64_t>(row));
    const int64_t lane = machine->thread % kWarp, line = lane / 4, place = lane % 4;
    for (int64_t j = 0; j < 4; ++j) {
      uint16_t halves[2];
      for (int64_t k = 0; k < 2; ++k) {
        const int64_t from = transposed ? 2 * place + k : line, at = transposed ? line : 2 * place + k;
        std::memcpy(&halves[k], grid.shown_by<char>(fiber, 8 * j + from) + 2 * at, 2);
      }
      words[j] = uint32_t{halves[1]} << 16 | halves[0];
    }
    grid.give_way(fiber, State::AtShuffle);  // until all lanes have read
  }

  static void multiply_matrices(GridMachine* machine, uint32_t* words, int64_t kind) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    grid.show(fiber, reinterpret_cast<uint64_t>(words));
    const int64_t lane = machine->thread % kWarp;
    // Words `first` and `first + step` of four lanes are a row of 32 bytes.
    const auto row_of = [&](int64_t line, int first, int step) {
      MatrixRow row;
      for (int64_t k = 0; k < 4; ++k) {
        const uint32_t* const theirs = grid.shown_by<uint32_t>(fiber, 4 * line + k);
        row.words[k] = theirs[first];
        row.words[4 + k] = theirs[first + step];
      }
      return row;
    };
    uint32_t sums[4];
    for (int down = 0; down < 2; ++down)
      for (int across = 0; across < 2; ++across)
        sums[2 * down + across] = added(words[6 + 2 * down + across], row_of(lane / 4, down, 2),
                                        row_of(2 * (lane % 4) + across, 4, 1), static_cast<GridMatrix>(kind));
    grid.give_way(fiber, State::AtShuffle);  // until all lanes have read
    std::ranges::copy(sums, words + 6);
  }

  static void touch(GridMachine* machine, char* address, int64_t nbytes, int64_t access) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    const auto kind = static_cast<GridAccess>(access);
    const bool is_shared = kind == GridAccess::ReadShared || kind == GridAccess::WriteShared;
    is_shared ? grid.touch_shared(fiber, address, nbytes, kind == GridAccess::WriteShared)
              : grid.touch_global(fiber, reinterpret_cast<uint64_t>(address), nbytes, kind == GridAccess::WriteGlobal);
    if (!grid.fault_.empty()) grid.give_way(fiber, State::Done);  // does not return
  }

  void touch_global(const Fiber& fiber, uint64_t address, int64_t nbytes, bool writes) {
    const uint64_t end = address + static_cast<uint64_t>(nbytes);
    const bool is_inside = std::ranges::any_of(
        call_.ranges, [&](const auto& range) { return address >= range.begin && end <= range.end; });
    if (!is_inside) fail_at(fiber, writes ? "writes" : "reads", nbytes, "bytes outside of all operands");
  }

  void mark_on_its_way(const char* address, int64_t nbytes, bool is_on_its_way) {
    const auto first = static_cast<size_t>(address - fibers_[0].machine.shared);
    for (size_t k = first; k < first + static_cast<size_t>(nbytes); ++k) shared_bytes_[k].is_on_its_way = is_on_its_way;
  }

  // `for_warp`: other lanes receive what is read.
  void touch_shared(const Fiber& fiber, char* address, int64_t nbytes, bool writes, bool for_warp = false) {
    const auto me = static_cast<int>(fiber.machine.thread);
    const int64_t first = address - fiber.machine.shared;
    if (first < 0 || first + nbytes > call_.shared_bytes)
      return fail_at(fiber, writes ? "writes" : "reads", nbytes, "bytes outside of shared memory");
    for (int64_t k = first; k < first + nbytes; ++k) {
      SharedByte& byte = shared_bytes_[static_cast<size_t>(k)];
      if (byte.is_on_its_way)
        return fail_at(fiber, writes ? "writes" : "reads", nbytes,
                       "bytes of shared memory that a copy has yet to write");
      const bool met_writer = byte.writer != kNobody && (for_warp || byte.writer != me);
      const bool met_reader = writes && byte.reader != kNobody && byte.reader != me;
      if (met_writer || met_reader)
        return fail_at(fiber, writes ? "writes" : "reads", nbytes,
                       met_writer ? "bytes of shared memory that another thread wrote since the last barrier"
                                  : "bytes of shared memory that another thread read since the last barrier");
      if (!writes && !byte.is_written)
        return fail_at(fiber, "reads", nbytes, "bytes of shared memory that nobody wrote");
      if (writes) {
        byte.writer = me;
        byte.is_written = true;
      } else {
        byte.reader = !for_warp && (byte.reader == kNobody || byte.reader == me) ? me : kSeveral;
      }
    }
  }

  void fail_at(const Fiber& fiber, const char* verb, int64_t nbytes, const char* what) {
    char text[160];
    std::snprintf(text, sizeof text, "thread %lld of block %lld %s %lld %s",
                  static_cast<long long>(fiber.machine.thread), static_cast<long long>(fiber.machine.block), verb,
                  static_cast<long long>(nbytes), what);
    fail(text);
  }

  void fail(const char* text) {
    if (fault_.empty()) fault_ = text;
  }

  const GridCall& call_;
  std::mt19937_64 random_;
  std::vector<Fiber> fibers_;
  std::vector<char> shared_;
  std::vector<SharedByte> shared_bytes_;
  std::string fault_;
  void* scheduler_ = nullptr;
  static inline thread_local Fiber* current_ = nullptr;
};

}  // namespace

std::string run_emulated_grid(const GridCall& call) { return Grid(call).run(); }

}  // namespace pellucid
