// SPDX-License-Identifier: BSD-3-Clause
// The page of the chat room. It loads no scripts from other servers. It shows each message as plain text, never as
// HTML.
#pragma once

#include <string_view>

namespace peal::examples {

inline constexpr std::string_view kChatPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>chat</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.4 system-ui, sans-serif; max-width: 40em; margin: 1em auto; padding: 0 1em; }
#said { list-style: none; padding: 0; min-height: 12em; }
#said li { padding: .15em 0; overflow-wrap: anywhere; }
form { display: flex; gap: .5em; }
#text { flex: 1; font: inherit; }
#name { width: 8em; font: inherit; }
</style>
</head>
<body>
<h1>Chat</h1>
<p id="state">connecting</p>
<ul id="said"></ul>
<form id="form">
<input id="name" aria-label="your name" value="somebody">
<input id="text" aria-label="what you say" autocomplete="off" autofocus>
<button>Say</button>
</form>
<script>
const said = document.getElementById("said");
const state = document.getElementById("state");
let socket;
function connect() {
  socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/chat");
  socket.onopen = () => { state.textContent = "connected" + (socket.extensions ? ", compressed" : ""); };
  socket.onmessage = (event) => {
    const line = document.createElement("li");
    line.textContent = event.data;
    said.append(line);
    while (said.children.length > 200) said.firstChild.remove();
  };
  socket.onclose = (event) => {
    state.textContent = `closed: ${event.code} ${event.reason}`;
    setTimeout(connect, 2000);
  };
}
document.getElementById("form").onsubmit = (event) => {
  event.preventDefault();
  const text = document.getElementById("text");
  if (text.value === "" || socket.readyState !== WebSocket.OPEN) return;
  socket.send(`${document.getElementById("name").value}: ${text.value}`);
  text.value = "";
};
connect();
</script>
</body>
</html>
)";

}  // namespace peal::examples
