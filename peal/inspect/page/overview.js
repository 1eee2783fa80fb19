// SPDX-License-Identifier: BSD-3-Clause
// Says which graphs a page has, and which series each graph has. graph.js draws them.
"use strict";

const samples = new Samples();
const MOST_METRIC_GRAPHS = 12;

// Returns the sum of one member of all rows, sample by sample. It is null where no row has a value.
function summed(rows, key) {
  return samples.times.map((_, i) => rows.reduce((sum, row) => {
    const value = row.values[key]?.[i] ?? null;
    return value === null ? sum : (sum ?? 0) + value;
  }, null));
}

// Returns a series for each row that has the member `key`.
const seriesOf = (rows, key, name) =>
  rows.filter((row) => row.values[key]).map((row) => ({name: name(row.facts), values: row.values[key]}));

const loops = () => samples.of("loops");
const loopName = (facts) => facts.thread || `loop ${facts.loop}`;
const serverName = (facts) => facts.name || `server ${facts.server}`;

// Work that an io_uring does for a loop inside its wait counts as CPU time, but not as busy time. So the larger of the
// two is shown.
function busyOrCpu(row) {
  return row.values.busy_share.map((busy, i) => {
    const cpu = row.values.cpu_share?.[i] ?? null;
    return busy === null || cpu === null ? busy ?? cpu : Math.max(busy, cpu);
  });
}

function memoryMarks(json) {
  const memory = json?.memory ?? {};
  return [["soft mark", memory.soft_mark_bytes], ["hard mark", memory.hard_mark_bytes]]
    .filter(([, value]) => value > 0).map(([name, value]) => ({name, value}));
}

// Each graph: its title, its unit, and a function that returns its series from the servers it is about. `needs` is a
// member that the document's figures must have; without it, the page begins without the graph.
const GRAPHS = {
  traffic: {title: "Traffic of all loops", unit: "_bytes_per_second", series: () => [
    {name: "received", values: summed(loops(), "received_bytes_per_second")},
    {name: "sent", values: summed(loops(), "sent_bytes_per_second")}]},
  requests: {title: "Requests", unit: "_per_second", needs: "requests",
             series: (servers) => seriesOf(servers, "requests_per_second", serverName)},
  answers: {title: "Requests and errors", unit: "_per_second", needs: "requests", series: (servers) => [
    ...seriesOf(servers, "requests_per_second", () => "requests"),
    ...seriesOf(servers, "client_errors_per_second", () => "client errors (4xx)"),
    ...seriesOf(servers, "server_errors_per_second", () => "server errors (5xx)")]},
  latency: {title: "Latency of answers", unit: "_seconds", needs: "requests",
            series: (servers) => servers.flatMap((row) => ["p99", "p50"].flatMap((rank) =>
              seriesOf([row], `latency_${rank}_seconds`, (facts) => `${serverName(facts)} ${rank}`)))},
  busy: {title: "Busy share of each loop", unit: "_share",
         series: () => loops().filter((row) => row.values.busy_share)
           .map((row) => ({name: loopName(row.facts), values: busyOrCpu(row)}))},
  turns: {title: "Turns of each loop, p99", unit: "_seconds",
          series: () => seriesOf(loops(), "turn_p99_seconds", loopName)},
  memory: {title: "Memory", unit: "_bytes", marks: memoryMarks, series: () => [
    ...seriesOf(samples.of("process"), "resident_bytes", () => "resident"),
    ...seriesOf(samples.of("process"), "held_bytes", () => "held by blocks")]},
  connections: {title: "Connections", unit: "", series: (servers) => seriesOf(servers, "connections", serverName)},
  calls: {title: "Requests and errors", unit: "_per_second", series: () => [
    ...seriesOf(samples.of("calls"), "requests_per_second", () => "requests"),
    ...seriesOf(samples.of("calls"), "client_errors_per_second", () => "client errors (4xx)"),
    ...seriesOf(samples.of("calls"), "server_errors_per_second", () => "server errors")]},
  callLatency: {title: "Latency", unit: "_seconds", series: () => ["p99", "p50"].flatMap((rank) =>
    seriesOf(samples.of("calls"), `latency_${rank}_seconds`, () => rank))},
  opened: {title: "New connections", unit: "_per_second", series: (servers) => [
    ...seriesOf(servers, "opened_per_second", () => "opened"),
    ...seriesOf(servers, "refused_per_second", () => "refused")]},
};

