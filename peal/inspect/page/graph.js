// SPDX-License-Identifier: BSD-3-Clause
// Draws one graph of the last ten minutes as SVG: Graph.set() takes the series, Graph.draw() draws them. All graphs
// mark the same moment, which the pointer or the arrow keys choose.
"use strict";

const LONGEST_SPAN_SECONDS = 600;
const TICKS_SECONDS = [10, 30, 60, 120, 240];
const PLOT_HEIGHT = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [72, 12, 8, 20];  // the margins around the plot, in pixels
const MOST_SERIES = 8;
const GAP_SECONDS = 3.5;  // a line is interrupted if two samples are further apart
const PAGE_OF_SAMPLES = 60;

const graphs = [];
let markedTime = null;  // Unix seconds of the moment that all graphs mark, or null
let drawing = 0;

function markTime(time) {
  markedTime = time;
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    for (const graph of graphs) graph.drawMarked();
  });
}

// Returns the distance between two ticks, so that at most four are needed up to `most`. Bytes have powers of 1024.
function tickStep(most, unit) {
  const base = unit.includes("_bytes") ? 1024 : 1000;
  const whole = !unit || unit.includes("_bytes");
  const least = most > 0 ? most / 4 : whole ? 1 : 1e-3;
  const size = Math.max(base ** Math.floor(Math.log(least) / Math.log(base)), whole ? 1 : 0);
  return size * ([1, 2, 5, 10, 20, 50, 100, 200, 500, base].find((each) => each * size >= least) ?? base);
}

// Returns {shown, rest}: at most eight series, in their order. If there are more, the largest on average are shown.
function largest(series) {
  if (series.length <= MOST_SERIES) return {shown: series, rest: []};
  const size = (each) => each.values.reduce((sum, value) => sum + (value ?? 0), 0);
  const shown = new Set([...series].sort((a, b) => size(b) - size(a)).slice(0, MOST_SERIES));
  return {shown: series.filter((each) => shown.has(each)), rest: series.filter((each) => !shown.has(each))};
}

// Returns the largest of many numbers and nulls, or null if all are null.
const mostOf = (values) =>
  values.reduce((most, value) => (value !== null && (most === null || value > most) ? value : most), null);

class Graph {
  times = [];
  shown = [];
  rest = [];
  marks = [];

