// SPDX-License-Identifier: BSD-3-Clause
// Makes the page live: once a second this script fetches the page's figures as JSON and writes the tables again, in the
// same form as html_tables.cc. Values of the JSON are only inserted as text, so that no value can add markup.
"use strict";

const PERIOD_MS = 1000;
const HISTORY = 120;
const SOON_SECONDS = 14 * 86400;
const SVG = "http://www.w3.org/2000/svg";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

const $ = (id) => document.getElementById(id);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const digits = (value, count) => String(Number(value.toPrecision(count)));

function humanBytes(value) {
  let unit = 0;
  for (; value >= 1024 && unit + 1 < UNITS.length; ++unit) value /= 1024;
  return `${digits(value, 4)} ${UNITS[unit]}`;
}

function humanSeconds(value) {
  if (value === 0) return "0";
  if (value < 0) return `-${humanSeconds(-value)}`;
  if (value < 1e-3) return `${digits(value * 1e6, 3)} us`;
  if (value < 1) return `${digits(value * 1e3, 3)} ms`;
  if (value < 120) return `${digits(value, 4)} s`;
  const whole = Math.floor(value);
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 86400) return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

function human(key, value) {
  if (value === undefined || value === null) return "";
  if (value === true || value === false) return value ? "yes" : "no";
  if (typeof value !== "number") return value;
  if (key.endsWith("_bytes")) return humanBytes(value);
  if (key.endsWith("_seconds")) return humanSeconds(value);
  if (key.endsWith("_share")) return `${(value * 100).toFixed(1)} %`;
  return Number.isInteger(value) ? String(value) : digits(value, 4);
}

function bars(pairs) {
  const height = 18;
  const most = Math.max(1, ...pairs.map((pair) => pair[1]));
  const svg = drawn("svg", {class: "bars", width: pairs.length * 6, height});
  pairs.forEach(([limit, count], i) => {
    const tall = count === 0 ? 0 : Math.max(1, (count / most) * height);
    const rect = drawn("rect", {x: i * 6, y: height - tall, width: 5, height: tall});
    const title = drawn("title", {});
    title.textContent = `to ${humanSeconds(limit)}: ${count}`;
    rect.append(title);
    svg.append(rect);
  });
  return svg;
}

function cell(key, value) {
  const td = element("td", undefined, typeof value === "number" ? "n" : "");
  if (Array.isArray(value) && (value.length === 0 || typeof value[0] === "string")) {
    td.textContent = value.join(", ");
  } else if (Array.isArray(value)) {
    td.append(bars(value));
  } else if (key === "id") {
    const link = element("a", value);
    link.href = `/connection/${encodeURIComponent(value)}`;
    td.append(link);
  } else if (key === "stack") {
    td.append(element("pre", value));
  } else {
    td.textContent = human(key, value);
  }
  if (value === "STALLED" || (key === "certificate_left_seconds" && value < SOON_SECONDS)) td.classList.add("bad");
  return td;
}

const heading = (key) => key.replace(/_(bytes|seconds)$/, "").replaceAll("_", " ");

// Returns the actions of a row, each as [label of the button, path of the request].
function actionsOf(section, row) {
  if (section === "servers") return [["drain", `/actions/drain?server=${row.server}`]];
  if (section !== "connections" && section !== "connection") return [];
  const id = encodeURIComponent(row.id);
  return [["drain", `/actions/end?connection=${id}&how=drain`], ["kill", `/actions/end?connection=${id}&how=abort`]];
}

function addActionButtons(section, row, tr) {
  const found = actionsOf(section, row);
  if (found.length === 0) return;
  const td = element("td");
  for (const [label, address] of found) {
    const button = element("button", label);
    button.addEventListener("click", () => act(address));
    td.append(button);
  }
  tr.append(td);
}

const isRows = (value) =>
  Array.isArray(value) && value.length > 0 && typeof value[0] === "object" && !Array.isArray(value[0]);

// Returns the arrays of objects inside rows, joined by the name of their member. Each of their rows begins with the
// server and name of the outer row.
function rowsWithin(rows) {
  const found = {};
  for (const outer of rows) {
    for (const [name, value] of Object.entries(outer)) {
      if (!isRows(value)) continue;
      found[name] ??= [];
      found[name].push(...value.map((inner) => ({server: outer.server, name: outer.name, ...inner})));
    }
  }
  return found;
}

// Returns the sections of the page, each as [name, value].
function sectionsOf(json) {
  const found = [];
  for (const [name, value] of Object.entries(json)) {
    if (value === null || typeof value !== "object") continue;
    found.push([name, value]);
    if (isRows(value)) found.push(...Object.entries(rowsWithin(value)));
  }
  return found;
}

function rowsTable(section, rows) {
  const table = element("table");
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row).filter((key) => !isRows(row[key]))))];
  const head = table.createTHead().insertRow();
  for (const key of keys) head.append(element("th", heading(key)));
  const body = table.createTBody();
  for (const row of rows) {
    const tr = body.insertRow();
    for (const key of keys) tr.append(cell(key, row[key]));
    addActionButtons(section, row, tr);
  }
  if (rows.length === 0) body.insertRow().append(element("td", "none"));
  return table;
}

