// SPDX-License-Identifier: BSD-3-Clause
// The page /connections. The server searches, filters and sorts. The query stands in the address, so that it can be
// shared and reloaded.
"use strict";

const QUERY = ["server", "state", "search", "sort", "order", "most"];
const TYPING_PAUSE_MS = 300;

function connectionsPath() {
  const told = new URLSearchParams(location.search);
  const query = new URLSearchParams();
  for (const name of QUERY) if (told.get(name)) query.set(name, told.get(name));
  query.set("format", "json");
  return `/connections?${query}`;
}

// A text for a column of connections, as the query calls it: "queued_bytes" is sorted by "queued".
const sortName = (key) => key.replace(/_(bytes|seconds)$/, "");

function selectOf(name, label, options) {
  const select = element("select");
  select.name = name;
  fillSelect(select, options);
  const made = element("label", `${label} `);
  made.append(select);
  return made;
}

// Writes the options, each as [value, text], and selects what the address says.
function fillSelect(select, options) {
  const written = JSON.stringify(options);
  if (select.written !== written) {
    select.written = written;
    select.replaceChildren(...options.map(([value, text]) => {
      const option = element("option", text);
      option.value = value;
      return option;
    }));
  }
  const wanted = new URLSearchParams(location.search).get(select.name) ?? options[0][0];
  if (options.some(([value]) => value === wanted)) select.value = wanted;
}

// Adds the controls above the table. They exist before any figure does, so nothing jumps.
function startConnections() {
  const section = sectionOf("connections", null);
  const controls = element("div", undefined, "controls");
  controls.id = "controls";
  controls.setAttribute("role", "search");
  const search = element("input");
  Object.assign(search, {type: "search", name: "search", placeholder: "address of the peer", autocomplete: "off"});
  search.value = new URLSearchParams(location.search).get("search") ?? "";
  const label = element("label", "Search ");
  label.append(search);
  controls.append(label, selectOf("server", "Server", [["", "all"]]), selectOf("state", "State", [["", "all"]]),
                  selectOf("most", "Rows", [["", "100"], ["300", "300"], ["1000", "1,000"]]));
  section.querySelector("h2").after(controls);
  if (!$("counts")) {
    const counts = element("p");
    counts.id = "counts";
    controls.after(counts);
  }
  $("counts").setAttribute("aria-live", "polite");
  let typing = 0;
  const ask = (target) => {
    setQuery(target.name, target.value);
    refresh(true);
  };
  controls.addEventListener("input", ({target}) => {
    clearTimeout(typing);
    if (target === search) typing = setTimeout(ask, TYPING_PAUSE_MS, target);
  });
  controls.addEventListener("change", ({target}) => {
    clearTimeout(typing);
    ask(target);
  });
  fillServers();
}

// The overview says which servers there are.
async function fillServers() {
  try {
    const {servers} = await fetchJson("/?format=json");
    const names = servers.map((server) => [String(server.server), serverName(server)]);
    fillSelect(document.querySelector("#controls [name=server]"), [["", "all"], ...names]);
  } catch {
    // Without the names, the list still has "all". The status says that the server does not answer.
  }
}

// Returns why the table must not change now, or an empty text: a reader uses a control or reads a row.
function whyPaused() {
  const active = document.activeElement;
  const section = $("connections");
  if ($("confirm").open) return "a question is open";
  if (active.closest("#controls, .menu")) return "a control has the focus";
  if (active.closest("tbody") && active.matches(":focus-visible")) return "a row has the focus";
  const selection = getSelection();
  if (!selection.isCollapsed && section.contains(selection.anchorNode)) return "a text is selected";
  return "";
}

function countsText(json) {
  const shown = json.connections.length;
  const parts = [`${humanNumber(json.matched)} of ${humanNumber(json.total)} match`];
  if (shown < json.matched) parts.push(`the first ${humanNumber(shown)} are shown`);
  const missing = json.complete === false ? " A loop did not answer: its connections are missing." : "";
  return `${parts.join("; ")}.${missing}`;
}

function showConnections(json) {
  const states = json.states.map((name) => [name, name]);
  fillSelect(document.querySelector("#controls [name=state]"), [["", "all"], ...states]);
  setText($("counts"), countsText(json));
  const all = membersOf(json.connections);
  const sorting = {
    by: all.find((key) => sortName(key) === json.query.sort) ?? null,
    order: json.query.order,
    asks: true,
    can: (key) => json.sorts.includes(sortName(key)),
    set: (key, order) => {
      setQuery("sort", sortName(key));
      setQuery("order", order);
      refresh(true);
    },
  };
  showRows($("connections"), json.connections, (row) => actionsOf("connections", row), sorting);
}
