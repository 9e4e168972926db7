#include "plan/register_program.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace pellucid {

namespace {

constexpr std::pair<std::string_view, Opcode> kOpcodes[] = {
    {"size", Opcode::Size},
    {"integer", Opcode::Integer},
    {"number", Opcode::Number},
    {"imaginary", Opcode::Imaginary},
    {"guard", Opcode::Guard},
    {"require", Opcode::Require},
    {"add", Opcode::Add},
    {"sub", Opcode::Sub},
    {"mul", Opcode::Mul},
    {"floordiv", Opcode::FloorDiv},
    {"mod", Opcode::Mod},
    {"minimum", Opcode::Min},
    {"maximum", Opcode::Max},
    {"neg", Opcode::Neg},
    {"abs", Opcode::Abs},
    {"sign", Opcode::Sign},
    {"lt", Opcode::Lt},
    {"le", Opcode::Le},
    {"eq", Opcode::Eq},
    {"ne", Opcode::Ne},
    {"and", Opcode::And},
    {"or", Opcode::Or},
    {"not", Opcode::Not},
    {"select", Opcode::Select},
    {"bitand", Opcode::BitAnd},
    {"bitor", Opcode::BitOr},
    {"bitxor", Opcode::BitXor},
    {"shl", Opcode::Shl},
    {"shr", Opcode::Shr},
    {"add.number", Opcode::NAdd},
    {"sub.number", Opcode::NSub},
    {"mul.number", Opcode::NMul},
    {"div.number", Opcode::NDiv},
    {"floordiv.number", Opcode::NFloorDiv},
    {"mod.number", Opcode::NMod},
    {"minimum.number", Opcode::NMin},
    {"maximum.number", Opcode::NMax},
    {"neg.number", Opcode::NNeg},
    {"abs.number", Opcode::NAbs},
    {"sign.number", Opcode::NSign},
    {"pow.number", Opcode::NPow},
    {"lt.number", Opcode::NLt},
    {"le.number", Opcode::NLe},
    {"eq.number", Opcode::NEq},
    {"ne.number", Opcode::NNe},
    {"floor.number", Opcode::NFloor},
    {"ceil.number", Opcode::NCeil},
    {"trunc.number", Opcode::NTrunc},
    {"round.number", Opcode::NRound},
    {"sqrt.number", Opcode::NSqrt},
    {"exp.number", Opcode::NExp},
    {"log.number", Opcode::NLog},
    {"isnan.number", Opcode::NIsNan},
    {"isinf.number", Opcode::NIsInf},
    {"to_number", Opcode::ToNumber},
    {"to_integer", Opcode::ToInteger},
    {"to_single", Opcode::ToSingle},
    {"not_zero", Opcode::NotZero},
    {"not_zero.number", Opcode::NumberNotZero},
};

Opcode parse_opcode(std::string_view name) {
  for (const auto& [known, opcode] : kOpcodes)
    if (known == name) return opcode;
  raise(ErrorKind::Value, "a plan uses the instruction '%.*s', which this runtime does not have.\nRebuild pellucid.",
        static_cast<int>(name.size()), name.data());
}

bool gives_number(Opcode op) {
  if (op == Opcode::Number || op == Opcode::Imaginary || op == Opcode::ToNumber || op == Opcode::ToSingle) return true;
  return op >= Opcode::NAdd && op <= Opcode::NLog && !(op >= Opcode::NLt && op <= Opcode::NNe);
}

uint16_t decode_register(Decoder& in) {
  int64_t number = in.integer();
  return number < 0 ? UINT16_MAX : static_cast<uint16_t>(number);
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t wrapping(uint64_t value) { return static_cast<int64_t>(value); }

int64_t to_integer(double value) {
  constexpr double kLimit = 9223372036854775808.0;
  return value >= -kLimit && value < kLimit ? static_cast<int64_t>(value) : INT64_MIN;
}

double floor_mod(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

const Value& argument_value(const OpCall& call, uint16_t argument, uint16_t element, Value& scratch) {
  const Value& value = call.args[argument];
  if (element == UINT16_MAX) return value;
  switch (value.tag) {
    case Tag::IntList: scratch = Value::of_int(value.integers[value.broadcast_list ? 0 : element]); return scratch;
    case Tag::FloatList: scratch = Value::of_float(value.numbers[value.broadcast_list ? 0 : element]); return scratch;
    case Tag::ScalarList: return value.values[element];
    default: return value;  // one number given for a list
  }
}

std::string format_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

[[noreturn]] [[gnu::cold]] void raise_requirement(const RegisterProgram& program, const Message& message,
                                                  const Register* registers) {
  std::string text;
  for (const MessagePart& part : message.parts) {
    if (part.reg < 0) text += part.text;
    else if (program.is_number[part.reg]) text += format_number(registers[part.reg].number);
    else text += std::to_string(registers[part.reg].integer);
  }
  throw Error(error_kind(message.error), text);
}

}  // namespace

ErrorKind error_kind(std::string_view exception) {
  return exception == "TypeError"             ? ErrorKind::Type
         : exception == "ValueError"          ? ErrorKind::Value
         : exception == "IndexError"          ? ErrorKind::Index
         : exception == "ZeroDivisionError"   ? ErrorKind::ZeroDivision
         : exception == "NotImplementedError" ? ErrorKind::NotImplemented
                                              : ErrorKind::Runtime;
}

void decode_program(Decoder& in, RegisterProgram& program) {
  size_t count = in.list();
  if (count >= UINT16_MAX) raise(ErrorKind::Value, "a plan has %zu registers, more than the runtime can number", count);
  for (size_t number = 0; number < count; ++number) {
    in.expect_list(5);
    std::string_view name = in.text();
    uint16_t a = decode_register(in), b = decode_register(in), c = decode_register(in);
    program.position.push_back(static_cast<uint16_t>(program.instructions.size()));
    Register initial{0};
    bool is_number = false;
    if (name == "const") {
      if (in.peek() == Code::True || in.peek() == Code::False) initial.integer = in.boolean();
      else if (in.peek() == Code::Integer) initial.integer = in.integer();
      else {
        initial.number = in.number();
        is_number = true;
      }
    } else {
      Opcode op = parse_opcode(name);
      if (op == Opcode::Guard) b = in.boolean();
      else in.skip();
      is_number = gives_number(op) || (op == Opcode::Select && program.is_number.at(b));
      program.instructions.push_back({op, static_cast<uint16_t>(number), a, b, c});
    }
    program.initial.push_back(initial);
    program.is_number.push_back(is_number);
  }
  program.position.push_back(static_cast<uint16_t>(program.instructions.size()));
}

void decode_messages(Decoder& in, RegisterProgram& program) {
  for (size_t count = in.list(); count--;) {
    in.expect_list(2);
    Message& message = program.messages.emplace_back();
    message.error = in.text();
    for (size_t parts = in.list(); parts--;) {
      MessagePart& part = message.parts.emplace_back();
      if (in.peek() == Code::Text) part.text = in.text();
      else part.reg = static_cast<int32_t>(in.integer());
    }
  }
}

bool run_program(const RegisterProgram& program, size_t begin, size_t end, const OpCall& call,
                 TensorImpl* const* inputs, Register* registers) {
  Value scratch;
  for (size_t k = begin; k < end; ++k) {
    const Instruction& i = program.instructions[k];
    Register* r = registers;
    Register& out = r[i.result];
    switch (i.op) {
      case Opcode::Size: out.integer = inputs[i.a]->sizes[i.b]; break;
      case Opcode::Integer: {
        const Value& value = argument_value(call, i.a, i.b, scratch);
        out.integer = value.tag == Tag::Float ? to_integer(value.number) : value.integer;
        break;
      }
      case Opcode::Number: {
        const Value& value = argument_value(call, i.a, i.b, scratch);
        out.number = value.tag == Tag::Complex ? value.complex->real : value.as_double();
        break;
      }
      case Opcode::Imaginary: {
        const Value& value = argument_value(call, i.a, i.b, scratch);
        out.number = value.tag == Tag::Complex ? value.complex->imag : 0;
        break;
      }
      case Opcode::Guard:
        if ((r[i.a].integer != 0) != (i.b != 0)) return false;
        break;
      case Opcode::Require:
        if (!r[i.a].integer) raise_requirement(program, program.messages[i.b], r);
        break;
      case Opcode::Add: out.integer = wrapping(uint64_t(r[i.a].integer) + uint64_t(r[i.b].integer)); break;
      case Opcode::Sub: out.integer = wrapping(uint64_t(r[i.a].integer) - uint64_t(r[i.b].integer)); break;
      case Opcode::Mul: out.integer = wrapping(uint64_t(r[i.a].integer) * uint64_t(r[i.b].integer)); break;
      case Opcode::FloorDiv: out.integer = floor_div(r[i.a].integer, r[i.b].integer); break;
      case Opcode::Mod: {
        int64_t quotient = floor_div(r[i.a].integer, r[i.b].integer);
        out.integer =
            r[i.b].integer ? wrapping(uint64_t(r[i.a].integer) - uint64_t(quotient) * uint64_t(r[i.b].integer)) : 0;
        break;
      }
      case Opcode::Min: out.integer = std::min(r[i.a].integer, r[i.b].integer); break;
      case Opcode::Max: out.integer = std::max(r[i.a].integer, r[i.b].integer); break;
      case Opcode::Neg: out.integer = wrapping(-uint64_t(r[i.a].integer)); break;
      case Opcode::Abs: out.integer = r[i.a].integer < 0 ? wrapping(-uint64_t(r[i.a].integer)) : r[i.a].integer; break;
      case Opcode::Sign: out.integer = (r[i.a].integer > 0) - (r[i.a].integer < 0); break;
      case Opcode::Lt: out.integer = r[i.a].integer < r[i.b].integer; break;
      case Opcode::Le: out.integer = r[i.a].integer <= r[i.b].integer; break;
      case Opcode::Eq: out.integer = r[i.a].integer == r[i.b].integer; break;
      case Opcode::Ne: out.integer = r[i.a].integer != r[i.b].integer; break;
      case Opcode::And: out.integer = r[i.a].integer && r[i.b].integer; break;
      case Opcode::Or: out.integer = r[i.a].integer || r[i.b].integer; break;
      case Opcode::Not: out.integer = !r[i.a].integer; break;
      case Opcode::Select: out = r[i.a].integer ? r[i.b] : r[i.c]; break;
      case Opcode::BitAnd: out.integer = r[i.a].integer & r[i.b].integer; break;
      case Opcode::BitOr: out.integer = r[i.a].integer | r[i.b].integer; break;
      case Opcode::BitXor: out.integer = r[i.a].integer ^ r[i.b].integer; break;
      case Opcode::Shl:
        out.integer = uint64_t(r[i.b].integer) < 64 ? wrapping(uint64_t(r[i.a].integer) << r[i.b].integer) : 0;
        break;
      case Opcode::Shr: out.integer = r[i.a].integer >> (uint64_t(r[i.b].integer) < 64 ? r[i.b].integer : 63); break;
      case Opcode::NAdd: out.number = r[i.a].number + r[i.b].number; break;
      case Opcode::NSub: out.number = r[i.a].number - r[i.b].number; break;
      case Opcode::NMul: out.number = r[i.a].number * r[i.b].number; break;
      case Opcode::NDiv: out.number = r[i.a].number / r[i.b].number; break;
      case Opcode::NFloorDiv: out.number = std::floor(r[i.a].number / r[i.b].number); break;
      case Opcode::NMod: out.number = floor_mod(r[i.a].number, r[i.b].number); break;
      case Opcode::NMin:
        out.number = r[i.a].number != r[i.a].number || r[i.a].number < r[i.b].number ? r[i.a].number : r[i.b].number;
        break;
      case Opcode::NMax:
        out.number = r[i.a].number != r[i.a].number || r[i.a].number > r[i.b].number ? r[i.a].number : r[i.b].number;
        break;
      case Opcode::NNeg: out.number = -r[i.a].number; break;
      case Opcode::NAbs: out.number = std::fabs(r[i.a].number); break;
      case Opcode::NSign: out.number = (r[i.a].number > 0) - (r[i.a].number < 0); break;
      case Opcode::NPow: out.number = std::pow(r[i.a].number, r[i.b].number); break;
      case Opcode::NLt: out.integer = r[i.a].number < r[i.b].number; break;
      case Opcode::NLe: out.integer = r[i.a].number <= r[i.b].number; break;
      case Opcode::NEq: out.integer = r[i.a].number == r[i.b].number; break;
      case Opcode::NNe: out.integer = r[i.a].number != r[i.b].number; break;
      case Opcode::NFloor: out.number = std::floor(r[i.a].number); break;
      case Opcode::NCeil: out.number = std::ceil(r[i.a].number); break;
      case Opcode::NTrunc: out.number = std::trunc(r[i.a].number); break;
      case Opcode::NRound: out.number = std::nearbyint(r[i.a].number); break;
      case Opcode::NSqrt: out.number = std::sqrt(r[i.a].number); break;
      case Opcode::NExp: out.number = std::exp(r[i.a].number); break;
      case Opcode::NLog: out.number = std::log(r[i.a].number); break;
      case Opcode::NIsNan: out.integer = std::isnan(r[i.a].number); break;
      case Opcode::NIsInf: out.integer = std::isinf(r[i.a].number); break;
      case Opcode::ToNumber: out.number = static_cast<double>(r[i.a].integer); break;
      case Opcode::ToInteger: out.integer = to_integer(r[i.a].number); break;
      case Opcode::ToSingle: out.number = static_cast<float>(r[i.a].number); break;
      case Opcode::NotZero: out.integer = r[i.a].integer != 0; break;
      case Opcode::NumberNotZero: out.integer = r[i.a].number != 0; break;
    }
  }
  return true;
}

}  // namespace pellucid
