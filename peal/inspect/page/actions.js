// SPDX-License-Identifier: BSD-3-Clause
// What a reader can do to the process: end connections, drain servers, set the log level. Each end is confirmed first.
"use strict";

// Asks in a dialog that names what will end. Returns a promise of whether the reader confirms.
function confirmed(title, text, label) {
  const dialog = $("confirm");
  $("confirm-title").textContent = title;
  $("confirm-text").textContent = text;
  $("confirm-yes").textContent = label;
  dialog.returnValue = "";
  dialog.showModal();
  $("confirm-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), {once: true});
  });
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
  await refresh(true);
  // The row of the button may be gone, and the focus with it.
  if (document.activeElement === document.body) document.querySelector("main").focus({preventScroll: true});
}

async function drainServer(server) {
  const count = `${humanNumber(server.connections ?? 0)} connection${server.connections === 1 ? "" : "s"}`;
  const text = `The server "${serverName(server)}" takes no new clients. Its ${count} are asked to end, and may be ` +
               "cut off after a while. This cannot be undone.";
  if (await confirmed("Drain a server", text, "Drain")) await act(`/actions/drain?server=${server.server}`);
}

async function endConnection(connection, how) {
  const whom = `The connection ${connection.id} with ${connection.peer} (${connection.state})`;
  const text = how === "drain" ? `${whom} is asked to end. What is queued is still sent.`
                               : `${whom} is ended at once, by a reset. What is queued is lost.`;
  const agreed = await confirmed(how === "drain" ? "Drain a connection" : "Kill a connection", text,
                                 how === "drain" ? "Drain" : "Kill");
  if (agreed) await act(`/actions/end?connection=${encodeURIComponent(connection.id)}&how=${how}`);
}

// Returns the actions of a row, each as [label of the button, function].
function actionsOf(section, row) {
  if (section === "servers" || section === "server") return [["drain", drainServer]];
  if ((section !== "connections" && section !== "connection") || !row.id) return [];
  return [["drain", (shown) => endConnection(shown, "drain")], ["kill", (shown) => endConnection(shown, "abort")]];
}

// Puts the buttons of a section that is about one thing next to its heading. `section.facts` is that thing.
function addSectionActions(section) {
  if (section.querySelector("h2 .acts")) return;
  const place = element("span", undefined, "acts");
  for (const [label, run] of actionsOf(section.id, section.facts)) {
    const button = element("button", label);
    button.addEventListener("click", () => run(section.facts));
    place.append(button);
  }
  section.querySelector("h2").append(place);
}

function startActions() {
  $("actions").hidden = false;
  $("level").addEventListener("change", (event) => act(`/actions/log_level?level=${event.target.value}`));
  $("confirm-yes").addEventListener("click", () => $("confirm").close("yes"));
  $("confirm-no").addEventListener("click", () => $("confirm").close(""));
  // A key that is held from before the dialog opened answers nothing.
  $("confirm").addEventListener("keydown", (event) => {
    if (event.repeat && event.key !== "Tab") event.preventDefault();
  });
}
