// SPDX-License-Identifier: BSD-3-Clause
// Makes the page live: fetches the document of the page, and the history for its graphs, and shows both. Read on in:
//   values.js       how a value is written          samples.js      the figures of the last ten minutes
//   tables.js       tables and lists of facts       graph.js        how a graph is drawn
//   overview.js     which graphs a page has         connections.js  the list of connections
//   connection.js   one connection                  actions.js      drain, kill, log level
"use strict";

const PERIOD_MS = 1000;
const CONNECTIONS_PERIOD_MS = 2000;
const FETCH_LIMIT_MS = 5000;

// What differs between the pages. `after` is the section above the graphs. `history` is added to the query of /history.
// A page that is not listed has tables only.
const PAGES = {
  overview: {graphs: ["traffic", "requests", "latency", "busy", "turns", "memory", "connections"], after: "process",
             metrics: true},
  loops: {graphs: ["busy", "turns"]},
  servers: {graphs: ["connections", "requests", "latency"]},
  server: {graphs: ["connections", "answers", "latency", "opened"], show: showServer},
  method: {graphs: ["calls", "callLatency"], history: location.search.slice(1)},
  route: {graphs: ["calls", "callLatency"], history: location.search.slice(1)},
  memory: {graphs: ["memory"]},
  program: {graphs: [], metrics: true},
  connections: {graphs: [], show: showConnections, start: startConnections, path: connectionsPath, paused: whyPaused,
                period: CONNECTIONS_PERIOD_MS},
  connection: {graphs: [], show: showConnection, start: startConnection},
};
const page = PAGES[pageName] ?? {graphs: []};

async function fetchJson(path) {
  const answer = await fetch(path, {signal: AbortSignal.timeout(FETCH_LIMIT_MS), cache: "no-store"});
  if (!answer.ok) throw new Error(`${answer.status}, ${(await answer.text()).trim() || "without a text"}`);
  return answer.json();
}

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

// Shows every member that is an object or an array as a section, as html_tables.cc does. Sections that the document
// does not have any more disappear.
function showSections(json) {
  const main = document.querySelector("main");
  const members = [];
  for (const [name, value] of Object.entries(json)) {
    if (value === null || typeof value !== "object" || name === "warnings") continue;
    members.push([name, value]);
    if (isRows(value)) members.push(...Object.entries(rowsWithin(value)));
  }
  if (json.warnings) showWarnings(json.warnings);
  const names = [...members.map(([name]) => name), ...(json.warnings ? ["warnings"] : [])];
  for (const section of main.querySelectorAll("section")) if (!names.includes(section.id)) section.remove();
  let above = json.warnings ? $("warnings") : $("graphs");
  for (const [name, value] of members) {
    const section = sectionOf(name, above);
    if (Array.isArray(value)) showRows(section, value, (row) => actionsOf(name, row));
    else showFacts(section, value);
    above = $("graphs")?.previousElementSibling === section ? $("graphs") : section;
  }
}

function showServer(json) {
  showSections(json);
  const section = $("server");
  section.facts = json.server;
  addSectionActions(section);
}

let asked = 0;

// Fetches and shows everything once. `now` is true if the reader has asked for it: then a pause does not count.
async function refresh(now = false) {
  const why = now ? "" : (page.paused?.() ?? "");
  if (why) return setText($("status"), `Paused: ${why}.`);
  const mine = ++asked;
  try {
    const json = await fetchJson(page.path?.() ?? document.body.dataset.json);
    if (mine !== asked) return undefined;
    if (!document.activeElement.matches("#level")) $("level").value = json.log_level;
    setText(document.querySelector("h1"), json.title);
    document.title = json.title;
    (page.show ?? showSections)(json);
    if (page.graphs.length > 0 || page.metrics) {
      const server = pageName === "server" ? json.server.server : null;
      await refreshGraphs(server, json, page);
    }
    document.body.classList.remove("lost");
    setText($("status"), "Live");
    setText($("taken"), `as of ${clockTime(json.taken_unix_seconds ?? Date.now() / 1000)}`);
  } catch (error) {
    if (mine !== asked) return undefined;
    document.body.classList.add("lost");
    setText($("status"), `No answer (${error.message}). The figures are old; trying again.`);
  }
  return undefined;
}

async function live() {
  if (!document.hidden) await refresh();
  setTimeout(live, page.period ?? PERIOD_MS);
}

for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}
setText($("status"), "Starting");
startActions();
startTables();
page.start?.();
addGraphs(page.graphs, page.after ? $(page.after) : null, page.metrics);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
live();