function membersTable(section, members) {
  const table = element("table");
  for (const [key, value] of Object.entries(members)) {
    const tr = table.insertRow();
    const td = cell(key, value);
    td.classList.remove("n");
    tr.append(element("th", heading(key)), td);
  }
  if (members.id) addActionButtons(section, members, table.insertRow());
  return table;
}

// Writes all sections. Only the table inside a section is replaced, so that scroll positions stay. Nothing is replaced
// while a button is pressed, because its click would be lost.
function show(json) {
  const main = document.querySelector("main");
  if (main.querySelector("button:active")) return;
  const sections = sectionsOf(json);
  const names = sections.map(([name]) => name);
  for (const section of main.querySelectorAll("section")) if (!names.includes(section.id)) section.remove();
  let above = null;
  for (const [name, value] of sections) {
    let section = $(name);
    if (!section) {
      section = element("section");
      section.id = name;
      section.append(element("h2", heading(name)), element("div", undefined, "scroll"));
      if (above) above.after(section);
      else main.prepend(section);
    }
    above = section;
    section.querySelector("table")?.remove();
    section.querySelector(".scroll").append(
      Array.isArray(value) ? rowsTable(name, value) : membersTable(name, value));
  }
  $("level").value = json.log ? json.log.level : json.log_level;
}

const histories = new Map();
let before = null;

function tile(label, value, text) {
  const history = histories.get(label) ?? [];
  histories.set(label, history);
  history.push(value);
  if (history.length > HISTORY) history.shift();
  const most = Math.max(...history, 1e-9);
  const points = history.map((each, i) => `${(i * 140) / (HISTORY - 1)},${(29 - (each / most) * 28).toFixed(1)}`);
  const made = element("div", undefined, "tile");
  const svg = drawn("svg", {width: 140, height: 30, role: "img", "aria-label": `${label}, the last two minutes`});
  svg.append(drawn("polyline", {points: points.join(" ")}));
  made.append(element("span", label), element("b", text), svg);
  return made;
}

const sum = (rows, key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);

function showTiles(json) {
  if (!json.process || !json.loops || !json.servers) return;
  const last = before;
  before = json;
  if (!last) return;
  const passed = Math.max(json.taken_unix_seconds - last.taken_unix_seconds, 1e-3);
  const rate = (now, then) => Math.max(0, (now - then) / passed);
  const cpu = (each) => each.process.user_cpu_seconds + each.process.system_cpu_seconds;
  // The busiest loop is found by busy time or CPU time, whichever is larger. The work that io_uring does for a loop
  // inside its wait counts as CPU time, but not as busy time.
  const share = (key, i) => rate(json.loops[i][key] ?? 0, last.loops[i]?.[key] ?? Infinity);
  const busiest = Math.max(0, ...json.loops.map((_, i) => Math.max(share("busy_seconds", i), share("cpu_seconds", i))));
  const requests = (each) => sum(each.servers, "requests");
  const tiles = [
    tile("CPU", rate(cpu(json), cpu(last)), `${(rate(cpu(json), cpu(last)) * 100).toFixed(0)} %`),
    tile("busiest loop", busiest, `${(busiest * 100).toFixed(0)} %`),
    tile("resident", json.process.resident_bytes, humanBytes(json.process.resident_bytes)),
    tile("connections", sum(json.servers, "connections"), String(sum(json.servers, "connections"))),
  ];
  const add = (label, value) => tiles.push(tile(label, value, digits(value, 3)));
  add("events/s", rate(sum(json.loops, "events"), sum(last.loops, "events")));
  if (json.servers.some((server) => "requests" in server)) add("requests/s", rate(requests(json), requests(last)));
  $("tiles").replaceChildren(...tiles);
}

async function refresh() {
  const status = $("status");
  try {
    const answer = await fetch(document.body.dataset.json, {signal: AbortSignal.timeout(5000), cache: "no-store"});
    if (!answer.ok) throw new Error(`the answer was ${answer.status}`);
    const json = await answer.json();
    show(json);
    showTiles(json);
    status.className = "";
    status.textContent = `Live, as of ${new Date().toLocaleTimeString()}.`;
  } catch (error) {
    status.className = "lost";
    status.textContent = `No answer: ${error.message}. The figures are old.`;
  }
}

async function act(address) {
  const token = $("token").value;
  const headers = {"Peal-Action": "1"};
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const answer = await fetch(address, {method: "POST", headers});
    $("outcome").textContent = (await answer.text()).trim();
  } catch (error) {
    $("outcome").textContent = `The action could not be sent: ${error.message}.`;
  }
  await refresh();
}

async function live() {
  if (!document.hidden) await refresh();
  setTimeout(live, PERIOD_MS);
}

$("actions").hidden = false;
$("level").addEventListener("change", (event) => act(`/actions/log_level?level=${event.target.value}`));
live();
