#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <fstream>

#include "../sanitizers/check.h"
#include "kernels/code_memory.h"
#include "kernels/conversion.h"
#include "kernels/pack.h"
#include "test_kernels.h"

using namespace kernels_for_tests;

namespace {

// A pack of one kernel: `mov eax, 7; ret`, behind one byte of padding.
std::string pack_bytes() {
  const unsigned char code[] = {0x90, 0xB8, 7, 0, 0, 0, 0xC3};
  PackHeader header{};
  std::memcpy(header.magic, "PLCDPACK", 8);
  header.version = kPackVersion;
  header.count = 1;
  header.index_offset = sizeof(PackHeader);
  header.blobs_offset = 128;
  PackEntry entry{};
  entry.id.fill(3);
  unsigned char stored[64];
  uLongf size = sizeof stored;
  CHECK(compress(stored, &size, code, sizeof code) == Z_OK);
  entry.stored = static_cast<uint32_t>(size);
  entry.size = sizeof code;
  entry.entry = 1;
  std::string bytes(128 + size, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &entry, sizeof entry);
  std::memcpy(bytes.data() + 128, stored, size);
  return bytes;
}

std::string write_pack(const std::string& bytes) {
  char path[] = "/tmp/pellucid-pack-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

void open_bytes(const std::string& bytes) {
  const std::string path = write_pack(bytes);
  try {
    open_pack(path);
  } catch (...) {
    unlink(path.c_str());
    throw;
  }
  unlink(path.c_str());
}

}  // namespace

TEST(damaged_packs_are_refused) {
  std::string bytes = pack_bytes();
  CHECK_RAISES("shorter than its header", open_bytes("PLCD"));
  CHECK_RAISES("does not start with a pack's magic number", open_bytes(std::string(100, 'x')));
  std::string damaged = bytes;
  damaged[8] = 9;
  CHECK_RAISES("version 9", open_bytes(damaged));
  damaged = bytes;
  damaged[15] = 1;  // sixteen million kernels
  CHECK_RAISES("index is outside", open_bytes(damaged));
  damaged = bytes;
  damaged[64] = 4;  // the id: another kernel, with a wrong byte below
  damaged[130] = 1;
  open_bytes(damaged);
  KernelRef ref;
  ref.id.fill(3);
  ref.id[0] = 4;
  CHECK_RAISES("do not match their checksum", ref.get());
  CHECK_RAISES("cannot open", open_pack("/nonexistent/pack"));
}

TEST(room_of_code_that_cannot_be_filled_is_used_again) {
  const char* first = nullptr;
  const auto fail = [&](std::span<char> room) {
    first = room.data();
    raise(ErrorKind::Runtime, "no code");
  };
  CHECK_RAISES("no code", place_code(100, 0, fail));
  place_code(100, 0, [&](std::span<char> room) { CHECK(room.data() == first); });
  place_code(100, 0, [&](std::span<char> room) { CHECK(room.data() != first); });
}

TEST(kernels_come_from_the_pack_then_the_resolver_then_the_interpreter) {
  open_bytes(pack_bytes());
  KernelRef ref, foreign, interpreted;
  ref.id.fill(3);
  CHECK(ref.run(nullptr, nullptr, nullptr, nullptr) == 7);
  foreign.id.fill(9);
  set_kernel_resolver([](const KernelId& id) -> KernelFunction {
    if (id[0] != 9) return nullptr;
    return [](char* const*, const int64_t*, const int64_t*, const uint64_t*) -> int64_t { return 9; };
  });
  CHECK(foreign.run(nullptr, nullptr, nullptr, nullptr) == 9);
  CHECK_RAISES("no program to interpret", interpreted.run(nullptr, nullptr, nullptr, nullptr));
  set_program_interpreter([](void* program, char* const*, const int64_t*, const int64_t*, const uint64_t*) -> int64_t {
    return *static_cast<const int*>(program);
  });
  interpreted.program = std::make_shared<int>(11);
  CHECK(interpreted.run(nullptr, nullptr, nullptr, nullptr) == 11);
  set_program_interpreter(nullptr);
  set_kernel_resolver(nullptr);
}

TEST(conversions_wrap_and_round) {
  const auto through = [](DType to, DType from, auto value, auto result) {
    char out[16];
    convert(to, out, from, reinterpret_cast<const char*>(&value), {{1, 1}, {0, 0}, {0, 0}});
    std::memcpy(&result, out, sizeof result);
    return result;
  };
  CHECK(through(DType::UInt8, DType::Int64, int64_t{300}, uint8_t{}) == 44);
  CHECK(through(DType::Int32, DType::Float32, __builtin_nanf(""), int32_t{}) == INT32_MIN);
  CHECK(through(DType::Int64, DType::Float64, 1e300, int64_t{}) == INT64_MIN);
  CHECK(through(DType::Bool, DType::Float32, 0.5f, uint8_t{}) == 1);
  CHECK(through(DType::BFloat16, DType::Float32, 1.00390625f, uint16_t{}) == 0x3F80);  // a tie, to even
  CHECK(through(DType::Float16, DType::Float64, 65519.0, uint16_t{}) == 0x7BFF);
  CHECK(through(DType::Float32, DType::Float16, uint16_t{0x3C00}, 0.0f) == 1.0f);
  CHECK(through(DType::Float64, DType::Complex64, std::array<float, 2>{2, 3}, 0.0) == 2);
}
