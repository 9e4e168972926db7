// Helpers that scripts of pages share: elements of HTML and SVG, readable numbers.

const SPACE = "http://www.w3.org/2000/svg";
const COLORS = ["#5b8db8", "#7fb069", "#d9a441", "#b56576", "#8367c7", "#4fa3a5", "#9a8c98"];

function duration(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]])
    if (ns >= size) return `${(ns / size).toFixed(2)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

function bytes(count) {
  for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (count >= size) return `${(count / size).toFixed(2)} ${unit}`;
  return `${count} B`;
}

function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function drawn(name, attributes, text = "") {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
