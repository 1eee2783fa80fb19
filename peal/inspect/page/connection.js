// SPDX-License-Identifier: BSD-3-Clause
// The page /connection/ID: its facts, and the events of the flight recorder as a timeline and as a table.
"use strict";

const LANES = ["received", "sent", "paused", "high water", "events"];
const LANE_HEIGHT = 26;
const LANE_LEFT = 82;
// These events begin and end the bars of a lane.
const SPANS = {paused: ["paused", "resumed"], "high water": ["above high water", "below high water"]};
const LAST_EVENTS = ["closed", "closing"];

// Returns the events in their order, each with the seconds since the first one and since the one before.
function eventsOf(flight) {
  const first = flight[0]?.ago_seconds ?? 0;
  return flight.map((event, i) => ({
    ...event,
    after: first - event.ago_seconds,
    since: i === 0 ? 0 : flight[i - 1].ago_seconds - event.ago_seconds,
  }));
}

function laneOf(name) {
  if (name === "received" || name === "sent") return name;
  return Object.keys(SPANS).find((lane) => SPANS[lane].includes(name)) ?? "events";
}

const eventText = ({event, bytes, reason, after}) =>
  [event, reason ?? (bytes ? humanBytes(bytes) : ""), `at ${humanSeconds(after)}`].filter(Boolean).join(", ");

// Draws the bars of a lane: from each event that begins one to the next event that ends it.
function spanBars(events, lane, x, y, end) {
  const [begins, ends] = SPANS[lane];
  const parts = [];
  let from = null;
  const bar = (until) => parts.push(drawn("rect", {class: "span", x: from, y: y(lane) - 6, height: 12,
                                                   width: Math.max(until - from, 2)}));
  events.forEach((event, i) => {
    if (event.event === begins) from ??= x(event, i);
    else if (from !== null && (event.event === ends || LAST_EVENTS.includes(event.event))) {
      bar(x(event, i));
      from = null;
    }
  });
  if (from !== null) bar(end);
  return parts;
}

// Draws one event. The height of a received or sent one grows with its bytes.
function eventMark(event, lane, at, middle) {
  const title = drawn("title", {text: eventText(event)});
  if (lane === "events") {
    const bad = ["deadline", "threw", "send failed", "closing"].includes(event.event);
    return drawn("path", {class: bad ? "event bad" : "event", d: `M${at} ${middle - 6}l5 6l-5 6l-5 -6z`}, title);
  }
  const tall = lane in SPANS ? 12 : 4 + Math.min(18, 1.5 * Math.log2(1 + (event.bytes ?? 0) / 16));
  const name = `event ${lane.replace(" ", "-")}`;
  return drawn("rect", {class: name, x: at - 1, y: middle - tall / 2, width: 2, height: tall}, title);
}

// Writes the time below the axis: seconds since the first event, or the numbers of events if these are spread evenly.
function timelineAxis(width, height, whole, even) {
  const parts = [];
  const step = tickStep(whole, even ? "" : "_seconds");
  for (let value = 0; value <= whole * 1.001; value += step) {
    const at = LANE_LEFT + (width - LANE_LEFT - RIGHT) * (whole > 0 ? value / whole : 0);
    parts.push(drawn("line", {class: "grid", x1: at, x2: at, y1: 4, y2: height - 18}));
    const anchor = at > width - 50 ? "end" : "middle";
    const text = even ? `#${Math.round(value) + 1}` : humanSeconds(Number(value.toPrecision(6)));
    parts.push(drawn("text", {x: at, y: height - 4, "text-anchor": anchor, text}));
    if (step === 0) break;
  }
  return parts;
}

function drawTimeline(place, events) {
  place.hidden = events.length === 0;
  if (place.hidden) return;
  const even = $("even").checked;
  const width = place.clientWidth;
  const height = LANES.length * LANE_HEIGHT + 26;
  const whole = even ? Math.max(1, events.length - 1) : events.at(-1).after;
  const x = (event, i) => LANE_LEFT + (width - LANE_LEFT - RIGHT) * (whole > 0 ? (even ? i : event.after) / whole : 0);
  const y = (lane) => LANES.indexOf(lane) * LANE_HEIGHT + LANE_HEIGHT / 2 + 4;
  const parts = timelineAxis(width, height, whole, even);
  for (const lane of LANES) {
    parts.push(drawn("line", {class: "lane", x1: LANE_LEFT, x2: width - RIGHT, y1: y(lane), y2: y(lane)}),
               drawn("text", {x: LANE_LEFT - 10, y: y(lane) + 4, "text-anchor": "end", text: lane}));
  }
  for (const lane of Object.keys(SPANS)) parts.push(...spanBars(events, lane, x, y, width - RIGHT));
  events.forEach((event, i) => {
    const lane = laneOf(event.event);
    parts.push(eventMark(event, lane, x(event, i).toFixed(1), y(lane)));
  });
  const svg = place.firstElementChild;
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-label", `Timeline of ${events.length} events in ${humanSeconds(events.at(-1).after)}. ` +
                                 "The table below has the same events.");
  svg.replaceChildren(...parts);
}

// Adds the timeline above the table of events. It has its place before any event is known, so nothing jumps.
function startConnection() {
  const section = sectionOf("flight", $("connection"));
  section.events = [];
  const label = element("label", undefined, "spread");
  const even = element("input");
  Object.assign(even, {type: "checkbox", id: "even"});
  label.append(even, " spread the events evenly");
  const place = element("div");
  place.id = "timeline";
  place.append(drawn("svg", {role: "img"}));
  section.querySelector("h2").after(label, place);
  even.addEventListener("change", () => drawTimeline(place, section.events));
  addEventListener("resize", () => drawTimeline(place, section.events));
}

function showConnection(json) {
  const section = sectionOf("connection", null);
  if (json.connection) {
    section.facts = json.connection;
    showFacts(section, json.connection);
    addSectionActions(section);
  } else if (!$("ended")) {
    const told = element("p", "This connection has ended. Below are its last figures, and the events that are kept.");
    told.id = "ended";
    section.querySelector("h2 .acts")?.remove();
    section.querySelector("h2").after(told);
    section.classList.add("old");
  }
  const flight = sectionOf("flight", section);
  flight.events = eventsOf(json.flight);
  drawTimeline($("timeline"), flight.events);
  const rows = flight.events.map(({event, bytes, reason, since, ago_seconds}) => ({
    event, bytes: bytes ?? null, reason: reason ?? null, since_previous_seconds: since, ago_seconds}));
  showRows(flight, rows);
  if (json.recorded === false && !$("unrecorded")) {
    const how = "Loop::enable_flight_recorder() or --flight-recorder 4096 makes one.";
    const told = element("p", `The loop has no flight recorder. ${how}`);
    told.id = "unrecorded";
    flight.querySelector("h2").after(told);
  }
}
