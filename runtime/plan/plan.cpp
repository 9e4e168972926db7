#include "plan/plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/error.h"
#include "plan/tile_program.h"

namespace pellucid {

namespace {

Constant make_constant(const Literal& given) {
  Constant out;
  if (given.tag == Code::Complex) out.complex = given.complex;
  else if (given.tag == Code::Number) out.value.number = given.number, out.is_number = true;
  else out.value.integer = given.integer;
  return out;
}

Operand make_operand(encoded::Operand&& given) {
  Operand out{given.value, true, {}, {}};
  uint64_t seen = 0;
  for (encoded::DimMap& dim : given.dims) {
    DimMap& made = out.dims.emplace_back();
    made.offset = dim.offset;
    for (const auto& [axis, coefficient] : dim.terms) {
      if (axis >= kMaxAxes) raise(ErrorKind::Value, "a plan has a nest of more than %d axes", kMaxAxes);
      made.terms.push_back({axis, coefficient});
    }
    const bool plain = made.offset == kNoRegister && made.terms.size() <= 1 &&
                       (made.terms.empty() || made.terms[0].coefficient == kNoRegister);
    const int axis = made.terms.empty() ? -1 : made.terms[0].axis;
    if (!plain || (axis >= 0 && seen >> axis & 1)) out.direct = false;
    if (axis >= 0) seen |= 1ull << axis;
    out.axis_of_dim.push_back(static_cast<int8_t>(axis));
  }
  return out;
}

std::vector<Operand> make_operands(std::vector<encoded::Operand>&& given) {
  std::vector<Operand> out;
  for (encoded::Operand& operand : given) out.push_back(make_operand(std::move(operand)));
  return out;
}

Operand whole(uint16_t value) { return {value, false, {}, {}}; }

void append_whole(std::vector<Operand>& operands, const std::vector<uint16_t>& values) {
  for (const uint16_t value : values) operands.push_back(whole(value));
}

std::unique_ptr<KernelUse> make_use(encoded::KernelUse&& given) {
  auto out = std::make_unique<KernelUse>();
  out->kernel.id = given.id;
  out->params = std::move(given.params);
  if (out->params.size() > kMaxStepParams)
    raise(ErrorKind::Value, "a kernel of a plan takes %zu numbers; at most %d fit", out->params.size(), kMaxStepParams);
  attach_program(out->kernel);
  out->label = given.label;
  out->messages = make_messages(given.messages);
  return out;
}

// ---------------------------------------------------------------- one function per record

void take_nest(Step& step, encoded::KernelUse& kernel, std::vector<uint16_t>& extents,
               std::vector<encoded::Operand>&& outputs, std::vector<encoded::Operand>& inputs) {
  step.kernel = make_use(std::move(kernel));
  step.extents = std::move(extents);
  step.outputs = make_operands(std::move(outputs));
  step.inputs = make_operands(std::move(inputs));
  if (step.extents.size() > kMaxAxes || step.outputs.size() + step.inputs.size() > kMaxNestOperands)
    raise(ErrorKind::Value, "a plan has a nest of %zu axes and %zu operands, more than the runtime takes",
          step.extents.size(), step.outputs.size() + step.inputs.size());
}

void take(Step& step, encoded::NestStep&& given) {
  take_nest(step, given.kernel, given.extents, std::move(given.outputs), given.inputs);
  step.num_stored = given.num_stored;
  if (given.combine) step.combine = make_use(std::move(*given.combine));
  if (given.combine && !given.accumulator) raise(ErrorKind::Value, "a plan combines values without naming a dtype");
  step.accumulator = given.accumulator.value_or(DType::Float32);
  step.indexed = given.indexed;
  step.sums = std::move(given.sums);
  for (const uint8_t output : step.sums)
    if (output >= step.outputs.size()) raise(ErrorKind::Value, "a plan accumulates rows into an output that it lacks");
}

void take(Step& step, encoded::GeneralStep&& given) {
  step.kernel = make_use(std::move(given.kernel));
  step.extents = std::move(given.extents);
  append_whole(step.outputs, given.outputs);
  append_whole(step.inputs, given.inputs);
  step.parallel = given.parallel;
  step.has_identity = given.identity.has_value();
  if (given.identity) step.constant = make_constant(*given.identity);
  step.channels_innermost = given.channels_innermost;
  step.begins = given.begins;
}

void take(Step& step, encoded::GemmStep&& given) {
  std::vector<encoded::Operand> outputs;
  outputs.push_back(std::move(given.output));
  take_nest(step, given.kernel, given.extents, std::move(outputs), given.inputs);
  size_t axes = 0;
  for (size_t k = 0; k < given.groups.size() && k < step.groups.size(); ++k) axes += step.groups[k] = given.groups[k];
  if (given.groups.size() != step.groups.size() || axes != step.extents.size())
    raise(ErrorKind::Value, "a plan's product has axes outside every group");
  for (const uint8_t number : given.padded) {
    if (number >= step.inputs.size()) raise(ErrorKind::Value, "a plan pads an operand that its product lacks");
    step.inputs[number].padded = true;
    step.inputs[number].direct = false;  // its indices must be examined
  }
}

void take(Step& step, encoded::ScanStep&& given) {
  take_nest(step, given.kernel, given.extents, std::move(given.outputs), given.inputs);
}

void take(Step& step, encoded::FillStep&& given) {
  step.outputs.push_back(whole(given.output));
  step.constant = make_constant(given.value);
}

void take(Step& step, encoded::ViewStep&& given) {
  step.outputs.push_back(whole(given.output));
  step.inputs.push_back(make_operand(std::move(given.source)));
}

// A copy from one whole value to another.
template <class Record>
void take_pair(Step& step, const Record& given) {
  step.outputs.push_back(whole(given.output));
  step.inputs.push_back(whole(given.source));
}
void take(Step& step, encoded::ReshapeStep&& given) { take_pair(step, given); }
void take(Step& step, encoded::CopyStep&& given) { take_pair(step, given); }
void take(Step& step, encoded::NonzeroStep&& given) {
  take_pair(step, given);
  step.count = given.count;
}

void take(Step& step, encoded::LibraryStep&& given) {
  step.name = given.name;
  append_whole(step.outputs, given.outputs);
  append_whole(step.inputs, given.inputs);
  for (const auto& [name, value] : given.options) {
    step.options.emplace_back(name, make_constant(value));
    step.texts.emplace_back(value.text);
  }
  for (const auto& [name, number] : given.numbers) {
    step.number_names.emplace_back(name);
    step.numbers.push_back(number);
  }
}

void take(Step& step, encoded::ComputeStep&& given) { step.count = given.end; }

// Checks that the step's own plan has the step's inputs and outputs, that only a carry is without a stack, that
// lanes name existing dims, and that the first input has lanes.
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
  if (!fits) raise(ErrorKind::Value, "a recurrence has a step with the wrong inputs or outputs");
}

void take(Step& step, encoded::RecurrenceStep&& given) {
  step.recurrence = std::make_unique<RecurrenceBody>();
  RecurrenceBody& body = *step.recurrence;
  body.plan = decode_plan(given.body);
  for (const auto& [inner, outer] : given.bound)
    if (inner >= body.plan->program.initial.size())
      raise(ErrorKind::Value, "a recurrence binds a register that its step lacks");
  body.bound = std::move(given.bound);
  step.count = given.length;
  body.reverse = given.reverse;
  body.num_carries = given.carries.size();
  body.num_constants = given.constants.size();
  for (const auto* values : {&given.carries, &given.sequences, &given.constants, &given.edges})
    append_whole(step.inputs, *values);
  append_whole(step.outputs, given.outputs);
  body.shifts.assign(given.shifts.begin(), given.shifts.end());
  body.orders = std::move(given.orders);
  body.stacked = std::move(given.stacked);
  body.lanes.assign(given.lanes.begin(), given.lanes.end());
  check_recurrence(step);
}

bool holds(const std::vector<Operand>& operands, uint16_t value) {
  return std::ranges::any_of(operands, [&](const Operand& operand) { return operand.value == value; });
}

// Collects what the steps of a block read from outside it and write for use outside it.
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

// Checks that the axes of a block's steps map to its classes, and that local values have the split class and are
// written before they are read.
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
  if (!fits) raise(ErrorKind::Value, "a plan has a block whose steps are inconsistent");
}

