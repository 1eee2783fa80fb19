// SPDX-License-Identifier: BSD-3-Clause
// Makes what the theme offers to the mouse alone usable by keyboard: the drawer's button on narrow screens, and the
// search's button. The theme draws them as labels of hidden boxes, which Tab does not reach.
"use strict";

function makeButton(label) {
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  if (!label.hasAttribute("aria-label")) {
    label.setAttribute("aria-label", label.htmlFor === "__search" ? "Search" : "Menu");
  }
  label.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    label.click();
    if (label.htmlFor === "__drawer") focusDrawer();
  });
}

// Moves the focus into the open drawer, or back to its button.
function focusDrawer() {
  const open = document.getElementById("__drawer").checked;
  const target = open ? document.querySelector(".md-nav--primary a[href]")
                      : document.querySelector(".md-header label[for=__drawer]");
  if (target) setTimeout(() => target.focus(), 50);
}

for (const label of document.querySelectorAll("label.md-header__button[for=__drawer], " +
                                              "label.md-header__button[for=__search]")) {
  makeButton(label);
}
// The list of results can have the focus only while it can be seen.
const searching = document.getElementById("__search");
const results = document.querySelector(".md-search__scrollwrap");
if (searching && results) {
  const update = () => {
    results.tabIndex = searching.checked ? 0 : -1;
  };
  searching.addEventListener("change", update);
  update();
}
document.addEventListener("keydown", (event) => {
  const drawer = document.getElementById("__drawer");
  if (event.key === "Escape" && drawer && drawer.checked) {
    drawer.checked = false;
    focusDrawer();
  }
});
// Blocks of code and tables scroll by themselves; the arrow keys move them once they have the focus.
for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
