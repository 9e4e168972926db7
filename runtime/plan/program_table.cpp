// The tables of tile programs, by the ids of the kernels that they replace.
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.h"
#include "plan/records.h"
#include "plan/tile_program.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

namespace {

FORK_SAFE ForkSafeMutex mutex;  // of all tables

}  // namespace

class ProgramTable {
 public:
  ProgramTable() = default;
  explicit ProgramTable(std::string_view encoded) : own_(encoded) {
    add({reinterpret_cast<const uint8_t*>(own_.data()), own_.size()});
  }

  void add(std::span<const uint8_t> block) {
    std::lock_guard lock(mutex);
    unread_.push_back(block);
  }

  const TileProgram* find(const KernelId& id) {
    std::lock_guard lock(mutex);
    for (const auto block : std::exchange(unread_, {})) read(block);
    const auto found = programs_.find(id);
    if (found == programs_.end()) return nullptr;
    if (!found->second.program) {
      found->second.program = std::make_unique<TileProgram>();
      decode_tile_program(Decoder(found->second.encoded), *found->second.program);
    }
    return found->second.program.get();
  }

 private:
  struct Known {
    std::span<const uint8_t> encoded;
    std::unique_ptr<TileProgram> program;
  };

  void read(std::span<const uint8_t> block) {
    Decoder in(block);
    for (size_t count = in.list(); count--;) {
      const auto given = in.record<encoded::Program>();
      programs_[given.kernel].encoded = given.encoded;
    }
  }

  const std::string own_;
  std::vector<std::span<const uint8_t>> unread_;
  std::map<KernelId, Known> programs_;
};

namespace {

ProgramTable& file_programs() {
  static auto* made = new ProgramTable;
  return *made;
}

constinit thread_local const ProgramScope* program_scope = nullptr;

}  // namespace

const TileProgram& AttachedProgram::get() {
  if (const TileProgram* known = program_.load(std::memory_order_acquire)) return *known;
  const TileProgram* found = table_ ? table_->find(id_) : nullptr;
  if (!found) found = file_programs().find(id_);
  if (!found)
    raise(ErrorKind::Runtime, "a kernel that every pack holds is missing from this one; rebuild the kernel pack");
  program_.store(found, std::memory_order_release);
  return *found;
}

std::shared_ptr<ProgramTable> make_program_table(std::string_view encoded) {
  return std::make_shared<ProgramTable>(encoded);
}

void add_programs(std::span<const uint8_t> encoded) { file_programs().add(encoded); }

ProgramScope::ProgramScope(std::shared_ptr<ProgramTable> table) : table_(std::move(table)), outer_(program_scope) {
  program_scope = this;
}
ProgramScope::~ProgramScope() { program_scope = outer_; }
std::shared_ptr<ProgramTable> ProgramScope::current() { return program_scope ? program_scope->table_ : nullptr; }

void attach_program(KernelRef& kernel) {
  kernel.program = std::make_shared<AttachedProgram>(kernel.id, ProgramScope::current());
}

}  // namespace pellucid
