// Draws the graph of the page's data: stacks boxes, folds groups, searches, moves.
// Layers come from layers.py; svg.py places boxes in the same way.

const LETTER = 6.6, PADDING = 12, HEADER = 22, GAP = 16, LAYER_GAP = 30;
const { items, top: topGroup } = data;
const scene = document.getElementById("scene");
const picture = document.getElementById("picture");
const details = document.getElementById("details");
const state = { backward: false, selected: null, x: 20, y: 20, scale: 1 };

// ------------------------------------------------------------------ the tree

const holderOf = new Map(); // item number or group -> the group around it
const groups = [];

function adopt(group) {
  groups.push(group);
  group.numbers = [];
  for (const child of group.children) {
    holderOf.set(child, group);
    if (typeof child === "number") group.numbers.push(child);
    else group.numbers.push(...adopt(child));
  }
  group.bytes = group.numbers.reduce((sum, n) => sum + items[n].bytes, 0);
  return group.numbers;
}

function readableBytes(count) {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])
    if (count >= size) return `${(count / size).toFixed(1)} ${unit}`;
  return `${count} B`;
}

// The outermost closed group around an item, or the item itself.
function shownAs(number) {
  let shown = number;
  for (let g = holderOf.get(number); g; g = holderOf.get(g)) if (!g.open) shown = g;
  return shown;
}

// ------------------------------------------------------------------ places

function smallBox(child, lines) {
  const width = Math.max(...lines.map((line) => line.length)) * LETTER + 2 * PADDING;
  return { child, lines, width, height: 38, inner: [], x: 0, y: 0 };
}

function measure(child) {
  if (typeof child === "number") {
    const item = items[child];
    const saved = item.bytes ? `, ${readableBytes(item.bytes)} saved` : "";
    return smallBox(child, [state.backward ? item.backward : item.name, item.shape + saved]);
  }
  if (!child.open) {
    const second = `${child.numbers.length} nodes, ${readableBytes(child.bytes)} saved`;
    return smallBox(child, [`+ ${child.name}`, second]);
  }
  const inner = child.children.map(measure);
  const rows = child.layers.map((layer) => layer.map((k) => inner[k]));
  if (state.backward) rows.reverse();
  return stack({ child, lines: [child.name], inner, x: 0, y: 0 }, rows);
}

function stack(box, rows) {
  const widths = rows.map((row) => row.reduce((sum, b) => sum + b.width, GAP * (row.length - 1)));
  box.width = Math.max(...widths, box.lines[0].length * LETTER, 0) + 2 * PADDING;
  let y = PADDING + HEADER;
  rows.forEach((row, number) => {
    let x = (box.width - widths[number]) / 2;
    for (const inner of row) {
      inner.x = x;
      inner.y = y;
      x += inner.width + GAP;
    }
    y += Math.max(...row.map((b) => b.height)) + LAYER_GAP;
  });
  box.height = y - (rows.length ? LAYER_GAP : 0) + PADDING;
  return box;
}

function flatten(box, x, y, found) {
  box.x += x;
  box.y += y;
  found.push(box);
  for (const inner of box.inner) flatten(inner, box.x, box.y, found);
  return found;
}

// ------------------------------------------------------------------ drawing

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawBox(box) {
  const { child } = box;
  const isItem = typeof child === "number";
  const kind = isItem ? (items[child].leaf ? "leaf" : "item") : child.open ? "group" : "folded";
  const selected = child === state.selected ? " selected" : "";
  const g = element("g", { class: kind + selected });
  const { x, y, width, height } = box;
  g.append(element("rect", { x, y, width, height, rx: 4 }));
  box.lines.forEach((line, k) => {
    const attributes = { x: x + PADDING, y: y + 15 + 14 * k };
    if (k) attributes.class = "small";
    g.append(element("text", attributes, line));
  });
  g.addEventListener("click", () => {
    if (moved) return;
    if (isItem) select(child);
    else toggle(child);
  });
  return g;
}

function drawEdge(from, to, selected) {
  const [start, end] = state.backward ? [to, from] : [from, to];
  const x0 = start.x + start.width / 2, y0 = start.y + start.height;
  const x1 = end.x + end.width / 2, y1 = end.y;
  const kind = { class: selected ? "edge selected" : "edge", "marker-end": "url(#tip)" };
  if (y1 - y0 > 3 * LAYER_GAP) return element("path", { ...kind, d: aroundRows(start, end) });
  const bend = Math.max(Math.abs(y1 - y0) / 2, LAYER_GAP / 2);
  return element("path", {
    ...kind, d: `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`,
  });
}

// An edge that passes rows goes out to the right: it would hide what stands in them.
function aroundRows(start, end) {
  const x0 = start.x + start.width, y0 = start.y + start.height / 2;
  const x1 = end.x + end.width, y1 = end.y + end.height / 2;
  const out = Math.max(x0, x1) + 60 + Math.min((y1 - y0) / 6, 200);
  return `M${x0} ${y0}C${out} ${y0} ${out} ${y1} ${x1} ${y1}`;
}

let boxOf = new Map();

function draw() {
  const [whole, ...boxes] = flatten(measure(topGroup), 0, 0, []);
  boxOf = new Map(boxes.map((box) => [box.child, box]));
  boxOf.set(topGroup, whole);
  const drawn = document.createDocumentFragment();
  for (const box of boxes) drawn.append(drawBox(box));
  const pairs = new Set();
  items.forEach((item, number) => {
    const to = boxOf.get(shownAs(number));
    for (const input of item.inputs) {
      const from = boxOf.get(shownAs(input));
      const key = `${shownKey(input)}>${shownKey(number)}`;
      if (from === to || pairs.has(key)) continue;
      pairs.add(key);
      drawn.append(drawEdge(from, to, [number, input].includes(state.selected)));
    }
  });
  scene.replaceChildren(tip(), drawn);
  const count = boxes.filter((b) => typeof b.child === "number" || !b.child.open).length;
  const saved = readableBytes(topGroup.bytes);
  document.getElementById("counts").textContent =
    `${items.length} nodes, ${count} boxes shown, ${saved} saved for backward`;
  moveScene();
}