const shownGraphs = [];  // [definition, Graph] of this page

function addGraph(definition) {
  const graph = new Graph(definition.title, definition.unit);
  graph.figure.hidden = Boolean(definition.needs) && !document.querySelector(`[data-key="${definition.needs}"]`);
  $("graphs").append(graph.figure);
  shownGraphs.push([definition, graph]);
  graph.draw();
}

// Adds the place of the graphs after the element `above`, before any figure is known: so nothing jumps later.
function addGraphs(names, above, withMetrics) {
  if (names.length === 0 && !withMetrics) return;
  const place = element("div");
  place.id = "graphs";
  if (above) above.after(place);
  else document.querySelector("main").prepend(place);
  for (const name of names) addGraph(GRAPHS[name]);
}

// The figures of a metric that its graph shows: [member, end of the title, end of the unit, name of the series].
const METRIC_FIGURES = {
  counter: [["per_second", ", per second", "_per_second", ""]],
  gauge: [["value", "", "", ""]],
  histogram: [["p99", ", p99 and p50", "", "p99"], ["p50", "", "", "p50"]],
};

// Returns the graph of all metrics of this name: a series for each set of labels.
function metricGraph({name, kind, unit}) {
  const figures = METRIC_FIGURES[kind] ?? [];
  const ends = unit ? `_${unit}` : "";
  // The title keeps the unit of the name, because metrics often differ in nothing else.
  return {title: name.replace(/_total$/, "").replaceAll("_", " ") + (figures[0]?.[1] ?? ""), metric: name,
          unit: ends + (figures[0]?.[2] ?? ""),
          series: () => samples.of("metrics").filter((row) => row.facts.name === name).flatMap((row) =>
            figures.flatMap(([key, , , rank]) =>
              seriesOf([row], key, (facts) => `${human("labels", facts.labels)} ${rank}`.trim() || name)))};
}

// The program's own metrics: a graph for each name, added when the first sample has it. Says how many have none.
function addMetricGraphs() {
  const names = new Map(samples.of("metrics").map((row) => [row.facts.name, row.facts]));
  const known = new Set(shownGraphs.map(([definition]) => definition.metric).filter((name) => name));
  for (const facts of names.values()) {
    if (known.size >= MOST_METRIC_GRAPHS || known.has(facts.name)) continue;
    known.add(facts.name);
    addGraph(metricGraph(facts));
  }
  const more = [...names.keys()].filter((name) => !known.has(name)).length;
  const note = $("more-graphs") ?? element("p");
  note.id = "more-graphs";
  if (more > 0 && $("graphs").lastElementChild !== note) $("graphs").append(note);
  setText(note, more === 0 ? "" : `${more} more metrics of this program have no graph; /history has their figures.`);
}

// Fetches the samples that are new, and draws the graphs. `server` is the number of the server that the page is about,
// or null for all servers. `json` is the page's document.
async function refreshGraphs(server, json, page) {
  for (let isWhole = false; !isWhole;) {
    const since = samples.newest;
    isWhole = samples.add(await fetchJson(`/history?since=${since}&${page.history ?? ""}`), since);
  }
  const servers = samples.of("servers").filter((row) => server === null || row.facts.server === server);
  if (page.metrics) addMetricGraphs();
  for (const [definition, graph] of shownGraphs) {
    const series = definition.series(servers);
    graph.figure.hidden = series.length === 0;
    if (series.length > 0) graph.set(samples.times, series, definition.marks?.(json) ?? []);
  }
}
