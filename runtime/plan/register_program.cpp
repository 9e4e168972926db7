#include "plan/register_program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace pellucid {

namespace {

[[noreturn]] [[gnu::cold]] void raise_absent(const char* what) {
  raise(ErrorKind::Value, "a register program reads a %s that it lacks.\nRebuild or reinstall pellucid.", what);
}

// An instruction may read only what earlier ones set.
void check_operands(const encoded::Instruction& given, size_t number, size_t num_messages) {
  const uint16_t operands[] = {given.a, given.b, given.c};
  for (int k = 0; k < kNumRegisters[static_cast<int>(given.op)]; ++k)
    if (operands[k] >= number) raise_absent("register");
  if (given.op == Opcode::Require && given.b >= num_messages) raise_absent("message");
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t wrapping(uint64_t value) { return static_cast<int64_t>(value); }

int64_t floor_mod(int64_t a, int64_t b) {
  return b ? wrapping(uint64_t(a) - uint64_t(floor_div(a, b)) * uint64_t(b)) : 0;
}

int64_t shift_left(int64_t a, int64_t b) { return uint64_t(b) < 64 ? wrapping(uint64_t(a) << b) : 0; }

int64_t shift_right(int64_t a, int64_t b) { return a >> (uint64_t(b) < 64 ? b : 63); }

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

[[gnu::cold]] bool reads_meta(const OpCall& call) {
  return std::any_of(call.args, call.args + call.num_args, [](const Value& value) {
    return value.is_tensor() && value.tensor->device.type == DeviceType::Meta;
  });
}

[[noreturn]] [[gnu::cold]] void raise_requirement(const RegisterProgram& program, const Message& message,
                                                  const Register* registers) {
  std::string text;
  for (const MessagePart& part : message.parts) {
    if (part.reg < 0) text += part.text;
    else if (program.is_number[part.reg]) text += format_number(registers[part.reg].number);
    else text += std::to_string(registers[part.reg].integer);
  }
  throw Error(message.error, text);
}

}  // namespace

RegisterProgram make_program(const std::vector<encoded::Instruction>& instructions,
                             const std::vector<encoded::Message>& messages) {
  const size_t count = instructions.size();
  if (count >= kNoRegister) raise(ErrorKind::Value, "a plan has %zu registers, more than can be numbered", count);
  RegisterProgram program;
  for (size_t number = 0; number < count; ++number) {
    const encoded::Instruction& given = instructions[number];
    const Literal literal = given.value.value_or(Literal{});
    check_operands(given, number, messages.size());
    program.position.push_back(static_cast<uint16_t>(program.instructions.size()));
    Register initial{literal.integer};
    bool is_number = kGivesNumber[static_cast<int>(given.op)];
    if (given.op == Opcode::Constant) {
      is_number = literal.tag == Code::Number;
      if (is_number) initial.number = literal.number;
    } else {
      Instruction made{given.op, static_cast<uint16_t>(number), given.a, given.b, given.c};
      if (given.op == Opcode::Guard) made.b = literal.integer != 0;
      if (given.op == Opcode::Require) made.c = literal.integer != 0;
      if (given.op == Opcode::Select) is_number = program.is_number[given.b];
      program.instructions.push_back(made);
      initial.integer = 0;
    }
    program.initial.push_back(initial);
    program.is_number.push_back(is_number);
  }
  program.position.push_back(static_cast<uint16_t>(program.instructions.size()));
  program.messages = make_messages(messages);
  for (const Message& message : program.messages)
    for (const MessagePart& part : message.parts)
      if (part.reg >= static_cast<int32_t>(count)) raise_absent("register");
  return program;
}

std::vector<Message> make_messages(const std::vector<encoded::Message>& encoded) {
  std::vector<Message> made;
  for (const encoded::Message& given : encoded) {
    Message& message = made.emplace_back(Message{given.error, {}});
    for (const Literal& part : given.parts) {
      const bool is_text = part.tag == Code::Text;
      message.parts.push_back({std::string(part.text), is_text ? -1 : static_cast<int32_t>(part.integer)});
    }
  }
  return made;
}

bool run_program(const RegisterProgram& program, size_t begin, size_t end, const OpCall& call,
                 TensorImpl* const* inputs, Register* registers) {
  Value scratch;
  for (size_t k = begin; k < end; ++k) {
    const Instruction& i = program.instructions[k];
    Register* r = registers;
    Register& out = r[i.result];
    switch (i.op) {
      case Opcode::Constant: break;  // set before the program runs
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
        if (!r[i.a].integer && !(i.c && reads_meta(call))) raise_requirement(program, program.messages[i.b], r);
        break;
      case Opcode::Select: out = r[i.a].integer ? r[i.b] : r[i.c]; break;
      case Opcode::ToNumber: out.number = static_cast<double>(r[i.a].integer); break;
      case Opcode::ToInteger: out.integer = to_integer(r[i.a].number); break;
      case Opcode::ToSingle: out.number = static_cast<float>(r[i.a].number); break;
      case Opcode::NotZero: out.integer = r[i.a].integer != 0; break;
      case Opcode::NumberNotZero: out.integer = r[i.a].number != 0; break;
#include "plan/scalar_cases.inc"
    }
  }
  return true;
}

}  // namespace pellucid
