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
  explicit ProgramTable(std::string_view encoded) : own_(encoded.begin(), encoded.end()) {}
  explicit ProgramTable(Compressed frozen) : frozen_(frozen) {}

  const TileProgram* find(const KernelId& id) {
    std::lock_guard lock(mutex);
    if (!read_) read();
    const auto found = programs_.find(id);
    if (found == programs_.end()) return nullptr;
    if (!found->second.program) {
      auto made = std::make_unique<TileProgram>();
      decode_tile_program(Decoder(found->second.encoded), *made);
      found->second.program = std::move(made);
    }
    return found->second.program.get();
  }

 private:
  struct Known {
    std::span<const uint8_t> encoded;
    std::unique_ptr<TileProgram> program;
  };

  void read() {
    if (frozen_.size) own_ = frozen_.inflate();
    std::map<KernelId, Known> programs;
    Decoder in(own_);
    for (size_t count = in.list(); count--;) {
      const auto given = in.record<encoded::Program>();
      programs[given.kernel].encoded = given.encoded;
    }
    programs_ = std::move(programs);
    read_ = true;
  }

  Compressed frozen_;  // inflated into own_ when it is first read
  std::vector<uint8_t> own_;
  bool read_ = false;
  std::map<KernelId, Known> programs_;
};

namespace {

ProgramTable* file_programs = nullptr;

constinit thread_local const ProgramScope* program_scope = nullptr;

}  // namespace

const TileProgram& AttachedProgram::get() {
  if (const TileProgram* known = program_.load(std::memory_order_acquire)) return *known;
  const TileProgram* found = table_ ? table_->find(id_) : nullptr;
  if (!found && file_programs) found = file_programs->find(id_);
  if (!found)
    raise(ErrorKind::Runtime, "a kernel that every pack holds is missing from this one; rebuild the kernel pack");
  program_.store(found, std::memory_order_release);
  return *found;
}

std::shared_ptr<ProgramTable> make_program_table(std::string_view encoded) {
  return std::make_shared<ProgramTable>(encoded);
}

void install_programs(Compressed frozen) { file_programs = new ProgramTable(frozen); }

ProgramScope::ProgramScope(std::shared_ptr<ProgramTable> table) : table_(std::move(table)), outer_(program_scope) {
  program_scope = this;
}
ProgramScope::~ProgramScope() { program_scope = outer_; }
std::shared_ptr<ProgramTable> ProgramScope::current() { return program_scope ? program_scope->table_ : nullptr; }

void attach_program(KernelRef& kernel) {
  kernel.program = std::make_shared<AttachedProgram>(kernel.id, ProgramScope::current());
}

}  // namespace pellucid
