// Draws the page's data: tabs for time by line, flame, timeline, memory, roofline.
// The part of the address behind # names a tab or all, and what to find: "#flame&find=relu".

const view = document.getElementById("view");
const search = document.getElementById("search");
const note = document.getElementById("note");
const ROW = 18;
const state = { tab: "", root: null, from: 0, to: data.wall || 1 };

function colorOf(name) {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return COLORS[hash % COLORS.length];
}

const wish = () => search.value.trim().toLowerCase();
const isFound = (name) => wish() !== "" && name.toLowerCase().includes(wish());
const width = () => Math.max(view.clientWidth - 30, 600);

// A box with its name, if that fits; what it is appears above when it is pointed at.
function box(svg, place, name, hint, onClick) {
  const shape = drawn("rect", { ...place, fill: colorOf(name), class: isFound(name) ? "found" : "" });
  shape.append(drawn("title", {}, hint));
  if (onClick) shape.addEventListener("click", onClick);
  svg.append(shape);
  const letters = Math.floor((place.width - 6) / 6.2);
  if (letters > 3)
    svg.append(drawn("text", { x: place.x + 3, y: place.y + 13, fill: "#ffffff" }, name.slice(0, letters)));
}

// ------------------------------------------------------------------ tabs

function showText() {
  view.append(element("pre", {}, data.text));
}

function showLines() {
  const table = element("table", { id: "lines" });
  const head = element("tr");
  for (const title of ["line", "time", "share", "in calls", "Python", "calls", "ops"])
    head.append(element("th", {}, title));
  table.append(head);
  let sum = 0;
  for (const row of data.lines) {
    const time = row.calls_ns + row.python;
    sum += time;
    const ops = row.ops.map(([name, ns]) => `${name} ${duration(ns)}`).join(", ");
    if (wish() && !isFound(row.line + ops)) continue;
    const cells = element("tr");
    const share = (100 * time) / data.wall;
    const texts = [row.line, duration(time), `${share.toFixed(1)} %`, duration(row.calls_ns),
      duration(row.python), row.calls];
    for (const text of texts) cells.append(element("td", {}, text));
    const last = element("td");
    last.append(element("span", { class: "bar", style: `width:${(150 * row.calls_ns) / data.wall}px` }));
    last.append(element("span", { class: "bar python", style: `width:${(150 * row.python) / data.wall}px` }));
    last.append(` ${ops}`);
    cells.append(last);
    table.append(cells);
  }
  note.textContent = `lines sum to ${((100 * sum) / data.wall).toFixed(2)} % of ${duration(data.wall)}`;
  view.append(table);
}

function depthOf(node) {
  return 1 + Math.max(0, ...node.inner.map(depthOf));
}

function showFlame() {
  const root = state.root || data.flame;
  const svg = drawn("svg", { width: width(), height: depthOf(root) * ROW + 4, id: "flame" });
  let count = 0, matching = 0;
  const place = (node, x, y, scale) => {
    const size = node.ns * scale;
    if (size < 0.7) return;
    count += 1;
    matching += isFound(node.name);
    const hint = `${node.name}\n${duration(node.ns)}, ${((100 * node.ns) / data.flame.ns).toFixed(1)} %`;
    box(svg, { x, y, width: size, height: ROW - 1 }, node.name, hint, () => {
      state.root = state.root === node ? null : node;
      show();
    });
    for (const inner of node.inner) {
      place(inner, x, y + ROW, scale);
      x += inner.ns * scale;
    }
  };
  place(root, 0, 0, width() / root.ns);
  note.textContent = wish() ? `${matching} found` : `${count} boxes; a click opens one`;
  view.append(svg);
}

function showTimeline() {
  const { threads, names, lines } = data.timeline;
  const scale = width() / (state.to - state.from);
  const svg = drawn("svg", { width: width(), id: "timeline" });
  let top = 16, count = 0, events = 0;
  for (const thread of threads) {
    svg.append(drawn("text", { x: 0, y: top - 3 }, `thread ${thread.id}`));
    let depth = 0, ends = [];
    for (const [level, begin, length, name, line, together] of thread.events) {
      events += together;
      if (begin + length < state.from || begin > state.to) continue;
      depth = Math.max(depth, level + 1);
      const x = (begin - state.from) * scale, size = Math.max(length * scale, 0.5);
      if (x + size < (ends[level] || -1) + 0.5) continue; // below a pixel
      ends[level] = x + size;
      count += 1;
      const text = together > 1 ? `${together} short events` : names[name];
      const hint = `${text}\n${lines[line]}\n${duration(length)}`;
      box(svg, { x, y: top + level * ROW, width: size, height: ROW - 1 }, text, hint, () => {
        [state.from, state.to] = [begin - length * 0.1, begin + length * 1.1];
        show();
      });
    }
    top += depth * ROW + 20;
  }
  svg.setAttribute("height", top);
  svg.addEventListener("dblclick", () => {
    [state.from, state.to] = [0, data.wall];
    show();
  });
  svg.addEventListener("wheel", (turn) => {
    turn.preventDefault();
    const at = state.from + turn.offsetX / scale, factor = turn.deltaY > 0 ? 1.25 : 0.8;
    [state.from, state.to] = [at - (at - state.from) * factor, at + (state.to - at) * factor];
    show();
  });
  note.textContent = `${events} events, ${count} drawn, ${duration(state.to - state.from)}; wheel zooms, double click shows all`;
  view.append(svg);
}

