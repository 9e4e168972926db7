#include "device/emulated_grid.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "device/grid_matrices.h"
#include "device/shared_bytes.h"

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
constexpr uint32_t kAllLanes = 0xFFFFFFFF;
// Shared memory of a block: what every launch may have, and what one with more dynamic memory is allowed.
constexpr int64_t kSharedBytes = 48 << 10, kMostSharedBytes = 227 << 10;

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
  // Of the gather that it waits in.
  const char* function;
  uint64_t word;
  uint64_t* words;
  uint32_t lanes, arrived;
  bool orders;
  std::vector<Copy> copies;  // on their way
  std::unique_ptr<char[]> stack;
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
    variable_bytes_ = 0;
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
    for (SharedByte& byte : shared_bytes_) byte.forget_visits();
    return true;
  }

  bool has_left(const Fiber& fiber) const { return call_.ends_early && fiber.state == State::Done; }

  bool release_warp(std::span<Fiber> warp, uint32_t& time) {
    bool any = false;
    for (const Fiber& fiber : warp) {
      if (fiber.state != State::AtShuffle) continue;
      const uint32_t lanes = fiber.lanes;
      bool is_whole = true, is_warp = true;
      uint32_t arrived = 0;
      for (size_t lane = 0; lane < warp.size(); ++lane) {
        const bool is_here = warp[lane].state == State::AtShuffle && warp[lane].lanes == lanes;
        is_warp &= is_here || has_left(warp[lane]);
        if (!(lanes >> lane & 1)) continue;
        is_whole &= is_here || has_left(warp[lane]);
        arrived |= uint32_t{is_here} << lane;
      }
      if (!is_whole) continue;
      for (size_t lane = 0; lane < warp.size(); ++lane) {
        if (!(arrived >> lane & 1)) continue;
        if (std::strcmp(warp[lane].function, fiber.function)) return fail_apart(warp[lane], fiber), true;
        hand_out(warp, arrived, warp[lane]);
      }
      time += fiber.orders && is_warp;
      any = true;
    }
    return any;
  }

  static void hand_out(std::span<const Fiber> warp, uint32_t arrived, Fiber& to) {
    for (size_t lane = 0; lane < warp.size(); ++lane)
      if (arrived >> lane & 1) to.words[lane] = warp[lane].word;
    to.arrived = arrived;
    to.state = State::Ready;
  }

  void fail_apart(const Fiber& fiber, const Fiber& other) {
    const std::string what = std::string("calls ") + fiber.function + " while another lane of its warp calls ";
    fail(fiber, (what + other.function).c_str());
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
    gather(machine, "shuffle", word, kAllLanes, false, words);
    return words[(machine->thread ^ mask) % kWarp];
  }

  static uint32_t gather(GridMachine* machine, const char* function, uint64_t word, uint32_t lanes, bool orders,
                         uint64_t* words) {
    Fiber& fiber = fiber_of(machine);
    fiber.function = function, fiber.word = word, fiber.words = words, fiber.lanes = lanes, fiber.orders = orders;
    fiber.grid->give_way(fiber, State::AtShuffle);
    return fiber.arrived;
  }

  static void update(GridMachine* machine, char* address, int64_t nbytes) {
    Fiber& fiber = fiber_of(machine);
    fiber.grid->touch_shared(fiber, address, nbytes, SharedAccess::Update);
    fiber.grid->leave_on_fault(fiber);
  }

  static constexpr const char* kUnaligned = "bytes that are not aligned";
  static bool is_aligned(const char* address, int64_t nbytes) {
    return reinterpret_cast<uintptr_t>(address) % static_cast<size_t>(nbytes) == 0;
  }

  // The destination holds NaN until the copy ends.
  static void copy(GridMachine* machine, char* to, const char* from, int64_t nbytes, int64_t used) {
    Fiber& fiber = fiber_of(machine);
    Grid& grid = *fiber.grid;
    if (!is_aligned(to, nbytes) || (used && !is_aligned(from, nbytes)))
      grid.fail_at(fiber, "copies", nbytes, kUnaligned);
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
    if (!is_aligned(row, 16)) fiber.grid->fail_at(fiber, "reads", 16, kUnaligned);
    fiber.grid->touch_shared(fiber, row, 16, SharedAccess::ReadForWarp);
    fiber.grid->leave_on_fault(fiber);
    uint64_t rows[kWarp];
    gather(machine, "load_matrices", reinterpret_cast<uint64_t>(row), kAllLanes, false, rows);
    matrix_words(rows, machine->thread % kWarp, transposed != 0, words);
  }

  static void multiply_matrices(GridMachine* machine, uint32_t* words, int64_t kind) {
    uint64_t shown[kWarp];
    gather(machine, "multiply_matrices", reinterpret_cast<uint64_t>(words), kAllLanes, false, shown);
    uint32_t sums[4];
    matrix_sums(shown, machine->thread % kWarp, static_cast<GridMatrix>(kind), sums);
    gather(machine, "multiply_matrices", 0, kAllLanes, false, shown);  // until all lanes have read
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
    // Generated code promises this much; the compiler of CUDA C++ reports unaligned structures as one access.
    if (!grid.call_.ends_early && !is_aligned(address, std::min<int64_t>(nbytes, 16)))
      grid.fail_at(fiber, writes ? "writes" : "reads", nbytes, kUnaligned);
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
    const auto warp = fiber.machine.thread / kWarp;
    const Visit visit{static_cast<int16_t>(fiber.machine.thread), static_cast<int16_t>(warp),
                      times_[static_cast<size_t>(warp)]};
    const bool writes = access == SharedAccess::Write || access == SharedAccess::Update;
    const char* const verb = writes ? "writes" : "reads";
    const int64_t first = place_of(fiber, address, nbytes);
    if (first < 0) return fail_at(fiber, verb, nbytes, "bytes outside of shared memory");
    for (int64_t k = first; k < first + nbytes; ++k) {
      SharedByte& byte = shared_bytes_[static_cast<size_t>(k)];
      variable_bytes_ += writes && !byte.is_written && k >= call_.shared_bytes;
      if (const char* const what = byte.visit(access, visit)) return fail_at(fiber, verb, nbytes, what);
    }
    const int64_t most = call_.shared_bytes < kSharedBytes ? kSharedBytes : kMostSharedBytes;
    if (variable_bytes_ > std::min(kSharedBytes, most - call_.shared_bytes))
      fail_at(fiber, verb, nbytes, "bytes of more shared memory than a GPU gives a block: 48 KiB without permission");
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
  int64_t variable_bytes_ = 0;            // of the variables that the block has written
  std::vector<uint32_t> times_;           // of the warps
  std::string fault_;
  void* scheduler_ = nullptr;
  static inline thread_local Fiber* current_ = nullptr;
};

}  // namespace

std::string run_emulated_grid(const GridCall& call) { return Grid(call).run(); }

}  // namespace pellucid
