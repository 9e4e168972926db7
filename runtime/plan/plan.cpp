#include "plan/plan.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "plan/tile_program.h"

namespace pellucid {

namespace {

constexpr std::pair<std::string_view, StepKind> kStepKinds[] = {
    {"map", StepKind::Map},
    {"reduce", StepKind::Reduce},
    {"rows", StepKind::Rows},
    {"nest", StepKind::Nest},
    {"gemm", StepKind::Gemm},
    {"scan", StepKind::Scan},
    {"recurrence", StepKind::Recurrence},
    {"fill", StepKind::Fill},
    {"view", StepKind::View},
    {"reshape", StepKind::Reshape},
    {"copy", StepKind::Copy},
    {"library", StepKind::Library},
    {"nonzero", StepKind::Nonzero},
    {"compute", StepKind::Compute},
    {"block", StepKind::Block},
};

StepKind parse_step_kind(std::string_view name) {
  for (const auto& [known, kind] : kStepKinds)
    if (known == name) return kind;
  raise(ErrorKind::Value, "a plan has a step '%.*s', which this runtime does not know.\nRebuild pellucid.",
        static_cast<int>(name.size()), name.data());
}

uint16_t index(Decoder& in) {
  int64_t number = in.integer();
  return number < 0 ? kNoRegister : static_cast<uint16_t>(number);
}

std::vector<uint16_t> indices(Decoder& in) {
  std::vector<uint16_t> out(in.list());
  for (uint16_t& number : out) number = index(in);
  return out;
}

Constant constant(Decoder& in) {
  Constant out;
  switch (in.peek()) {
    case Code::True:
    case Code::False: out.value.integer = in.boolean(); break;
    case Code::Integer: out.value.integer = in.integer(); break;
    case Code::Complex: out.complex = in.complex(); break;
    default: out.value.number = in.number(); out.is_number = true;
  }
  return out;
}

Operand operand(Decoder& in) {
  in.expect_list(2);
  Operand out{index(in), true, {}, {}};
  uint64_t seen = 0;
  for (size_t dims = in.list(); dims--;) {
    in.expect_list(2);
    DimMap& dim = out.dims.emplace_back();
    dim.offset = index(in);
    for (size_t terms = in.list() / 2; terms--;) {
      uint8_t axis = static_cast<uint8_t>(index(in));
      if (axis >= kMaxAxes) raise(ErrorKind::Value, "a plan has a nest of more than %d axes", kMaxAxes);
      dim.terms.push_back({axis, index(in)});
    }
    bool plain = dim.offset == kNoRegister && dim.terms.size() <= 1 &&
                 (dim.terms.empty() || dim.terms[0].coefficient == kNoRegister);
    int axis = dim.terms.empty() ? -1 : dim.terms[0].axis;
    if (!plain || (axis >= 0 && seen >> axis & 1)) out.direct = false;
    if (axis >= 0) seen |= 1ull << axis;
    out.axis_of_dim.push_back(static_cast<int8_t>(axis));
  }
  return out;
}

std::vector<Operand> operands(Decoder& in) {
  std::vector<Operand> out;
  for (size_t count = in.list(); count--;) out.push_back(operand(in));
  return out;
}

Operand whole(uint16_t value) { return {value, false, {}, {}}; }

std::vector<Operand> whole_values(Decoder& in) {
  std::vector<Operand> out;
  for (uint16_t value : indices(in)) out.push_back(whole(value));
  return out;
}

std::unique_ptr<KernelUse> kernel_use(Decoder& in) {
  in.expect_list(3);
  auto out = std::make_unique<KernelUse>();
  auto id = in.bytes();
  if (id.size() != out->kernel.id.size()) raise(ErrorKind::Value, "a plan names a kernel by %zu bytes", id.size());
  std::copy(id.begin(), id.end(), out->kernel.id.begin());
  out->params = indices(in);
  if (out->params.size() > kMaxStepParams)
    raise(ErrorKind::Value, "a kernel of a plan takes %zu numbers; at most %d fit", out->params.size(), kMaxStepParams);
  attach_program(out->kernel);
  out->label = in.text();
  return out;
}

void library_options(Decoder& in, Step& step) {
  for (size_t count = in.list(); count--;) {
    in.expect_list(2);
    std::string name(in.text());
    Constant value;
    std::string text;
    if (in.peek() == Code::Text) text = in.text();
    else if (!in.take_none()) value = constant(in);
    step.options.emplace_back(std::move(name), value);
    step.texts.push_back(std::move(text));
  }
}

void decode_combine(Decoder& in, Step& step) {
  if (!in.take_none()) step.combine = kernel_use(in);
  const std::string_view accumulator = in.text();
  if (step.combine && !parse_dtype(accumulator, step.accumulator))
    raise(ErrorKind::Value, "a plan accumulates in an unknown dtype");
  step.indexed = in.boolean();
  for (size_t count = in.list(); count--;) {
    step.sums.push_back(static_cast<uint8_t>(in.integer()));
    if (step.sums.back() >= step.outputs.size()) raise(ErrorKind::Value, "a plan adds rows to an output that it lacks");
  }
}

void decode_groups(Decoder& in, Step& step) {
  in.expect_list(step.groups.size());
  size_t axes = 0;
  for (uint8_t& size : step.groups) axes += size = static_cast<uint8_t>(index(in));
  if (axes != step.extents.size()) raise(ErrorKind::Value, "a plan's product has axes in no group");
}

void decode_padded(Decoder& in, Step& step) {
  for (uint16_t number : indices(in)) {
    if (number >= step.inputs.size()) raise(ErrorKind::Value, "a plan pads an operand that its product lacks");
    step.inputs[number].padded = true;
    step.inputs[number].direct = false;  // its indices are to be looked at
  }
}

void decode_nest(Decoder& in, Step& step) {
  step.kernel = kernel_use(in);
  step.extents = indices(in);
  if (step.kind == StepKind::Nest) {
    step.outputs = whole_values(in);
    step.inputs = whole_values(in);
    step.parallel = in.boolean();
    step.has_identity = !in.take_none();
    if (step.has_identity) step.constant = constant(in);
    step.turned = in.boolean();
    step.begins = in.boolean();
    return;
  }
  bool has_kept = step.kind != StepKind::Gemm && step.kind != StepKind::Scan;
  if (has_kept) step.kept = static_cast<uint8_t>(in.integer());
  step.outputs = operands(in);
  step.inputs = operands(in);
  if (has_kept) decode_combine(in, step);
  else if (!in.take_none()) decode_groups(in, step);
  if (step.kind == StepKind::Gemm) decode_padded(in, step);
  if (step.extents.size() > kMaxAxes || step.outputs.size() + step.inputs.size() > kMaxNestOperands)
    raise(ErrorKind::Value, "a plan has a nest of %zu axes and %zu operands, more than the runtime takes",
          step.extents.size(), step.outputs.size() + step.inputs.size());
}

// Its plan takes and makes what the step says, and only a carry may be without a stack; lanes lie along dims, and
// the first input has them.
void check_recurrence(const Step& step) {
  const RecurrenceBody& body = *step.recurrence;
  const size_t inputs = body.plan->num_inputs, outputs = step.outputs.size();
  const auto edges = static_cast<size_t>(std::ranges::count_if(body.shifts, [](int64_t shift) { return shift != 0; }));
  bool fits = step.inputs.size() == inputs + edges && body.plan->outputs.size() == outputs &&
              outputs >= body.num_carries && body.shifts.size() == inputs - body.num_carries - body.num_constants &&
              body.orders.size() == body.num_constants && body.stacked.size() == outputs &&
              (body.lanes.empty() || (inputs && body.lanes.size() == inputs + outputs));
  for (const int64_t shift : body.shifts) fits &= shift >= -1 && shift <= 1;
  for (size_t k = body.num_carries; fits && k < outputs; ++k) fits = body.stacked[k];
  for (size_t k = 0; fits && k < body.lanes.size(); ++k) {
    const uint16_t value = k < inputs ? static_cast<uint16_t>(k) : body.plan->outputs[k - inputs];
    const bool must_have = k == 0 || k >= inputs || k < body.num_carries;
    fits = body.lanes[k] < static_cast<int>(body.plan->values[value].sizes.size()) &&
           body.lanes[k] >= (must_have ? 0 : -1);
  }
  if (!fits) raise(ErrorKind::Value, "a recurrence has a step of other inputs or outputs");
}

void decode_recurrence(Decoder& in, Step& step) {
  step.recurrence = std::make_unique<RecurrenceBody>();
  step.recurrence->plan = decode_plan(in.bytes());
  const std::vector<uint16_t> bound = indices(in);
  for (size_t k = 0; k + 1 < bound.size(); k += 2) {
    if (bound[k] >= step.recurrence->plan->program.initial.size())
      raise(ErrorKind::Value, "a recurrence binds a register that its step lacks");
    step.recurrence->bound.emplace_back(bound[k], bound[k + 1]);
  }
  step.count = index(in);
  step.recurrence->reverse = in.boolean();
  step.inputs = whole_values(in);
  step.recurrence->num_carries = step.inputs.size();
  for (Operand& sequence : whole_values(in)) step.inputs.push_back(std::move(sequence));
  for (size_t count = in.list(); count--;) step.recurrence->shifts.push_back(in.integer());
  std::vector<Operand> edges = whole_values(in);
  const size_t end = step.inputs.size();
  for (Operand& constant : whole_values(in)) step.inputs.push_back(std::move(constant));
  step.recurrence->num_constants = step.inputs.size() - end;
  std::ranges::move(edges, std::back_inserter(step.inputs));
  for (size_t count = in.list(); count--;) step.recurrence->orders.push_back(indices(in));
  step.outputs = whole_values(in);
  for (uint16_t flag : indices(in)) step.recurrence->stacked.push_back(flag != 0);
  for (size_t count = in.list(); count--;) step.recurrence->lanes.push_back(static_cast<int>(in.integer()));
  check_recurrence(step);
}

Step decode_step(Decoder& in);

bool holds(const std::vector<Operand>& operands, uint16_t value) {
  return std::ranges::any_of(operands, [&](const Operand& operand) { return operand.value == value; });
}

// What the steps of a block write for others, and what they read of others.
void collect_operands(Step& step) {
  const BlockBody& body = *step.block;
  for (const Step& inner : body.steps) {
    for (const Operand& input : inner.inputs)
      if (!body.is_local(input.value) && !holds(step.outputs, input.value) && !holds(step.inputs, input.value))
        step.inputs.push_back(whole(input.value));
    for (const Operand& output : inner.outputs)
      if (!body.is_local(output.value)) step.outputs.push_back(whole(output.value));
  }
}

// The axes of a block's steps lie on its classes; what is local has the cut class, and is made before it is read.
void check_block(const Step& step) {
  const BlockBody& body = *step.block;
  const auto count = static_cast<int>(step.extents.size());
  bool fits = body.cut() < count && body.triangle < count && body.classes.size() == body.steps.size() &&
              (body.triangle < 0 || body.triangle > body.cut()) && count <= kMaxAxes;
  std::vector<uint16_t> made;
  for (size_t k = 0; fits && k < body.steps.size(); ++k) {
    const Step& inner = body.steps[k];
    fits = inner.extents.size() == body.classes[k].size() &&
           (inner.kind == StepKind::Map || inner.kind == StepKind::Rows || inner.kind == StepKind::Gemm) &&
           std::ranges::all_of(body.classes[k], [&](int number) { return number < count; });
    for (const Operand& input : inner.inputs)
      fits = fits && (!body.is_local(input.value) || (input.direct && std::ranges::count(made, input.value)));
    for (const Operand& output : inner.outputs) {
      fits = fits && (!body.is_local(output.value) || output.direct);
      made.push_back(output.value);
    }
  }
  if (!fits) raise(ErrorKind::Value, "a plan has a block whose steps do not fit each other");
}

void decode_block(Decoder& in, Step& step) {
  step.block = std::make_unique<BlockBody>();
  BlockBody& body = *step.block;
  for (size_t count = in.list(); count--;) body.steps.push_back(decode_step(in));
  for (size_t count = in.list(); count--;) {
    std::vector<uint8_t>& classes = body.classes.emplace_back();
    for (uint16_t number : indices(in)) classes.push_back(static_cast<uint8_t>(std::min<uint16_t>(number, UINT8_MAX)));
  }
  step.extents = indices(in);
  body.parallel = index(in);
  body.in_turn = index(in);
  body.cut_in_turn = in.boolean();
  const std::vector<uint16_t> locals = indices(in);
  for (size_t k = 0; k + 1 < locals.size(); k += 2) body.locals.push_back({locals[k], locals[k + 1]});
  body.triangle = static_cast<int>(in.integer());
  check_block(step);
  collect_operands(step);
}

Step decode_step(Decoder& in) {
  in.list();
  Step step;
  step.kind = parse_step_kind(in.text());
  switch (step.kind) {
    case StepKind::Map:
    case StepKind::Reduce:
    case StepKind::Rows:
    case StepKind::Nest:
    case StepKind::Gemm:
    case StepKind::Scan: decode_nest(in, step); break;
    case StepKind::Fill:
      step.outputs.push_back(whole(index(in)));
      step.constant = constant(in);
      break;
    case StepKind::View:
      step.outputs.push_back(whole(index(in)));
      step.inputs.push_back(operand(in));
      break;
    case StepKind::Reshape:
    case StepKind::Copy:
    case StepKind::Nonzero:
      step.outputs.push_back(whole(index(in)));
      step.inputs.push_back(whole(index(in)));
      if (step.kind == StepKind::Nonzero) step.count = index(in);
      break;
    case StepKind::Library:
      step.name = in.text();
      step.outputs = whole_values(in);
      step.inputs = whole_values(in);
      library_options(in, step);
      for (size_t count = in.list(); count--;) {
        in.expect_list(2);
        step.number_names.emplace_back(in.text());
        step.numbers.push_back(index(in));
      }
      break;
    case StepKind::Recurrence: decode_recurrence(in, step); break;
    case StepKind::Compute: step.count = index(in); break;
    case StepKind::Block: decode_block(in, step); break;
  }
  return step;
}

// Numbers in a plan index its own tables; a plan that points outside them is damaged.
void check_plan(const Plan& plan) {
  auto value = [&](uint16_t number) {
    if (number >= plan.values.size()) raise(ErrorKind::Value, "plan %s names a value it lacks", plan.name.c_str());
  };
  auto reg = [&](uint16_t number) {
    if (number != kNoRegister && number >= plan.program.initial.size())
      raise(ErrorKind::Value, "plan %s names a register it lacks", plan.name.c_str());
  };
  // Inputs bring their sizes; their registers may have been dropped.
  for (size_t k = plan.num_inputs; k < plan.values.size(); ++k) std::ranges::for_each(plan.values[k].sizes, reg);
  const auto check = [&](const auto& self, const Step& step) -> void {
    for (const auto* list : {&step.outputs, &step.inputs})
      for (const Operand& operand : *list) {
        value(operand.value);
        for (const DimMap& dim : operand.dims) {
          reg(dim.offset);
          for (DimTerm term : dim.terms) reg(term.coefficient);
        }
      }
    std::ranges::for_each(step.extents, reg);
    std::ranges::for_each(step.numbers, reg);
    std::ranges::for_each(step.releases, value);
    if (step.recurrence)
      for (const auto& [inner, outer] : step.recurrence->bound) reg(outer);
    if (step.kernel) std::ranges::for_each(step.kernel->params, reg);
    if (step.block)
      for (const Step& inner : step.block->steps) self(self, inner);
  };
  for (const Step& step : plan.steps) check(check, step);
  std::ranges::for_each(plan.outputs, value);
}

}  // namespace

RecurrenceBody::~RecurrenceBody() = default;
BlockBody::~BlockBody() = default;

bool BlockBody::is_local(uint16_t value) const {
  return std::ranges::any_of(locals, [&](LocalValue local) { return local.value == value; });
}

std::unique_ptr<Plan> decode_plan(std::span<const uint8_t> data) {
  Decoder in(data);
  auto plan = std::make_unique<Plan>();
  in.expect_list(10);
  plan->name = in.text();
  plan->num_inputs = index(in);
  decode_program(in, plan->program);
  size_t start = static_cast<size_t>(in.integer());
  plan->start = plan->program.position.at(start);
  decode_messages(in, plan->program);
  for (size_t count = in.list(); count--;) {
    in.expect_list(2);
    PlanValue& value = plan->values.emplace_back();
    if (!parse_dtype(in.text(), value.dtype))
      raise(ErrorKind::Value, "plan %s has an unknown dtype", plan->name.c_str());
    value.sizes = indices(in);
  }
  for (size_t count = in.list(); count--;) plan->steps.push_back(decode_step(in));
  plan->outputs = indices(in);
  size_t releases = in.list();
  for (size_t k = 0; k < releases; ++k) plan->steps.at(k).releases = indices(in);
  if (in.text() == "RuntimeError") plan->index_error = ErrorKind::Runtime;
  for (Step& step : plan->steps)
    if (step.kind == StepKind::Compute) step.count = plan->program.position.at(step.count);
  check_plan(*plan);
  return plan;
}

}  // namespace pellucid