function shownKey(number) {
  const shown = shownAs(number);
  return typeof shown === "number" ? shown : shown.path;
}

function tip() {
  const marker = element("marker", {
    id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
  });
  marker.append(element("path", { d: "M0 0L8 4L0 8z", fill: "#8596a6" }));
  return marker;
}

// ------------------------------------------------------------------ folding, details, search

function toggle(group) {
  const before = boxOf.get(group);
  group.open = !group.open;
  draw();
  const after = boxOf.get(group); // the box stays where it was clicked
  state.x += (before.x - after.x) * state.scale;
  state.y += (before.y - after.y) * state.scale;
  moveScene();
}

function setAll(open) {
  for (const group of groups) group.open = open || group === topGroup;
  draw();
  fit();
}

function reveal(number) {
  for (let g = holderOf.get(number); g; g = holderOf.get(g)) g.open = true;
  select(number);
  const box = boxOf.get(number);
  state.scale = Math.max(state.scale, 0.8);
  state.x = picture.clientWidth / 2 - (box.x + box.width / 2) * state.scale;
  state.y = picture.clientHeight / 2 - (box.y + box.height / 2) * state.scale;
  moveScene();
}

function select(number) {
  state.selected = number;
  draw();
  const item = items[number];
  details.replaceChildren(heading(`${item.name} · ${item.backward}`));
  const facts = [
    ["result", item.shape], ["module", item.module], ["line", item.source],
    ["saved", item.saved.join("\n")],
  ];
  for (const [name, value] of facts) {
    if (!value) continue;
    const line = document.createElement("p");
    line.style.whiteSpace = "pre-wrap";
    line.textContent = `${name}: ${value}`;
    details.append(line);
  }
  const readers = items.flatMap((other, n) => (other.inputs.includes(number) ? [n] : []));
  appendList("reads", item.inputs);
  appendList("read by", readers);
}

function heading(text) {
  const made = document.createElement("h2");
  made.textContent = text;
  return made;
}

function appendList(title, numbers) {
  if (!numbers.length) return;
  const list = document.createElement("ul");
  for (const number of numbers) {
    const entry = document.createElement("li");
    entry.textContent = `${items[number].name} ${items[number].shape} ${items[number].module}`;
    entry.addEventListener("click", () => reveal(number));
    list.append(entry);
  }
  details.append(heading(title), list);
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return details.replaceChildren();
  const found = items.flatMap((item, number) =>
    [item.name, item.backward, item.module, item.source].join(" ").toLowerCase().includes(wanted)
      ? [number] : []);
  details.replaceChildren();
  appendList(`${found.length} found`, found.slice(0, 200));
  if (!found.length) details.replaceChildren(heading("nothing found"));
}

// ------------------------------------------------------------------ moving

let moved = false;

function moveScene() {
  scene.setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.scale})`);
}

function fit(least = 0.02) {
  const box = boxOf.get(topGroup);
  const across = picture.clientWidth / box.width, down = picture.clientHeight / box.height;
  state.scale = Math.min(1.2, Math.max(least, Math.min(across, down)));
  state.x = (picture.clientWidth - box.width * state.scale) / 2;
  state.y = Math.max(0, (picture.clientHeight - box.height * state.scale) / 2);
  moveScene();
}

picture.addEventListener("pointerdown", (event) => {
  const start = { x: event.clientX - state.x, y: event.clientY - state.y };
  moved = false;
  const follow = (next) => {
    const x = next.clientX - start.x, y = next.clientY - start.y;
    moved ||= Math.abs(x - state.x) + Math.abs(y - state.y) > 3;
    if (!moved) return;
    [state.x, state.y] = [x, y];
    moveScene();
  };
  const stop = () => {
    removeEventListener("pointermove", follow);
    removeEventListener("pointerup", stop);
  };
  addEventListener("pointermove", follow);
  addEventListener("pointerup", stop);
});

picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const factor = Math.exp(-event.deltaY / 500);
  const { left, top } = picture.getBoundingClientRect();
  const x = event.clientX - left, y = event.clientY - top;
  state.x = x - (x - state.x) * factor;
  state.y = y - (y - state.y) * factor;
  state.scale *= factor;
  moveScene();
}, { passive: false });

function turn() {
  state.backward = !state.backward;
  document.getElementById("direction").textContent =
    state.backward ? "show forward" : "show backward";
  draw();
}

document.getElementById("direction").addEventListener("click", turn);
document.getElementById("unfold").addEventListener("click", () => setAll(true));
document.getElementById("fold").addEventListener("click", () => setAll(false));
document.getElementById("fit").addEventListener("click", () => fit());
document.getElementById("search").addEventListener("input", (e) => search(e.target.value));

// "#unfold", "#backward" and "#find=relu" open the page in a state; "&" joins them.
adopt(topGroup);
draw();
fit(0.7); // readable; the start of a long graph
for (const wish of decodeURIComponent(location.hash.slice(1)).split("&")) {
  if (wish === "unfold") setAll(true);
  if (wish === "backward") turn();
  if (wish.startsWith("find=")) search(wish.slice(5));
  if (wish.startsWith("show=")) reveal(Number(wish.slice(5)));
}
