// SPDX-License-Identifier: BSD-3-Clause
// Keeps the sections of the page current: tables of rows, and lists of facts. html_tables.cc has laid them out. Rows
// and cells stay the same elements while the figures change, so that focus and selection stay.
"use strict";

const sortings = new Map();  // name of a section -> {by, order}: how this page sorts its table
const pageName = location.pathname.split("/")[1] || "overview";

// Returns the section with this id. If there is none, it is made after `above`, or as the first.
function sectionOf(name, above) {
  let section = $(name);
  if (!section) {
    section = element("section");
    section.id = name;
    section.append(element("h2", SECTION_TITLES[name] ?? heading(name)));
    if (above) above.after(section);
    else document.querySelector("main").prepend(section);
  }
  return section;
}

// Returns the members of all rows that are no rows themselves.
const membersOf = (rows) => [...new Set(rows.flatMap((row) => Object.keys(row).filter((key) => !isRows(row[key]))))];

// Which columns a reader has chosen: the address says so, else this browser remembers it. Returns null for neither.
function chosenColumns(name) {
  const told = name === pageName ? new URLSearchParams(location.search).get("columns") : null;
  const text = told ?? localStorage.getItem(`peal columns ${name}`);
  return text === null ? null : text.split(",");
}

function chooseColumns(name, columns) {
  if (columns) localStorage.setItem(`peal columns ${name}`, columns.join(","));
  else localStorage.removeItem(`peal columns ${name}`);
  if (name === pageName) setQuery("columns", columns ? columns.join(",") : "");
}

