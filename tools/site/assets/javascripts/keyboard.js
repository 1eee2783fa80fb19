// SPDX-License-Identifier: BSD-3-Clause
// Makes what the theme offers to the mouse alone usable by keyboard: the buttons of the menu and the search on narrow
// screens, and the menu itself. The theme draws buttons as labels of hidden boxes, which Tab does not reach. It draws
// the levels of the menu over each other, and Tab would also reach what is covered.
"use strict";

const drawer = document.getElementById("__drawer");
const narrow = window.matchMedia("(max-width: 76.2344em)");

function makeButton(label, name) {
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  if (name) label.setAttribute("aria-label", name);
  label.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    label.click();
  });
}

// The level of the menu that is on top.
function levelOnTop() {
  let level = document.querySelector(".md-nav--primary");
  for (;;) {
    const open = [...level.querySelectorAll(":scope > .md-nav__list > .md-nav__item > .md-nav__toggle:checked")].pop();
    const next = open && open.parentElement.querySelector(":scope > nav");
    if (!next) return level;
    level = next;
  }
}

// Lets Tab reach what the reader sees of the menu, and nothing else.
function updateMenu() {
  const level = narrow.matches ? levelOnTop() : null;
  for (const item of document.querySelectorAll(".md-nav--primary :is(a, label)")) {
    if (level === null) {
      item.removeAttribute("tabindex");
      if (item.matches("label.md-nav__link")) item.tabIndex = 0;
    } else {
      item.tabIndex = drawer.checked && item.closest("nav") === level ? 0 : -1;
    }
  }
}

function focusMenu() {
  updateMenu();
  if (!narrow.matches) return;
  const target = drawer.checked ? levelOnTop().querySelector(":is(a, label)[tabindex='0']")
                                : document.querySelector("label.md-header__button[for=__drawer]");
  if (target) setTimeout(() => target.focus(), 300);  // until then the menu moves
}

for (const label of document.querySelectorAll("label.md-header__button[for=__drawer]")) makeButton(label, "Menu");
for (const label of document.querySelectorAll("label.md-header__button[for=__search]")) makeButton(label, "Search");
for (const label of document.querySelectorAll(".md-nav--primary label.md-nav__title[for]")) makeButton(label);
if (drawer && document.querySelector(".md-nav--primary")) {
  drawer.addEventListener("change", focusMenu);
  for (const toggle of document.querySelectorAll(".md-nav--primary .md-nav__toggle")) {
    toggle.addEventListener("change", focusMenu);
  }
  narrow.addEventListener("change", updateMenu);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drawer.checked) document.querySelector("label.md-overlay").click();
  });
  updateMenu();
}

// The list of results can have the focus only while it can be seen. The search closes when the focus leaves it. The
// theme opens it a moment after the focus has come, when a fast reader may be gone.
const search = document.querySelector(".md-search");
const searching = document.getElementById("__search");
if (search && searching) {
  const results = search.querySelector(".md-search__scrollwrap");
  const closeIfLeft = () => {
    if (searching.checked && !search.contains(document.activeElement)) searching.click();
  };
  const update = () => {
    results.tabIndex = searching.checked ? 0 : -1;
    if (searching.checked) setTimeout(closeIfLeft, 300);
  };
  searching.addEventListener("change", update);
  search.addEventListener("focusout", (event) => {
    if (event.relatedTarget !== null) setTimeout(closeIfLeft, 0);
  });
  update();
}

// Blocks of code and tables scroll by themselves; the arrow keys move them once they have the focus.
for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
