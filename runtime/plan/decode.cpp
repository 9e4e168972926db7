#include "plan/decode.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace pellucid {

namespace {

[[noreturn]] [[gnu::cold]] void raise_damaged(const char* why) {
  raise(ErrorKind::Value,
        "the package's compiled data is damaged (%s).\n"
        "Rebuild or reinstall pellucid.",
        why);
}

}  // namespace

Code Decoder::peek() const {
  if (at_ == end_ || *at_ > static_cast<uint8_t>(Code::Complex)) raise_damaged("it ends early");
  return static_cast<Code>(*at_);
}

uint8_t Decoder::take_tag(Code expected) {
  if (peek() != expected) raise_damaged("a value has another type than expected");
  return *at_++;
}

bool Decoder::take_none() {
  if (peek() != Code::None) return false;
  ++at_;
  return true;
}

bool Decoder::boolean() {
  Code code = peek();
  if (code != Code::True && code != Code::False) raise_damaged("a truth value was expected");
  ++at_;
  return code == Code::True;
}

uint64_t Decoder::unsigned_integer() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) raise_damaged("it ends early");
    uint8_t byte = *at_++;
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  raise_damaged("an integer is too long");
}

std::span<const uint8_t> Decoder::block(size_t size) {
  if (size > static_cast<size_t>(end_ - at_)) raise_damaged("it ends early");
  const uint8_t* begin = at_;
  at_ += size;
  return {begin, size};
}

int64_t Decoder::integer() {
  take_tag(Code::Integer);
  uint64_t zigzag = unsigned_integer();
  return static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
}

double Decoder::number() {
  if (peek() == Code::Integer) return static_cast<double>(integer());
  take_tag(Code::Number);
  double value;
  std::memcpy(&value, block(sizeof value).data(), sizeof value);
  return value;
}

Complex Decoder::complex() {
  take_tag(Code::Complex);
  Complex value;
  std::memcpy(&value, block(sizeof value).data(), sizeof value);
  return value;
}

std::string_view Decoder::text() {
  take_tag(Code::Text);
  auto found = block(unsigned_integer());
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

std::span<const uint8_t> Decoder::bytes() {
  take_tag(Code::Bytes);
  return block(unsigned_integer());
}

Compressed Decoder::compressed() {
  expect_list(2);
  const auto size = integer_as<uint32_t>();
  const Compressed found{bytes(), size};
  // A damaged size asks for no memory.
  if (found.stream.size() < size / kMostInflated) raise_damaged("a compressed block is longer than its data");
  return found;
}

std::vector<uint8_t> Compressed::inflate() const {
  std::vector<uint8_t> out(size);
  uLongf written = size;
  if (size && (uncompress(out.data(), &written, stream.data(), stream.size()) != Z_OK || written != size))
    raise_damaged("a compressed block cannot be inflated");
  return out;
}

size_t Decoder::list() {
  take_tag(Code::List);
  uint64_t size = unsigned_integer();
  if (size > static_cast<size_t>(end_ - at_)) raise_damaged("a list is longer than the data");
  return size;
}

void Decoder::expect_list(size_t size) { expect_size(list(), size); }

void Decoder::expect_size(size_t found, size_t wanted) const {
  if (found != wanted) raise_damaged("a record has another number of fields than expected");
}

void Decoder::refuse_number() const { raise_damaged("a number is out of range"); }

void Decoder::refuse_code() const { raise_damaged("a code has no meaning"); }

uint16_t Decoder::register_number() {
  const int64_t number = integer();
  if (number == -1) return kNoRegister;
  if (number < 0 || number >= kNoRegister) refuse_number();
  return static_cast<uint16_t>(number);
}

uint8_t Decoder::code_below(int end) {
  const int64_t code = integer();
  if (code < 0 || code >= end) refuse_code();
  return static_cast<uint8_t>(code);
}

KernelId Decoder::kernel_id() {
  KernelId id;
  const auto found = bytes();
  expect_size(found.size(), id.size());
  std::ranges::copy(found, id.begin());
  return id;
}

Literal Decoder::literal() {
  Literal out{.tag = peek()};
  switch (out.tag) {
    case Code::None: take_none(); break;
    case Code::False:
    case Code::True: out.integer = boolean(); break;
    case Code::Integer: out.integer = integer(); break;
    case Code::Number: out.number = number(); break;
    case Code::Complex: out.complex = complex(); break;
    case Code::Text: out.text = text(); break;
    case Code::Bytes:
    case Code::List: raise_damaged("a number or a text was expected");
  }
  return out;
}

Decoder Decoder::nested() {
  const uint8_t* begin = at_;
  skip();
  return Decoder(std::span(begin, at_));
}

void Decoder::skip() {
  size_t open = 1;  // values still to be skipped; lists add their items, so nesting needs no recursion
  while (open--) {
    switch (peek()) {
      case Code::None:
      case Code::False:
      case Code::True: ++at_; break;
      case Code::Integer: integer(); break;
      case Code::Number: number(); break;
      case Code::Text: text(); break;
      case Code::Bytes: bytes(); break;
      case Code::List: open += list(); break;
      case Code::Complex:
        ++at_;
        block(2 * sizeof(double));
        break;
    }
  }
}

void Encoder::unsigned_integer(uint64_t value) {
  for (; value > 0x7F; value >>= 7) data_.push_back(static_cast<char>((value & 0x7F) | 0x80));
  data_.push_back(static_cast<char>(value));
}

void Encoder::integer(int64_t value) {
  put(Code::Integer);
  unsigned_integer(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void Encoder::number(double value) {
  put(Code::Number);
  data_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void Encoder::complex(double real, double imag) {
  put(Code::Complex);
  data_.append(reinterpret_cast<const char*>(&real), sizeof real);
  data_.append(reinterpret_cast<const char*>(&imag), sizeof imag);
}

void Encoder::text(std::string_view value) {
  put(Code::Text);
  unsigned_integer(value.size());
  data_.append(value);
}

void Encoder::bytes(std::string_view value) {
  put(Code::Bytes);
  unsigned_integer(value.size());
  data_.append(value);
}

void Encoder::list(size_t size) {
  put(Code::List);
  unsigned_integer(size);
}

}  // namespace pellucid
