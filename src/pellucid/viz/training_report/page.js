// Draws the report: facts, curves of logged numbers, rates and norms, time by part, samples.

const WIDE = 560, HIGH = 190, LEFT = 58, BELOW = 20;
const view = document.getElementById("view");
const smoothing = document.getElementById("smoothing");
const logarithmic = document.getElementById("logarithmic");

function section(id, title, isWide = false) {
  const made = element("section", { id, class: isWide ? "wide" : "" });
  made.append(element("h2", {}, title));
  view.append(made);
  return made;
}

const readable = (x) => (x === null ? "not finite" : Number(x.toPrecision(4)).toString());

// Exponential moving average, as wide as the slider says; gaps stay gaps.
function smooth(values) {
  const keep = smoothing.value / 100;
  let mean = null;
  return values.map((x) => (x === null ? null : (mean = mean === null ? x : keep * mean + (1 - keep) * x)));
}

function axes(svg, first, last, low, high, toY) {
  const isLog = logarithmic.checked && low > 0;
  for (let k = 0; k <= 4; k++) {
    const value = isLog ? low * (high / low) ** (k / 4) : low + ((high - low) * k) / 4;
    const y = toY(value);
    svg.append(drawn("line", { class: "axis", x1: LEFT, x2: WIDE, y1: y, y2: y }));
    svg.append(drawn("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, readable(value)));
  }
  svg.append(drawn("text", { x: LEFT, y: HIGH + BELOW - 4 }, `step ${first}`));
  svg.append(drawn("text", { x: WIDE, y: HIGH + BELOW - 4, "text-anchor": "end" }, `${last}`));
}

function scaled(low, high) {
  const isLog = logarithmic.checked && low > 0;
  const f = isLog ? Math.log : (x) => x;
  const span = f(high) - f(low) || 1;
  return (value) => HIGH - 4 - ((f(value) - f(low)) / span) * (HIGH - 12);
}

function legend(names, text) {
  const made = element("div", { class: "legend" });
  names.forEach((name, k) => {
    made.append(element("span", { style: `color:${COLORS[k % COLORS.length]}` }, `${name}: ${text(name)}`));
  });
  return made;
}

// Curves with the range of the values behind each point.
function showCurves(id, title, curves) {
  const names = Object.keys(curves);
  if (!names.length) return;
  const place = section(id, title);
  const known = names.flatMap((name) => [...curves[name].least, ...curves[name].most]).filter((x) => x !== null);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDE + 4} ${HIGH + BELOW}`, width: "100%" });
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const first = Math.min(...names.map((n) => curves[n].steps[0]));
  const last = Math.max(...names.map((n) => curves[n].steps.at(-1)));
  const toX = (step) => LEFT + ((step - first) / (last - first || 1)) * (WIDE - LEFT);
  const toY = scaled(low, high);
  axes(svg, first, last, low, high, toY);
  names.forEach((name, k) => {
    const { steps, means, least, most } = curves[name], color = COLORS[k % COLORS.length];
    const at = (values) => (_, j) => `${toX(steps[j])},${toY(values[j])}`;
    const whole = steps.map((_, j) => j).filter((j) => means[j] !== null);
    const range = [...whole.map((j) => at(most)(0, j)), ...whole.reverse().map((j) => at(least)(0, j))];
    svg.append(drawn("polygon", { points: range.join(" "), fill: color, "fill-opacity": 0.18 }));
    const smoothed = smooth(means);
    const path = steps.map((_, j) => (smoothed[j] === null ? "" : `${j && smoothed[j - 1] !== null ? "L" : "M"}${at(smoothed)(0, j)}`));
    const curve = drawn("path", { class: "curve", d: path.join(""), stroke: color });
    curve.append(drawn("title", {}, name));
    svg.append(curve);
    if (steps.length === 1 && means[0] !== null)
      svg.append(drawn("circle", { cx: toX(steps[0]), cy: toY(means[0]), r: 3, fill: color }));
  });
  place.append(svg);
  place.append(legend(names, (name) => {
    const { last: value, unknown } = curves[name];
    return readable(value) + (unknown ? ` (${unknown} not finite)` : "");
  }));
}

// The time of each step by part, one part above the other.
function showTimes() {
  const names = Object.keys(data.times);
  const total = Object.values(data.totals).reduce((sum, x) => sum + x, 0);
  if (!names.length || !total) return;
  const place = section("times", "milliseconds of a step");
  const svg = drawn("svg", { viewBox: `0 0 ${WIDE + 4} ${HIGH + BELOW}`, width: "100%" });
  const steps = data.times[names[0]].steps, below = steps.map(() => 0);
  const sums = steps.map((_, j) => names.reduce((sum, name) => sum + data.times[name].means[j], 0));
  const high = Math.max(...sums), toY = (x) => HIGH - 4 - (x / high) * (HIGH - 12);
  const toX = (j) => LEFT + (j / (steps.length - 1 || 1)) * (WIDE - LEFT);
  names.forEach((name, k) => {
    const lower = below.slice();
    steps.forEach((_, j) => (below[j] += data.times[name].means[j]));
    const forth = steps.map((_, j) => `${toX(j)},${toY(below[j])}`);
    const back = steps.map((_, j) => `${toX(j)},${toY(lower[j])}`).reverse();
    const area = drawn("polygon", { class: "part", points: [...forth, ...back].join(" "), fill: COLORS[k % COLORS.length] });
    area.append(drawn("title", {}, name));
    svg.append(area);
  });
  for (let k = 0; k <= 2; k++)
    svg.append(drawn("text", { x: LEFT - 6, y: toY((high * k) / 2) + 4, "text-anchor": "end" }, readable((high * k) / 2)));
  svg.append(drawn("text", { x: LEFT, y: HIGH + BELOW - 4 }, `step ${steps[0]}`));
  svg.append(drawn("text", { x: WIDE, y: HIGH + BELOW - 4, "text-anchor": "end" }, `${steps.at(-1)}`));
  place.append(svg);
  place.append(legend(names, (name) => `${((100 * data.totals[name]) / total).toFixed(1)} %`));
}

function showFacts() {
  const table = element("table");
  for (const [name, text] of Object.entries(data.facts)) {
    const row = element("tr");
    row.append(element("td", {}, name), element("td", {}, text));
    table.append(row);
  }
  section("facts", "run").append(table);
}

function showSamples() {
  for (const [name, shown] of Object.entries(data.samples)) {
    const place = section("samples", name, true);
    for (const { step, text, images } of shown) {
      const figure = element("figure");
      figure.append(element("figcaption", {}, `step ${step}`));
      if (text !== undefined) figure.append(element("pre", {}, text));
      for (const source of images || []) figure.append(element("img", { src: source }));
      place.append(figure);
    }
  }
}

function show() {
  view.replaceChildren();
  showFacts();
  for (const [name, curve] of Object.entries(data.logged)) showCurves(`logged-${name}`, name, { [name]: curve });
  showTimes();
  showCurves("rates", "learning rate", data.rates);
  showCurves("norms", "norms of gradients", data.norms);
  showSamples();
}

document.getElementById("title").textContent = data.title;
if (location.hash === "#log") logarithmic.checked = true;
smoothing.addEventListener("input", show);
logarithmic.addEventListener("change", show);
show();