function showMemory() {
  const { roles, times, bytes: sizes } = data.memory;
  const height = 320, last = times[times.length - 1] || 1;
  const most = Math.max(1, ...sizes.map((row) => row.reduce((sum, n) => sum + n, 0)));
  const svg = drawn("svg", { width: width(), height: height + 40, id: "memory" });
  const below = times.map(() => 0);
  roles.forEach((role, k) => {
    const lower = below.slice();
    sizes.forEach((row, j) => (below[j] += row[k]));
    const point = (j, level) => `${(times[j] / last) * width()},${height - (level[j] / most) * height}`;
    const forth = times.map((_, j) => point(j, below)), back = times.map((_, j) => point(j, lower)).reverse();
    const area = drawn("polygon", { points: [...forth, ...back].join(" "), fill: COLORS[k], class: "role" });
    area.append(drawn("title", {}, role));
    svg.append(area);
    svg.append(drawn("text", { x: 10 + 110 * k, y: height + 30, fill: COLORS[k] }, role));
  });
  note.textContent = `the most: ${bytes(most)}`;
  view.append(svg);
}

function showRoofline() {
  const { products, bandwidth, rows } = data.roofline;
  const height = 360, wide = Math.min(width(), 900);
  const xs = (x) => ((Math.log2(x) + 6) / 18) * wide;
  const ys = (y) => height - (Math.log2(y / products) + 16) * (height / 17);
  const svg = drawn("svg", { width: wide + 120, height: height + 20, id: "roofline" });
  for (const [level, rate] of Object.entries(bandwidth)) {
    const ridge = products / rate;
    const points = [[2 ** -6, rate * 2 ** -6], [ridge, products], [2 ** 12, products]];
    svg.append(drawn("polyline", { class: "axis", points: points.map(([x, y]) => `${xs(x)},${ys(y)}`).join(" ") }));
    svg.append(drawn("text", { x: xs(2 ** -6) + 3, y: ys(rate * 2 ** -6) - 3 }, level));
  }
  for (const row of rows) {
    if (!row.rate || !row.intensity) continue;
    const size = 3 + 12 * Math.sqrt(row.seconds / rows[0].seconds);
    const dot = drawn("circle", { cx: xs(Math.max(row.intensity, 2 ** -6)), cy: ys(Math.max(row.rate, products * 2 ** -16)),
      r: size, fill: colorOf(row.name), "fill-opacity": 0.7, class: isFound(row.name) ? "found" : "" });
    dot.append(drawn("title", {}, `${row.name}\n${(row.rate / 1e9).toFixed(2)} GFLOP/s, ${row.intensity.toFixed(2)} operations a byte`));
    svg.append(dot);
  }
  view.append(svg);
  const table = element("table");
  for (const row of rows.filter((r) => !wish() || isFound(r.name))) {
    const cells = element("tr");
    const texts = [row.name, duration(row.seconds * 1e9), `${(row.rate / 1e9).toFixed(1)} GFLOP/s`,
      `${(100 * row.share).toFixed(0)} % of the roof`, row.limit];
    for (const text of texts) cells.append(element("td", {}, text));
    table.append(cells);
  }
  view.append(table);
  note.textContent = `${rows.length} rows`;
}

// ------------------------------------------------------------------ the page

const TABS = { text: showText, lines: showLines, flame: showFlame, timeline: showTimeline,
  memory: showMemory, roofline: showRoofline };
const tabs = document.getElementById("tabs");

function show() {
  view.replaceChildren();
  note.textContent = "";
  for (const button of tabs.children) button.className = button.id === `tab-${state.tab}` ? "chosen" : "";
  if (state.tab !== "all") return TABS[state.tab]();
  const notes = [];
  for (const name of Object.keys(TABS).filter((key) => key in data)) {
    TABS[name]();
    notes.push(note.textContent);
  }
  note.textContent = notes.filter(Boolean).join("; ");
}

for (const name of Object.keys(TABS)) {
  if (!(name in data)) continue;
  const button = element("button", { id: `tab-${name}` }, name === "text" ? "verdict" : name);
  button.addEventListener("click", () => {
    state.tab = name;
    show();
  });
  tabs.append(button);
}
const [wished, ...options] = location.hash.slice(1).split("&");
for (const option of options)
  if (option.startsWith("find=")) search.value = decodeURIComponent(option.slice(5));
state.tab = wished === "all" || (wished in data && wished in TABS) ? wished : tabs.firstElementChild.id.slice(4);
search.addEventListener("input", show);
window.addEventListener("resize", show);
show();
