// Sorts and filters tables, zooms charts. Pages are whole without it.
"use strict";

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function key(cell) {
  if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
  const text = cell.textContent.trim();
  return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function compared(one, other, direction) {
  if (one === "" || other === "") return (one === "") - (other === ""); // empty ones last, always
  if (typeof one === "number" && typeof other === "number") return (one - other) * direction;
  return String(one).localeCompare(String(other), "en", { numeric: true }) * direction;
}

function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compared(key(a.cells[column]), key(b.cells[column]), down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}

function filterable(table) {
  if (table.tBodies[0].rows.length < 10) return;
  const input = document.createElement("input");
  input.className = "filter";
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter rows");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.closest(".wide").before(input);
}

function label(value, low, high, kind) {
  if (kind !== "time") return number.format(value);
  const text = new Date(value * 1000).toISOString();
  return high - low < 86400 ? text.slice(11, 19) : text.slice(0, 10);
}

function ticks(low, high) {
  const about = (high - low) / 7;
  const power = 10 ** Math.floor(Math.log10(about));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= about * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step); at <= Math.floor(high / step); at += 1) found.push(at * step);
  return found;
}

function zoomable(figure) {
  const svg = figure.querySelector("svg");
  const plot = svg.querySelector(".plot");
  if (!plot) return;
  const { low, high, kind } = svg.dataset;
  const whole = { low: Number(low), high: Number(high) };
  const box = plot.viewBox.baseVal;
  const [wide, tall] = [box.width, box.height];
  const labels = svg.querySelector(".across");
  const first = labels.innerHTML;
  const value = (share) => whole.low + (whole.high - whole.low) * share;
  let range = [0, 1];

  function show(next) {
    range = next;
    plot.setAttribute("viewBox", `${range[0] * wide} 0 ${(range[1] - range[0]) * wide} ${tall}`);
    figure.dataset.zoomed = String(range[1] - range[0] < 1);
    if (range[1] - range[0] >= 1) { labels.innerHTML = first; return; }
    const [from, to] = range.map(value);
    const [left, size] = [plot.x.baseVal.value, plot.width.baseVal.value];
    const y = plot.y.baseVal.value + plot.height.baseVal.value + 16;
    labels.replaceChildren(...ticks(from, to).map((at) => {
      const text = document.createElementNS(svg.namespaceURI, "text");
      text.setAttribute("x", left + (size * (at - from)) / (to - from));
      text.setAttribute("y", y);
      text.textContent = label(at, from, to, kind);
      return text;
    }));
  }

  function share(event) {
    const place = plot.getBoundingClientRect();
    const at = Math.min(1, Math.max(0, (event.clientX - place.left) / place.width));
    return range[0] + at * (range[1] - range[0]);
  }

  function around(factor) {
    const middle = (range[0] + range[1]) / 2;
    const half = Math.min(0.5, ((range[1] - range[0]) / 2) * factor);
    const from = Math.min(Math.max(0, middle - half), 1 - 2 * half);
    show([from, from + 2 * half]);
  }

  let start = null;
  const chosen = document.createElementNS(svg.namespaceURI, "rect");
  chosen.setAttribute("class", "chosen");
  chosen.setAttribute("height", tall);
  plot.addEventListener("pointerdown", (event) => { start = share(event); plot.setPointerCapture(event.pointerId); });
  plot.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const at = share(event);
    chosen.setAttribute("x", Math.min(start, at) * wide);
    chosen.setAttribute("width", Math.abs(at - start) * wide);
    plot.append(chosen);
  });
  plot.addEventListener("pointerup", (event) => {
    const at = share(event);
    const from = start;
    start = null;
    chosen.remove();
    if (from !== null && Math.abs(at - from) > 0.01 * (range[1] - range[0])) show([Math.min(from, at), Math.max(from, at)]);
  });
  plot.addEventListener("dblclick", () => show([0, 1]));

  const buttons = document.createElement("span");
  buttons.className = "zoom";
  for (const [text, name, act] of [["+", "Zoom in", () => around(0.5)], ["−", "Zoom out", () => around(2)], ["all", "Show all", () => show([0, 1])]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    buttons.append(button);
  }
  figure.querySelector("figcaption").append(buttons);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table")) { sortable(table); filterable(table); }
  for (const figure of document.querySelectorAll(".chart")) zoomable(figure);
});
