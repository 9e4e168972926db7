// The tagged binary encoding shared with Python (src/pellucid_compiler/abi/encode.py): one tag byte
// and its payload per value; lists nest. Frozen file, plans and trace requests are written in it.
//
// A Decoder is a cursor over borrowed bytes; strings and byte blocks it returns point into them.
// Every read is checked: damaged data raises a Value error and is never trusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/value.h"

namespace pellucid {

enum class Code : uint8_t { None, False, True, Integer, Number, Text, Bytes, List, Complex };

class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t> data) : at_(data.data()), end_(data.data() + data.size()) {}
  explicit Decoder(std::string_view data)
      : Decoder(std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size())) {}

  bool done() const { return at_ == end_; }
  Code peek() const;
  bool take_none();  // true, and past it, when the next value is None
  bool boolean();
  int64_t integer();
  double number();  // an integer is accepted too
  Complex complex();
  std::string_view text();
  std::span<const uint8_t> bytes();
  size_t list();                  // the number of values that follow
  void expect_list(size_t size);  // a list of exactly `size` values
  void skip();
  std::string_view rest() const {  // what was not read yet
    return {reinterpret_cast<const char*>(at_), static_cast<size_t>(end_ - at_)};
  }

 private:
  uint8_t take_tag(Code expected);
  uint64_t unsigned_integer();
  std::span<const uint8_t> block(size_t size);

  const uint8_t* at_;
  const uint8_t* end_;
};

class Encoder {
 public:
  void none() { put(Code::None); }
  void boolean(bool value) { put(value ? Code::True : Code::False); }
  void integer(int64_t value);
  void number(double value);
  void complex(double real, double imag);
  void text(std::string_view value);
  void bytes(std::string_view value);
  void list(size_t size);
  const std::string& data() const { return data_; }

 private:
  void put(Code code) { data_.push_back(static_cast<char>(code)); }
  void unsigned_integer(uint64_t value);

  std::string data_;
};

}  // namespace pellucid
