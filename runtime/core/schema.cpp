#include "core/schema.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "abi/limits.h"
#include "core/schema_default.h"

namespace pellucid {
namespace {

// The first word of the types of classes that C++ libraries register.
constexpr std::string_view kClassWord = "__torch__";

class Parser : private SchemaReader {
 public:
  explicit Parser(std::string_view text) : SchemaReader(text) { schema_.text = std::string(text); }

  Schema parse() {
    parse_name();
    expect('(');
    parse_arguments();
    if (!accept("->")) fail("expected '->' and the result types");
    schema_.returns_begin = here();
    parse_returns();
    skip();
    if (!at_end()) fail("unexpected text after the result types");
    return std::move(schema_);
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(position()); }

  // "Tensor", "Dict(str, Tensor)", "__torch__.torch.classes.my.Stack".
  std::string_view type_word() {
    const size_t start = position();
    if (word() == "Dict" && peek() == '(') {
      while (!at_end() && peek() != ')') take();
      expect(')');
    }
    while (since(start).starts_with(kClassWord) && peek() == '.') {
      take();
      word();
    }
    return since(start);
  }

  void parse_name() {
    std::string_view first = word();
    if (first.empty()) fail("expected the op's name");
    if (accept("::")) {
      schema_.name_space = first;
      first = word();
    }
    schema_.name = first;
    if (accept(".")) {
      const std::string_view overload = word();
      if (overload.empty()) fail("expected the overload's name after '.'");
      schema_.overload = overload;
    }
  }

  struct ParsedType {
    ArgType type = ArgType::Object;
    bool optional = false, is_list = false, aliased = false, written = false;
    int8_t list_size = 0;
    TextRange written_range;
    std::string text, alias;
  };

  // "(a)", "(a!)", "(a -> *)", "(a|b)": which memory a result shares with an argument, and whether it is written.
  void parse_alias(ParsedType& type) {
    if (peek() != '(') return;
    take();
    type.aliased = true;
    const size_t start = position();
    while (peek() != ')') {
      if (at_end()) fail("the alias annotation is not closed");
      type.written |= take() == '!';
    }
    type.alias = since(start);
    take();
  }

  ParsedType parse_type() {
    ParsedType result;
    skip();
    result.written_range.begin = here();
    const std::string_view base = type_word();
    if (base.empty()) fail("expected a type");
    result.text = base;
    result.type = scalar_type(base);
    parse_alias(result);
    if (result.type == ArgType::Tensor && peek() == '|' && accept("|Scalar")) {
      result.type = ArgType::TensorOrScalar;
      result.text += "|Scalar";
    }
    if (result.type == ArgType::Int && peek() == '|' && accept("|SymInt")) {
      result.type = ArgType::SymInt;
      result.text += "|SymInt";
    }
    accept_optional(result);
    if (peek() == '[') parse_list_suffix(result, std::exchange(result.optional, false));
    result.written_range.end = here();
    return result;
  }

  void accept_optional(ParsedType& result) {
    if (peek() != '?') return;
    take();
    result.optional = true;
    result.text += '?';
  }

  void parse_list_suffix(ParsedType& result, bool optional_element) {
    take();
    int size = 0;
    while (at_digit()) {
      size = size * 10 + (take() - '0');
      if (size > std::numeric_limits<int8_t>::max()) fail("a list type has at most 127 elements");
    }
    expect(']');
    result.is_list = true;
    result.list_size = static_cast<int8_t>(size);
    result.text += size ? "[" + std::to_string(size) + "]" : "[]";
    const ArgTypeFacts& element = facts_of(result.type);
    result.type = optional_element ? element.list_of_optional : element.list;
    parse_alias(result);
    accept_optional(result);
  }

  ArgType scalar_type(std::string_view base) {
    const auto found = std::ranges::find(kArgTypes, base, &ArgTypeFacts::text);
    if (found != std::end(kArgTypes)) return static_cast<ArgType>(found - std::begin(kArgTypes));
    if (std::ranges::find(kObjectWords, base) == std::end(kObjectWords) && !base.starts_with("Dict(") &&
        !base.starts_with(kClassWord))
      fail_at(position() - base.size(), "expected a type, such as Tensor, int, float[] or ScalarType?");
    return ArgType::Object;
  }

  void parse_arguments() {
    bool keyword_only = false;
    if (accept(")")) return;
    do {
      if (accept("*")) {
        keyword_only = true;
        continue;
      }
      parse_argument(keyword_only);
    } while (accept(","));
    expect(')');
  }

  void parse_argument(bool keyword_only) {
    if (schema_.arguments.size() == kMaxArguments) fail("an op has at most 32 arguments; pass lists");
    const ParsedType type = parse_type();
    Argument argument;
    argument.type = type.type;
    argument.type_text = type.text;
    argument.optional = type.optional;
    argument.aliased = type.aliased;
    argument.written = type.written;
    argument.alias = type.alias;
    argument.list_size = type.list_size;
    argument.keyword_only = keyword_only;
    argument.structural = facts_of(type.type).is_static;
    argument.written_type = type.written_range;
    skip();
    if (at_digit()) fail("expected the argument's name, which begins with a letter");
    const size_t begin = position();
    argument.name = word();
    if (argument.name.empty()) fail("expected the argument's name");
    if (accept("=")) {
      argument.has_default = true;
      argument.default_value = read_default(*this, argument, schema_.owned);
    } else if (!keyword_only && !schema_.arguments.empty() && schema_.arguments.back().has_default) {
      fail_at(begin, "expected a default, as the argument before has one");
    }
    if (facts_of(type.type).holds_tensors) schema_.tensor_arguments |= 1u << schema_.arguments.size();
    if (!keyword_only) ++schema_.num_positional;
    schema_.arguments.push_back(std::move(argument));
  }

  void parse_returns() {
    if (!accept("(")) return add_return();
    if (accept(")")) return;
    do add_return();
    while (accept(","));
    expect(')');
  }

  void add_return() {
    const ParsedType type = parse_type();
    Return result;
    result.type = type.type;
    result.is_list = type.is_list;
    result.aliased = type.aliased;
    result.written = type.written;
    result.alias = type.alias;
    result.type_text = type.text;
    skip();
    if (peek() != ',' && peek() != ')') result.name = word();
    if (schema_.returns.size() == kMaxReturns) fail("an op has at most 8 results; return a list");
    schema_.returns.push_back(std::move(result));
  }

  Schema schema_;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace pellucid
