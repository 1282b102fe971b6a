// What all plots share: the time shown, what is hidden, how flows are grouped, and the colours of the page.
const MANY = 8;
const view = {
  from: content.window.from,
  to: content.window.to,
  byController: content.flows.length > MANY,
  inSegments: false,
  isSpread: content.flows.length > MANY,
  hasMarks: true,
  isZooming: false,
  isPrinted: false,
  hidden: new Set(),
};
const plots = [];
const linked = Symbol("time"); // cursors of one report, and of no other in the same notebook
const LIGHTER = { "#0072b2": "#4a93e6", "#56b4e9": "#a6dcff", "#009e73": "#2fc79c", "#8c564b": "#c59083", "#7f7f7f": "#aaaaaa" };
const DASHES = [[], [7, 2], [3, 2], [8, 2, 2, 2]];
const controllers = [...new Set(content.flows.map(flow => flow.controller))];

const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const shade = colour => (host.isDark() && LIGHTER[colour]) || colour;
const colourAt = place => shade(content.colours[place % content.colours.length]);
const dashAt = place => DASHES[Math.floor(place / content.colours.length) % DASHES.length];
const colourOfController = name => colourAt(controllers.indexOf(name));
const colourOfFlow = place =>
  view.byController ? colourOfController(content.flows[place].controller) : colourAt(place);

// Whether a line of a plot is hidden: by its flow, which is hidden everywhere, or by its name.
const keyOf = line => (line.flow >= 0 ? `flow ${line.flow}` : `${line.kind} ${line.who}`);

function zoom(from, to) {
  const { from: least, to: most } = content.window, width = Math.min(to - from, most - least);
  if (!(width > 1e-7)) return;
  view.from = Math.max(least, Math.min(from, most - width));
  view.to = view.from + width;
  for (const plot of plots) plot.zoomed();
  said(`${number(view.from)} to ${number(view.to)} s`);
  host.zoomed(view.from, view.to, view.from === least && view.to === most);
}

function changed() {
  for (const plot of plots) plot.changed();
}

function number(value) {
  if (value == null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? 6 : 4 });
}

function said(text) {
  root.querySelector("#status").textContent = text;
}

function made(kind, attributes = {}, ...children) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value); else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