Step make_step(encoded::AnyStep&& given);

// The first classes that a device may walk in any order: not those that a member adds along, nor the rows after them.
uint8_t independent_classes(const BlockBody& body) {
  const bool has_ordered = body.sequential > 0 || body.cut_is_sequential;
  return static_cast<uint8_t>(body.parallel + (has_ordered ? 0 : 1));
}

void take(Step& step, encoded::BlockStep&& given) {
  step.block = std::make_unique<BlockBody>();
  BlockBody& body = *step.block;
  for (encoded::AnyStep& inner : given.steps) body.steps.push_back(make_step(std::move(inner)));
  body.classes = std::move(given.axes);
  step.extents = std::move(given.extents);
  body.parallel = given.parallel;
  body.sequential = given.sequential;
  body.cut_is_sequential = given.cut_is_sequential;
  for (const encoded::LocalValue& local : given.locals) body.locals.push_back({local.value, local.slot});
  body.triangle = given.triangle;
  check_block(step);
  collect_operands(step);
  if (!given.kernel) return;
  body.whole = std::make_unique<Step>();
  body.whole->kind = StepKind::Block;
  body.whole->num_stored = independent_classes(body);
  std::vector<uint16_t> extents = step.extents;
  take_nest(*body.whole, *given.kernel, extents, std::move(given.outputs), given.inputs);
}