  // `unit` is the end of a member's name, such as "_bytes_per_second". See human() in values.js.
  constructor(title, unit) {
    this.title = title;
    this.unit = unit;
    this.figure = element("figure", undefined, "graph");
    this.when = element("span", "now");
    const caption = element("figcaption", title);
    caption.append(this.when);
    this.plot = element("div", undefined, "plot");
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "application");
    this.plot.setAttribute("aria-label", `Graph: ${title}, the last ten minutes. Arrow keys read the values.`);
    this.svg = drawn("svg", {height: PLOT_HEIGHT, "aria-hidden": "true"});
    this.plot.append(this.svg);
    this.legend = element("ul", undefined, "legend");
    this.said = element("output", "", "unseen");
    this.said.setAttribute("aria-live", "polite");
    this.figure.append(caption, this.plot, this.legend, this.said);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerdown", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => markTime(null));
    this.plot.addEventListener("blur", () => markTime(null));
    this.plot.addEventListener("keydown", (event) => this.press(event));
    graphs.push(this);
  }

  // `series` is an array of {name, values}. `times` has the Unix seconds of these values. `marks` is an array of
  // {name, value}: horizontal lines.
  set(times, series, marks = []) {
    this.times = times;
    for (const each of series) each.most = mostOf(each.values);
    Object.assign(this, largest(series));
    this.marks = marks;
    this.draw();
  }

  // Returns the index of the marked sample, or -1.
  marked() {
    if (markedTime === null) return -1;
    return this.times.findIndex((time) => Math.abs(time - markedTime) < 0.5);
  }

  point(event) {
    const x = event.clientX - this.svg.getBoundingClientRect().left;
    const time = this.end() - this.span() * (1 - (x - LEFT) / (this.width() - LEFT - RIGHT));
    const distance = (each) => Math.abs(each - time);
    markTime(this.times.reduce((best, each) => (distance(each) < distance(best) ? each : best), this.times[0] ?? null));
  }

  press(event) {
    const last = this.times.length - 1;
    const at = this.marked();
    const from = at < 0 ? last + 1 : at;
    const to = {ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - PAGE_OF_SAMPLES,
                PageDown: from + PAGE_OF_SAMPLES, Home: 0, End: last}[event.key];
    if (event.key === "Escape") markTime(null);
    if (to === undefined || last < 0) return;
    event.preventDefault();
    const next = Math.min(Math.max(to, 0), last);
    markTime(this.times[next]);
    const values = this.shown.map((each) => `${each.name} ${this.text(each.values[next])}`);
    this.said.textContent = `${clockTime(this.times[next])}: ${values.join(", ")}`;
  }

  text(value) {
    return value === null || value === undefined ? "unknown" : human(this.unit, value);
  }

  end() {
    return this.times.at(-1) ?? Date.now() / 1000;
  }

  // Returns the time that the graph spans, in whole minutes: less than ten while there are fewer samples.
  span() {
    const known = this.end() - (this.times[0] ?? this.end());
    return Math.min(Math.max(Math.ceil(known / 60), 1) * 60, LONGEST_SPAN_SECONDS);
  }

  width() {
    return this.plot.clientWidth;
  }

  draw() {
    if (this.width() === 0) return;
    const [width, end] = [this.width(), this.end()];
    const known = mostOf([...this.shown, ...this.rest].map((each) => each.most)) ?? 0;
    // A mark far above the values would press them to the ground: then only the legend has it.
    const near = this.marks.filter((mark) => mark.value <= known * 2);
    const most = Math.max(known, ...near.map((mark) => mark.value), this.unit === "_share" ? 1 : 0);
    const step = tickStep(most, this.unit);
    const top = Math.max(1, Math.ceil(most / step - 1e-9)) * step;
    const x = (time) => LEFT + (width - LEFT - RIGHT) * (1 - (end - time) / this.span());
    const y = (value) => TOP + (PLOT_HEIGHT - TOP - BOTTOM) * (1 - value / top);
    const parts = [...this.valueAxis(width, step, top, y), ...this.timeAxis(width, end, x), this.band(x, y)];
    for (const mark of near) {
      parts.push(drawn("line", {class: "mark", x1: LEFT, x2: width - RIGHT, y1: y(mark.value), y2: y(mark.value)}),
                 drawn("text", {class: "mark", x: width - RIGHT - 2, y: y(mark.value) - 3, "text-anchor": "end",
                                text: mark.name}));
    }
    this.shown.forEach(({values}, i) => {
      parts.push(drawn("path", {class: `line s${i}`, d: this.path(values, x, y)}));
    });
    this.cursor = drawn("g", {});
    this.scale = {x, y};
    this.svg.setAttribute("width", width);
    this.svg.replaceChildren(...parts, this.cursor);
    this.drawMarked();
  }

  valueAxis(width, step, top, y) {
    const parts = [];
    for (let value = 0; value <= top * 1.001; value += step) {
      parts.push(drawn("line", {class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value)}));
      const text = this.unit === "_share" ? `${Math.round(value * 100)} %` : human(this.unit, value);
      parts.push(drawn("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end", text}));
    }
    return parts;
  }

  timeAxis(width, end, x) {
    const parts = [];
    const most = width > 450 ? 6 : 3;
    const every = TICKS_SECONDS.find((step) => this.span() / step <= most);
    for (let time = Math.ceil((end - this.span()) / every) * every; time <= end; time += every) {
      const at = x(time);
      parts.push(drawn("line", {class: "grid", x1: at, x2: at, y1: TOP, y2: PLOT_HEIGHT - BOTTOM + 4}));
      if (at > width - 24 || at < LEFT + 14) continue;
      const text = every < 60 ? clockTime(time) : clockTime(time).slice(0, 5);
      parts.push(drawn("text", {x: at, y: PLOT_HEIGHT - 4, "text-anchor": "middle", text}));
    }
    return parts;
  }

  // Returns whether the line is interrupted before sample i.
  isGap(i) {
    return i === 0 || this.times[i] - this.times[i - 1] > GAP_SECONDS;
  }

  path(values, x, y) {
    let path = "";
    let down = false;
    values.forEach((value, i) => {
      const move = !down || this.isGap(i);
      down = value !== null;
      // A point without neighbours is drawn as a dot: a line of no length with round ends.
      if (down) path += `${move ? `M${x(this.times[i]).toFixed(1)} ${y(value).toFixed(1)}` : ""}` +
                        `L${x(this.times[i]).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    return path;
  }

  // The series that have no line of their own are an area from their smallest to their largest value.
  band(x, y) {
    let path = "";
    this.times.forEach((time, i) => {
      const values = this.rest.map((each) => each.values[i]).filter((value) => value !== null && value !== undefined);
      if (values.length === 0) return;
      path += `M${x(time).toFixed(1)} ${y(Math.min(...values)).toFixed(1)}V${(y(Math.max(...values)) - 1).toFixed(1)}`;
    });
    return drawn("path", {class: "band", d: path});
  }

  // Draws what depends on the marked moment only: the cursor, and the values of the legend.
  drawMarked() {
    const at = this.marked();
    const parts = [];
    if (at >= 0 && this.cursor) {
      const where = this.scale.x(this.times[at]);
      parts.push(drawn("line", {class: "cursor", x1: where, x2: where, y1: TOP, y2: PLOT_HEIGHT - BOTTOM}));
      this.shown.forEach((each, i) => {
        const value = each.values[at] ?? null;
        if (value !== null) parts.push(drawn("circle", {class: `dot s${i}`, cx: where, cy: this.scale.y(value), r: 3}));
      });
    }
    this.cursor?.replaceChildren(...parts);
    this.drawLegend(at);
  }

  drawLegend(at) {
    setText(this.when, at < 0 ? "now" : `at ${clockTime(this.times[at])}`);
    const index = at < 0 ? this.times.length - 1 : at;
    const entry = (key, name, value, more) => {
      const made = element("li");
      made.append(key, element("span", name, "name"), element("b", value), element("small", more));
      return made;
    };
    const line = (name) => drawn("svg", {width: 22, height: 8, "aria-hidden": "true"},
                                 drawn("path", {class: name, d: "M1 4H21"}));
    const entries = this.shown.map((each, i) =>
      entry(line(`line s${i}`), each.name, this.text(each.values[index]), `most ${this.text(each.most)}`));
    if (this.rest.length > 0) {
      const values = this.rest.map((each) => each.values[index] ?? null).filter((value) => value !== null);
      const range = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [null, null];
      const text = range.map((each) => this.text(each)).join(" to ");
      entries.push(entry(line("band"), `${this.rest.length} others`, text, ""));
    }
    for (const mark of this.marks) entries.push(entry(line("mark"), mark.name, this.text(mark.value), ""));
    this.legend.replaceChildren(...entries);
  }
}

addEventListener("resize", () => { for (const graph of graphs) graph.draw(); });