// Changes one parameter of the address; an empty value removes it.
function setQuery(name, value) {
  const query = new URLSearchParams(location.search);
  if (value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString().replaceAll("%2C", ",");
  history.replaceState(null, "", text ? `${location.pathname}?${text}` : location.pathname);
}

// Returns the columns to show. Without a choice, the table's data-columns says which of `all` are shown.
function columnsOf(name, table, all) {
  const first = table.dataset.columns ? table.dataset.columns.split(" ") : all;
  const wanted = (chosenColumns(name) ?? first).filter((key) => all.includes(key));
  return wanted.length > 0 ? wanted : first.filter((key) => all.includes(key));
}

// Returns the menu that chooses the columns of a table. It is made at its first use.
function columnsMenu(section) {
  const made = section.querySelector(".menu");
  if (made) return made;
  const menu = element("details", undefined, "menu");
  menu.append(element("summary", "Columns"), element("fieldset"));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  addEventListener("click", (event) => { if (!event.composedPath().includes(menu)) menu.open = false; });
  section.querySelector(".scroll").before(menu);
  return menu;
}

// Makes the menus of all tables that do not show all their columns, before any figure is known: so nothing jumps later.
function startTables() {
  for (const more of document.querySelectorAll(".more")) more.remove();
  for (const table of document.querySelectorAll("table[data-columns]")) columnsMenu(table.closest("section"));
}

function fillColumnsMenu(section, table, all, shown, redraw) {
  if (!table.dataset.columns || all.length === 0) return;
  const menu = columnsMenu(section);
  const written = `${all} ${shown}`;
  if (menu.written === written) return;
  menu.written = written;
  const boxes = all.map((key) => {
    const label = element("label");
    const box = element("input");
    Object.assign(box, {type: "checkbox", value: key, checked: shown.includes(key)});
    label.append(box, heading(key));
    return label;
  });
  const reset = element("button", "as at first");
  reset.type = "button";
  reset.addEventListener("click", () => { chooseColumns(section.id, null); redraw(); });
  const fieldset = menu.querySelector("fieldset");
  const focused = fieldset.contains(document.activeElement) ? document.activeElement.value : null;
  fieldset.replaceChildren(element("legend", "Shown columns"), ...boxes, reset);
  fieldset.onchange = () => {
    chooseColumns(section.id, [...fieldset.querySelectorAll("input:checked")].map((box) => box.value));
    redraw();
  };
  if (focused) [...fieldset.querySelectorAll("input")].find((box) => box.value === focused)?.focus();
}

// A table that this page sorts itself. `sorting` of fillHead() has these members.
function localSorting(name, redraw) {
  const now = sortings.get(name) ?? {by: null, order: "desc"};
  return {...now, can: () => true, set: (by, order) => { sortings.set(name, {by, order}); redraw(); }};
}

function sorted(rows, {by, order}) {
  if (!by) return rows;
  const sign = order === "asc" ? 1 : -1;
  const areNumbers = (a, b) => typeof a === "number" && typeof b === "number";
  const compare = (a, b) => (areNumbers(a, b) ? a - b : String(a).localeCompare(String(b)));
  return [...rows].sort((a, b) => {
    const [left, right] = [a[by] ?? null, b[by] ?? null];
    if (left === null || right === null) return (left === null) - (right === null);
    return sign * compare(left, right);
  });
}

// Writes the headings. `sorting` is {by, order, can(key), set(key, order)}. A heading that asks the server to sort has
// the class "asks": narrow screens show only those.
function fillHead(table, columns, rows, sorting, hasActions) {
  const head = table.tHead ?? table.createTHead();
  const written = columns.join(" ");
  if (head.written !== written) {
    head.written = written;
    const row = element("tr");
    for (const key of columns) {
      const th = element("th", undefined, rows.some((row) => typeof row[key] === "number") ? "n" : "");
      th.dataset.key = key;
      th.scope = "col";
      th.classList.toggle("asks", Boolean(sorting.asks) && sorting.can(key));
      if (sorting.can(key)) th.append(element("button", heading(key), "sort"));
      else th.textContent = heading(key);
      row.append(th);
    }
    if (hasActions) row.append(element("td", undefined, "acts"));
    head.replaceChildren(row);
  }
  for (const th of head.querySelectorAll("th")) {
    const isBy = th.dataset.key === sorting.by;
    if (isBy) th.setAttribute("aria-sort", sorting.order === "asc" ? "ascending" : "descending");
    else th.removeAttribute("aria-sort");
    const button = th.querySelector("button");
    const next = isBy && sorting.order === "desc" ? "asc" : "desc";
    if (button) button.onclick = () => sorting.set(th.dataset.key, next);
  }
}

// Writes the cells of one row. `actions` returns [label, function] for each button of a row.
function fillRow(tr, columns, row, actions) {
  tr.shown = row;
  const written = columns.join(" ");
  if (tr.written !== written) {
    tr.written = written;
    tr.replaceChildren(...columns.map((key) => {
      const td = element("td");
      td.dataset.label = heading(key);
      return td;
    }));
    const offered = actions(row);
    if (offered.length > 0) {
      const td = element("td", undefined, "acts");
      for (const [label, act] of offered) {
        const button = element("button", label);
        button.addEventListener("click", () => act(tr.shown));
        td.append(button);
      }
      tr.append(td);
    }
  }
  columns.forEach((key, i) => showValue(tr.cells[i], key, row[key], row));
}

const KEYS = ["id", "server", "loop", "method", "route", "thread_id", "name", "labels"];

// Writes all rows. A row with the same name as before keeps its element.
function fillBody(body, columns, rows, actions) {
  const names = new Set();
  const named = rows.map((row, i) => {
    const name = KEYS.map((key) => human(key, row[key])).join(" ");
    const unique = name.trim() === "" || names.has(name) ? `${name} ${i}` : name;
    names.add(unique);
    return [unique, row];
  });
  const kept = new Map();
  for (const tr of [...body.rows]) {
    if (names.has(tr.name)) kept.set(tr.name, tr);
    else tr.remove();
  }
  named.forEach(([name, row], i) => {
    const tr = kept.get(name) ?? element("tr");
    tr.name = name;
    fillRow(tr, columns, row, actions);
    if (body.rows[i] !== tr) body.insertBefore(tr, body.rows[i] ?? null);
  });
  if (rows.length === 0) body.insertRow().append(element("td", "none"));
}

// Shows an array of objects as a table. `sorting` says how another place sorts the rows; without it, this page sorts.
function showRows(section, rows, actions = () => [], sorting = null) {
  if (!section.querySelector("table")) {
    const scroll = element("div", undefined, "scroll");
    scroll.append(element("table"));
    section.append(scroll);
  }
  const table = section.querySelector("table");
  const redraw = () => showRows(section, section.shown, actions, sorting);
  section.shown = rows;
  const how = sorting ?? localSorting(section.id, redraw);
  const all = membersOf(rows);
  const columns = columnsOf(section.id, table, all);
  fillColumnsMenu(section, table, all, columns, redraw);
  if (rows.length > 0) fillHead(table, columns, rows, how, actions(rows[0]).length > 0);
  fillBody(table.tBodies[0] ?? table.createTBody(), columns, sorting ? rows : sorted(rows, how), actions);
  const scroll = table.parentElement;
  if (scroll.scrollWidth > scroll.clientWidth) scroll.tabIndex = 0;
  else scroll.removeAttribute("tabindex");
}

// Shows the members of an object as pairs of a name and a value. The server has grouped them; a member that is new
// joins the last group, and one that is gone is empty.
function showFacts(section, facts) {
  if (!section.querySelector("dl")) section.append(element("dl", undefined, "facts"));
  const places = new Map([...section.querySelectorAll("dd")].map((dd) => [dd.dataset.key, dd]));
  for (const [key, value] of Object.entries(facts)) {
    if (!places.has(key)) {
      const pair = element("div");
      const dd = element("dd");
      dd.dataset.key = key;
      pair.append(element("dt", heading(key)), dd);
      [...section.querySelectorAll("dl")].at(-1).append(pair);
      places.set(key, dd);
    }
    showValue(places.get(key), key, value, facts);
  }
  for (const [key, dd] of places) if (!(key in facts)) showValue(dd, key, null, facts);
}

function showWarnings(warnings) {
  const section = sectionOf("warnings", null);
  const written = JSON.stringify(warnings);
  if (section.written === written) return;
  section.written = written;
  const list = element("ul");
  for (const {what, link} of warnings) {
    const item = element("li");
    // Only an address of this page is a link.
    item.append(/^\/(?!\/)/.test(link ?? "") ? linkTo(link, what) : element("span", what));
    list.append(item);
  }
  section.replaceChildren(element("h2", "warnings"), warnings.length > 0 ? list : element("p", "No warnings."));
}
