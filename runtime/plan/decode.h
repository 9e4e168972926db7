// The tagged binary encoding shared with Python (src/pellucid_compiler/abi/encode.py): each value is a tag byte
// and its payload; lists nest. The frozen file, plans and trace requests use it.
//
// A Decoder is a cursor over borrowed bytes; the strings and byte blocks it returns point into them. Every read
// is checked: damaged data raises a Value error and is never trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/codes.h"
#include "abi/dtypes.h"
#include "abi/limits.h"
#include "core/value.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// A number, a string or None, for fields that accept any of them; `tag` says which.
struct Literal {
  Code tag = Code::None;
  int64_t integer = 0;  // also bools
  double number = 0;
  Complex complex{};
  std::string_view text;
};

// A block of the frozen file as zlib compressed it; it stays mapped for the life of the process.
struct Compressed {
  std::span<const uint8_t> stream;
  size_t size = 0;  // inflated

  std::vector<uint8_t> inflate() const;  // raises a Value error for damaged data
};

class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t> data) : at_(data.data()), end_(data.data() + data.size()) {}
  explicit Decoder(std::string_view data)
      : Decoder(std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size())) {}

  bool done() const { return at_ == end_; }
  Code peek() const;
  bool take_none();  // if the next value is None, skips it and returns true
  bool boolean();
  int64_t integer();
  double number();  // accepts an integer too
  Complex complex();
  std::string_view text();
  std::span<const uint8_t> bytes();
  size_t list();                  // the number of values that follow
  void expect_list(size_t size);  // expects a list of exactly `size` values
  void skip();

  // Used by the generated records (plan/records.h).
  template <class T>
  T integer_as();  // checks that the integer fits into T
  uint64_t bits() { return static_cast<uint64_t>(integer()); }
  uint16_t register_number();  // -1: kNoRegister
  template <class E>
  E code() {
    return static_cast<E>(code_below(kNumCodes<E>));
  }
  KernelId kernel_id();
  Compressed compressed();
  Literal literal();
  Decoder nested();  // of the next value, which is skipped
  template <class T, class Read>
  std::vector<T> list_of(Read read);
  template <class T, class Read>
  std::optional<T> optional(Read read);
  template <class Pair, class First, class Second>
  Pair pair(First first, Second second);
  template <class Pair, class First, class Second>
  std::vector<Pair> flat_pairs(First first, Second second);
  template <class Record>
  Record record() {
    return fields<Record>(list());
  }
  template <class Record>
  Record fields(size_t count) {
    expect_size(count, Record::kFields);
    return Record::read(*this);
  }
  [[noreturn]] void refuse_code() const;

  std::string_view rest() const {  // the unread bytes
    return {reinterpret_cast<const char*>(at_), static_cast<size_t>(end_ - at_)};
  }

 private:
  uint8_t take_tag(Code expected);
  uint64_t unsigned_integer();
  std::span<const uint8_t> block(size_t size);
  uint8_t code_below(int end);
  void expect_size(size_t found, size_t wanted) const;
  [[noreturn]] void refuse_number() const;

  const uint8_t* at_;
  const uint8_t* end_;
};

template <class T>
T Decoder::integer_as() {
  const int64_t value = integer();
  if (!std::in_range<T>(value)) refuse_number();
  return static_cast<T>(value);
}

template <class T, class Read>
std::vector<T> Decoder::list_of(Read read) {
  const size_t count = list();
  std::vector<T> out;
  out.reserve(count);
  for (size_t k = 0; k < count; ++k) out.push_back(read());
  return out;
}

template <class T, class Read>
std::optional<T> Decoder::optional(Read read) {
  if (take_none()) return std::nullopt;
  return read();
}

template <class Pair, class First, class Second>
Pair Decoder::pair(First first, Second second) {
  expect_list(2);
  auto head = first();  // before the second one, which follows it
  return {std::move(head), second()};
}

template <class Pair, class First, class Second>
std::vector<Pair> Decoder::flat_pairs(First first, Second second) {
  const size_t count = list();
  expect_size(count % 2, 0);
  std::vector<Pair> out;
  out.reserve(count / 2);
  for (size_t k = 0; k < count; k += 2) {
    const auto head = first();
    out.push_back({head, second()});
  }
  return out;
}

class Encoder {
 public:
  void none() { put(Code::None); }
  template <class E>
  void code(E value) {
    integer(static_cast<int64_t>(value));
  }
  void boolean(bool value) { put(value ? Code::True : Code::False); }
  void integer(int64_t value);
  void number(double value);
  void complex(double real, double imag);
  void text(std::string_view value);
  void bytes(std::string_view value);
  void list(size_t size);
  // Used by the generated records.
  template <class T, class Write>
  void list_of(const T& items, Write write) {
    list(items.size());
    for (const auto& item : items) write(item);
  }
  template <class Record>
  void record(const Record& value) {
    value.write(*this);
  }
  const std::string& data() const { return data_; }

 private:
  void put(Code code) { data_.push_back(static_cast<char>(code)); }
  void unsigned_integer(uint64_t value);

  std::string data_;
};

}  // namespace pellucid
