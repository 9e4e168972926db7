#include "distributed/segment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pellucid::distributed {

namespace {

constexpr size_t kSlotStride = kHeaderBytes + kSlotBytes;

[[noreturn]] void raise(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Mapping::Mapping(int descriptor, size_t nbytes) : nbytes_(nbytes) {
  void* mapped = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) raise("cannot map the ranks' shared memory");
  data_ = static_cast<char*>(mapped);
}

Mapping::~Mapping() { munmap(data_, nbytes_); }

int make_shared_file(size_t nbytes) {
  const int descriptor = memfd_create("pellucid", MFD_CLOEXEC);
  if (descriptor < 0) raise("cannot make shared memory");
  if (ftruncate(descriptor, static_cast<off_t>(nbytes)) != 0) {
    close(descriptor);
    raise("cannot make shared memory");
  }
  return descriptor;
}

size_t Segment::bytes_for(int size) {
  const auto ranks = static_cast<size_t>(size);
  return ranks * (sizeof(RankPage) + 2 * kSlotStride + ranks * sizeof(Mailbox));
}

char* Segment::slot(int rank, uint32_t phase) const {
  const auto ranks = static_cast<size_t>(size_);
  const size_t index = 2 * static_cast<size_t>(rank) + (phase & 1);
  return mapping_.data() + ranks * sizeof(RankPage) + index * kSlotStride;
}

Mailbox& Segment::mailbox(int source, int target) const {
  const auto ranks = static_cast<size_t>(size_);
  char* first = mapping_.data() + ranks * (sizeof(RankPage) + 2 * kSlotStride);
  return reinterpret_cast<Mailbox*>(first)[static_cast<size_t>(source) * ranks + static_cast<size_t>(target)];
}

}  // namespace pellucid::distributed
