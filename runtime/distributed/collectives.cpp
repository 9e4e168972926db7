// The collectives of a Group: what each rank writes to its slot in a phase, and what it reads from the other slots.
#include <algorithm>
#include <cstring>

#include "distributed/group.h"

namespace pellucid::distributed {

namespace {

constexpr auto kSlot = static_cast<int64_t>(kSlotBytes);
constexpr int64_t kDirectBytes = 64 * 1024;     // up to this operand size, every rank reads all of every other's
constexpr int64_t kDirectTraffic = 256 * 1024;  // unless all operands together exceed this
constexpr int64_t kCachedBytes = 512 * 1024;    // two slots of this size fit a rank's second-level cache
constexpr int64_t kReadBytes = 1024 * 1024;     // from this size on, operands are read without copies in slots
constexpr int64_t kReadPiece = 128 * 1024;      // per rank: the pieces of all ranks stay in the second-level cache
constexpr int64_t kPieceBytes = 4 * 1024;       // combined in the first-level cache, then copied to all ranks

int64_t item_bytes(const Call& call) { return static_cast<int64_t>(item_size(call.dtype)); }
int64_t total_bytes(const Call& call) { return call.count * item_bytes(call); }

void copy(char* target, const char* source, int64_t nbytes) {
  if (nbytes > 0 && target != source) std::memmove(target, source, static_cast<size_t>(nbytes));
}

// The slice of `nbytes` that one rank combines; slices begin and end at cache lines.
struct Slice {
  int64_t begin, length;
  static Slice of(int rank, int size, int64_t nbytes) {
    const int64_t step = (nbytes / 64 + size - 1) / size * 64 + 64;
    const int64_t begin = std::min(rank * step, nbytes);
    return {begin, std::min(step, nbytes - begin)};
  }
};

// The bytes per rank that fit a slot.
int64_t part_bytes(int size) { return kSlot / size / 64 * 64; }

}  // namespace

// Runs at least one phase, because phases compare the headers.
template <class Write, class Read>
void Group::in_chunks(int64_t nbytes, int64_t limit, Write write, Read read) {
  int64_t offset = 0;
  do {
    const int64_t length = std::min(limit, nbytes - offset);
    write(offset, length, next_payload());
    meet();
    read(offset, length);
    offset += length;
  } while (offset < nbytes);
}

void Group::all_reduce(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  if (find_place(call).block >= 0) return all_reduce_in_place(call);
  if (reads_operands(nbytes)) return all_reduce_by_reading(call);
  if (nbytes > kDirectBytes || nbytes * size_ > kDirectTraffic) return all_reduce_in_slices(call);
  copy(next_payload(), call.input, nbytes);
  meet();
  combine(call.dtype, call.reduction, sources(0, call.input), factors_, call.output, call.count);
}

void Group::all_reduce_in_slices(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  // Chunks that fit the second-level cache. Where ranks share cores, each wait costs a time slice: use whole slots.
  const int64_t step = share_cores_ ? kSlot : kCachedBytes;
  for (int64_t offset = 0; offset < nbytes; offset += step) {
    const int64_t length = std::min(step, nbytes - offset);
    const Slice own = Slice::of(rank_, size_, length);
    const char* input = call.input + offset;
    char* output = call.output + offset;
    copy(next_payload(), input, own.begin);
    const int64_t end = own.begin + own.length;
    copy(next_payload() + end, input + end, length - end);
    meet();
    combine(call.dtype, call.reduction, sources(own.begin, input + own.begin), factors_, next_payload() + own.begin,
            own.length / item_bytes(call));
    meet();
    for (int rank = 0; rank < size_; ++rank) {
      const Slice slice = Slice::of(rank, size_, length);
      copy(output + slice.begin, payload(rank) + slice.begin, slice.length);
    }
  }
}

// The operands are in shared memory. Each rank combines its slice and writes it to every operand.
void Group::all_reduce_in_place(const Call& call) {
  const Place place = find_place(call);
  const Block& block = blocks_[static_cast<size_t>(place.block)];
  const Slice own = Slice::of(rank_, size_, total_bytes(call));
  meet();
  std::vector<const char*> operands(static_cast<size_t>(size_));
  for (int64_t done = 0; done < own.length; done += kPieceBytes) {
    const int64_t length = std::min(kPieceBytes, own.length - done);
    const int64_t offset = place.offset + own.begin + done;
    for (int rank = 0; rank < size_; ++rank) operands[static_cast<size_t>(rank)] = block.part(rank) + offset;
    char* result = block.part(rank_) + offset;
    combine(call.dtype, call.reduction, operands, factors_, result, length / item_bytes(call));
    for (int rank = 0; rank < size_; ++rank) copy(block.part(rank) + offset, result, length);
  }
  meet();
}

void Group::reduce(const Call& call) {
  const bool is_root = call.root == rank_;
  in_chunks(
      total_bytes(call), kSlot,
      [&](int64_t offset, int64_t length, char* slot) {
        if (!is_root) copy(slot, call.input + offset, length);
      },
      [&](int64_t offset, int64_t length) {
        if (is_root)
          combine(call.dtype, call.reduction, sources(0, call.input + offset), factors_, call.output + offset,
                  length / item_bytes(call));
      });
}

void Group::broadcast(const Call& call) {
  const bool is_root = call.root == rank_;
  in_chunks(
      total_bytes(call), kSlot,
      [&](int64_t offset, int64_t length, char* slot) {
        if (is_root) copy(slot, call.input + offset, length);
      },
      [&](int64_t offset, int64_t length) {
        if (!is_root) copy(call.output + offset, payload(call.root), length);
      });
}

void Group::gather(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  if (call.kind == Kind::AllGather && reads_operands(nbytes)) return gather_by_reading(call);
  const bool gets = call.kind == Kind::AllGather || call.root == rank_;
  in_chunks(
      nbytes, kSlot, [&](int64_t offset, int64_t length, char* slot) { copy(slot, call.input + offset, length); },
      [&](int64_t offset, int64_t length) {
        for (int rank = 0; gets && rank < size_; ++rank)
          copy(call.output + rank * nbytes + offset, payload(rank), length);
      });
}

void Group::scatter(const Call& call) {
  const int64_t nbytes = total_bytes(call), limit = part_bytes(size_);
  in_chunks(
      nbytes, limit,
      [&](int64_t offset, int64_t length, char* slot) {
        for (int rank = 0; call.root == rank_ && rank < size_; ++rank)
          copy(slot + rank * limit, call.input + rank * nbytes + offset, length);
      },
      [&](int64_t offset, int64_t length) { copy(call.output + offset, payload(call.root) + rank_ * limit, length); });
}

void Group::reduce_scatter(const Call& call) {
  const int64_t nbytes = total_bytes(call), limit = part_bytes(size_);
  if (reads_operands(nbytes)) return reduce_scatter_by_reading(call);
  in_chunks(
      nbytes, limit,
      [&](int64_t offset, int64_t length, char* slot) {
        for (int rank = 0; rank < size_; ++rank)
          if (rank != rank_) copy(slot + rank * limit, call.input + rank * nbytes + offset, length);
      },
      [&](int64_t offset, int64_t length) {
        combine(call.dtype, call.reduction, sources(rank_ * limit, call.input + rank_ * nbytes + offset), factors_,
                call.output + offset, length / item_bytes(call));
      });
}

bool Group::reads_operands(int64_t nbytes) {
  if (nbytes < kReadBytes || size_ == 1) return false;
  if (can_read_) return *can_read_;
  // Every rank tries to read a word of every other rank; then all ranks exchange whether they could.
  *reinterpret_cast<int64_t*>(next_payload()) = reinterpret_cast<int64_t>(next_payload());
  meet();
  bool can = true;
  for (int rank = 0; rank < size_; ++rank) {
    int64_t word = 0;
    const auto address = *reinterpret_cast<const int64_t*>(payload(rank));
    can &= processes_.read(rank, reinterpret_cast<const char*>(address), reinterpret_cast<char*>(&word), sizeof word) &&
           word == address;
  }
  *next_payload() = can;
  meet();
  for (int rank = 0; rank < size_; ++rank) can &= *payload(rank);
  can_read_ = can;
  return can;
}

void Group::read_from(int rank, const char* address, char* target, int64_t nbytes) const {
  if (nbytes > 0 && !processes_.read(rank, address, target, static_cast<size_t>(nbytes)))
    throw Failure{Cause::Ended, {rank}};
}

void Group::combine_read(const Call& call, int64_t begin, int64_t nbytes, char* output) {
  const int64_t piece = std::min(kReadPiece, nbytes);
  std::vector<char> buffer(static_cast<size_t>(piece * size_));
  std::vector<const char*> operands(static_cast<size_t>(size_));
  for (int64_t done = 0; done < nbytes; done += piece) {
    const int64_t length = std::min(piece, nbytes - done), at = begin + done;
    for (int rank = 0; rank < size_; ++rank) {
      const auto index = static_cast<size_t>(rank);
      char* copied = buffer.data() + rank * piece;
      if (rank != rank_) read_from(rank, inputs_[index] + at, copied, length);
      operands[index] = rank == rank_ ? call.input + at : copied;
    }
    combine(call.dtype, call.reduction, operands, factors_, output + done, length / item_bytes(call));
  }
}

// The last phase ensures that no operand changes before all ranks have read it.
void Group::all_reduce_by_reading(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  const Slice own = Slice::of(rank_, size_, nbytes);
  meet();
  combine_read(call, own.begin, own.length, call.output + own.begin);
  meet();
  for (int step = 1; step < size_; ++step) {
    const int rank = (rank_ + step) % size_;
    const Slice slice = Slice::of(rank, size_, nbytes);
    read_from(rank, outputs_[static_cast<size_t>(rank)] + slice.begin, call.output + slice.begin, slice.length);
  }
  meet();
}

void Group::gather_by_reading(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  meet();
  copy(call.output + rank_ * nbytes, call.input, nbytes);
  for (int step = 1; step < size_; ++step) {
    const int rank = (rank_ + step) % size_;
    read_from(rank, inputs_[static_cast<size_t>(rank)], call.output + rank * nbytes, nbytes);
  }
  meet();
}

void Group::reduce_scatter_by_reading(const Call& call) {
  const int64_t nbytes = total_bytes(call);
  meet();
  combine_read(call, rank_ * nbytes, nbytes, call.output);
  meet();
}

// The first phase exchanges all sizes. Data follows in as many phases as the largest message needs.
void Group::all_to_all(const char* input, std::span<const int64_t> input_sizes, char* output,
                       std::span<const int64_t> output_sizes, double timeout) {
  const auto ranks = static_cast<size_t>(size_);
  Call call;
  call.kind = Kind::AllToAll;
  begin(call, timeout);
  std::memcpy(next_payload(), input_sizes.data(), input_sizes.size_bytes());
  std::memcpy(next_payload() + input_sizes.size_bytes(), output_sizes.data(), output_sizes.size_bytes());
  meet();
  const auto table = [&](int rank) { return reinterpret_cast<const int64_t*>(payload(rank)); };
  int64_t largest = 0;
  std::vector<int> different;
  for (int from = 0; from < size_; ++from)
    for (int to = 0; to < size_; ++to) {
      const int64_t given = table(from)[to], expected = table(to)[ranks + static_cast<size_t>(from)];
      largest = std::max(largest, given);
      if (given != expected) different.insert(different.end(), {from, to});
    }
  if (!different.empty()) throw Failure{Cause::Mismatch, different};
  const int64_t limit = part_bytes(size_);
  for (int64_t offset = 0; offset < largest; offset += limit) {
    const auto each = [&](std::span<const int64_t> sizes, auto move) {
      int64_t begin = 0;
      for (int rank = 0; rank < size_; ++rank) {
        const int64_t size = sizes[static_cast<size_t>(rank)];
        if (size > offset) move(rank, begin + offset, std::min(limit, size - offset));
        begin += size;
      }
    };
    char* slot = next_payload();
    each(input_sizes, [&](int rank, int64_t at, int64_t length) { copy(slot + rank * limit, input + at, length); });
    meet();
    each(output_sizes,
         [&](int rank, int64_t at, int64_t length) { copy(output + at, payload(rank) + rank_ * limit, length); });
  }
}

}  // namespace pellucid::distributed
