// The characters of a schema's text, read from left to right. Internal to the parser (schema.cpp, schema_default.cpp).
#pragma once

#include <cctype>
#include <string_view>

#include "core/error.h"

namespace pellucid {

class SchemaReader {
 public:
  explicit SchemaReader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const char* expectation) const {
    raise(ErrorKind::Runtime, "cannot read the schema at character %zu: %s\n  %.*s\n  %*s^", position_, expectation,
          static_cast<int>(text_.size()), text_.data(), static_cast<int>(position_), "");
  }
  [[noreturn]] void fail_at(size_t position, const char* expectation) {
    position_ = position;
    fail(expectation);
  }

  size_t position() const { return position_; }
  bool at_end() const { return position_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  bool at_digit() const { return std::isdigit(static_cast<unsigned char>(peek())); }
  char take() { return text_[position_++]; }
  std::string_view rest() const { return text_.substr(position_); }
  std::string_view since(size_t begin) const { return text_.substr(begin, position_ - begin); }
  void advance(size_t count) { position_ += count; }
  void skip() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(peek()))) ++position_;
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void expect(char token) {
    skip();
    if (peek() != token) {
      const char expectation[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', '\'', token, '\'', '\0'};
      fail(expectation);
    }
    ++position_;
  }
  // Letters, digits and underscores; may be empty.
  std::string_view word() {
    skip();
    const size_t start = position_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_') ++position_;
    return since(start);
  }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace pellucid