Step make_step(encoded::AnyStep&& given) {
  Step step;
  step.kind = given.kind;
  std::visit([&](auto& record) { take(step, std::move(record)); }, given.fields);
  return step;
}

// Numbers in a plan index its own tables; a number out of range means that the plan is damaged.
void check_plan(const Plan& plan) {
  auto value = [&](uint16_t number) {
    if (number >= plan.values.size()) raise(ErrorKind::Value, "plan %s names a value it lacks", plan.name.c_str());
  };
  auto reg = [&](uint16_t number) {
    if (number != kNoRegister && number >= plan.program.initial.size())
      raise(ErrorKind::Value, "plan %s names a register it lacks", plan.name.c_str());
  };
  // Inputs bring their own sizes, so the registers of these may have been dropped.
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
    if (!step.block) return;
    for (const Step& inner : step.block->steps) self(self, inner);
    if (step.block->whole) self(self, *step.block->whole);
  };
  for (const Step& step : plan.steps) check(check, step);
  std::ranges::for_each(plan.outputs, value);
  for (const IndexedDim& row : plan.indexed)
    if (std::max(row.index, row.size_of) >= plan.num_inputs ||
        row.size_dim >= static_cast<int>(plan.values.at(row.size_of).sizes.size()))
      raise(ErrorKind::Value, "plan %s names an input it lacks", plan.name.c_str());
}

// Which steps read inputs of the plan last. Inputs that are results are read after all steps.
void find_last_reads(Plan& plan) {
  std::vector<bool> is_read(plan.num_inputs);
  for (const uint16_t output : plan.outputs)
    if (output < plan.num_inputs) is_read[output] = true;
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step)
    for (const Operand& input : step->inputs) {
      if (input.value >= plan.num_inputs || is_read[input.value]) continue;
      is_read[input.value] = true;
      step->last_reads.push_back(input.value);
    }
}

}  // namespace

RecurrenceBody::~RecurrenceBody() = default;
BlockBody::~BlockBody() = default;

bool BlockBody::is_local(uint16_t value) const {
  return std::ranges::any_of(locals, [&](LocalValue local) { return local.value == value; });
}

std::unique_ptr<Plan> decode_plan(std::span<const uint8_t> data) {
  Decoder in(data);
  auto given = in.record<encoded::Plan>();
  auto plan = std::make_unique<Plan>();
  plan->name = given.name;
  plan->num_inputs = given.num_inputs;
  plan->program = make_program(given.program, given.messages);
  plan->start = plan->program.position.at(given.start);
  for (encoded::PlanValue& value : given.values) plan->values.push_back({value.dtype, std::move(value.sizes)});
  for (encoded::AnyStep& step : given.steps) plan->steps.push_back(make_step(std::move(step)));
  plan->outputs = std::move(given.outputs);
  for (size_t k = 0; k < given.releases.size(); ++k) plan->steps.at(k).releases = std::move(given.releases[k]);
  plan->index_error = given.index_error;
  plan->index_message = given.index_message;
  for (const encoded::IndexedDim& row : given.indexed)
    plan->indexed.push_back({row.index, row.size_of, row.dim, row.size_dim, row.wraps});
  for (Step& step : plan->steps)
    if (step.kind == StepKind::Compute) step.count = plan->program.position.at(step.count);
  check_plan(*plan);
  find_last_reads(*plan);
  return plan;
}

}  // namespace pellucid
