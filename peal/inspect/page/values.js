// SPDX-License-Identifier: BSD-3-Clause
// Makes elements, and writes values as people read them. The end of a member's name is its unit. html_tables.cc writes
// values in the same form. Values are only inserted as text, so that no value can add markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const SOON_SECONDS = 14 * 86400;
// These members are numbers, but people use them as names. So their digits are not grouped.
const NUMBERS_AS_NAMES = new Set(["pid", "parent", "thread_id", "standard", "fmt"]);

const SECTION_TITLES = {metrics: "this program's metrics"};
// A row with a member `unit` says the unit of these figures there, not in their names.
const FIGURES_WITH_UNIT = new Set(["value", "sum", "p50", "p99", "max", "histogram"]);

const $ = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Makes an element of SVG. A member `text` of the attributes becomes its text.
function drawn(name, {text, ...attributes}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

function linkTo(address, text) {
  const link = element("a", text);
  link.href = address;
  return link;
}

// Writes a text only if it has changed, so that a selection in it stays.
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

const digits = (value, count) => String(Number(value.toPrecision(count)));

function humanNumber(value) {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return digits(value, 4);
}

function humanBytes(value) {
  let unit = 0;
  for (; value >= 1024 && unit + 1 < BYTE_UNITS.length; ++unit) value /= 1024;
  return `${digits(value, 4)} ${BYTE_UNITS[unit]}`;
}

function humanSeconds(value) {
  if (value === 0) return "0 s";
  if (value < 0) return `-${humanSeconds(-value)}`;
  if (value < 1e-3) return `${digits(value * 1e6, 3)} µs`;
  if (value < 1) return `${digits(value * 1e3, 3)} ms`;
  if (value < 120) return `${digits(value, 4)} s`;
  const whole = Math.floor(value);
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 86400) return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

// Returns a value as text. `key` is the name of its member, or only the unit, such as "_bytes".
function human(key, value) {
  if (value === undefined || value === null) return "";
  if (value === true || value === false) return value ? "yes" : "no";
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${name}=${each}`).join(", ");
  if (typeof value !== "number") return value;
  if (NUMBERS_AS_NAMES.has(key)) return String(value);
  if (key.endsWith("_bytes_per_second")) return `${humanBytes(value)}/s`;
  if (key.endsWith("_per_second")) return `${humanNumber(value)}/s`;
  if (key.endsWith("_bytes")) return humanBytes(value);
  if (key.endsWith("_seconds")) return humanSeconds(value);
  if (key.endsWith("_share")) return `${(value * 100).toFixed(1)} %`;
  return humanNumber(value);
}

const heading = (key) => key.replace(/_(bytes|seconds)$/, "").replaceAll("_", " ");

const clockTime = (unixSeconds) => new Date(unixSeconds * 1000).toLocaleTimeString("en-GB");

// Returns whether an operator has to act soon.
const needsAttention = (key, value) =>
  value === "STALLED" || (key === "certificate_left_seconds" && value < SOON_SECONDS);

// An array of pairs [upper end, count].
const isHistogram = (value) => Array.isArray(value) && Array.isArray(value[0]);

const isRows = (value) =>
  Array.isArray(value) && value.length > 0 && typeof value[0] === "object" && !Array.isArray(value[0]);

// Returns the name of a member with its unit at the end, as key_with_unit() of human_values.cc does.
const keyWithUnit = (key, row) => (row?.unit && FIGURES_WITH_UNIT.has(key) ? `${key}_${row.unit}` : key);

// Draws a histogram as bars. `unit` is that of the upper ends, such as "_seconds".
function bars(pairs, unit) {
  const height = 18;
  const most = Math.max(1, ...pairs.map((pair) => pair[1]));
  const svg = drawn("svg", {class: "bars", width: pairs.length * 6, height, role: "img", "aria-label": "histogram"});
  pairs.forEach(([limit, count], i) => {
    const tall = count === 0 ? 0 : Math.max(1, (count / most) * height);
    const title = drawn("title", {text: `to ${human(unit, limit)}: ${humanNumber(count)}`});
    svg.append(drawn("rect", {x: i * 6, y: height - tall, width: 5, height: tall}, title));
  });
  return svg;
}

// Shows one value inside `target`, which is a table cell or a dd. `row` has the members next to it. Does nothing if
// `target` shows this value already.
function showValue(target, key, value, row) {
  const written = JSON.stringify(value);
  if (target.written === written) return;
  target.written = written;
  target.classList.toggle("n", typeof value === "number");
  target.classList.toggle("bad", needsAttention(key, value));
  if (isHistogram(value)) {
    target.replaceChildren(bars(value, "unit" in row ? keyWithUnit(key, row) : "_seconds"));
  } else if (key === "id" && value) {
    target.replaceChildren(linkTo(`/connection/${encodeURIComponent(value)}`, value));
  } else if (key === "name" && "server" in row) {
    target.replaceChildren(linkTo(`/server/${encodeURIComponent(row.server)}`, value || `server ${row.server}`));
  } else if ((key === "method" || key === "route") && value && "server" in row) {
    target.replaceChildren(linkTo(`/${key}?server=${row.server}&name=${encodeURIComponent(value)}`, value));
  } else if (key === "connections" && "server" in row) {
    target.replaceChildren(linkTo(`/connections?server=${encodeURIComponent(row.server)}`, human(key, value)));
  } else if (key === "stack") {
    target.replaceChildren(element("pre", value));
  } else {
    target.textContent = human(keyWithUnit(key, row), value);
  }
}
