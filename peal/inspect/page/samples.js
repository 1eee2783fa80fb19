// SPDX-License-Identifier: BSD-3-Clause
// Keeps the last ten minutes of figures, as /history gives them: one sample a second, at most 600.
"use strict";

const MOST_SAMPLES = 600;
// If the first new sample is this much younger than the last one we have, the process may have been restarted.
const LONGEST_BREAK_SECONDS = 30;

class Samples {
  newest = 0;
  times = [];  // Unix seconds of the samples
  rows = new Map();  // key, such as "loops/0" -> {section, facts: {loop, thread, ...}, values: {busy_share: [...]}}

  // Adds the answer to "/history?since=<since>". Returns false if that answer does not continue what is kept: the
  // server was restarted. In this case nothing is kept, so that the next request fetches everything.
  add(answer, since) {
    if (since !== this.newest) return true;  // another request was faster, and its answer has the same samples
    const fresh = answer.taken_unix_seconds;
    const last = this.times.at(-1);
    const broken = last !== undefined && fresh.length > 0 && fresh[0] - last > LONGEST_BREAK_SECONDS;
    if (answer.newest < this.newest || broken) {
      this.newest = 0;
      this.times = [];
      this.rows.clear();
      return false;
    }
    this.newest = answer.newest;
    if (fresh.length === 0) return true;
    const before = this.times.length;
    this.times = [...this.times, ...fresh].slice(-MOST_SAMPLES);
    const seen = new Map(rowsOfAnswer(answer));
    for (const [key, row] of seen) {
      if (!this.rows.has(key)) this.rows.set(key, {...row, values: {}});
      Object.assign(this.rows.get(key).facts, row.facts);
    }
    for (const [key, row] of this.rows) {
      const found = seen.get(key)?.values ?? {};
      for (const name of new Set([...Object.keys(row.values), ...Object.keys(found)])) {
        const old = row.values[name] ?? Array(before).fill(null);
        const added = found[name] ?? Array(fresh.length).fill(null);
        row.values[name] = [...old, ...added].slice(-MOST_SAMPLES);
      }
      if (!seen.has(key) && Object.values(row.values).every((each) => each.every((value) => value === null))) {
        this.rows.delete(key);
      }
    }
    return true;
  }

  // Returns the rows of "loops", "servers", "calls", "metrics" or "process".
  of(section) {
    return [...this.rows.values()].filter((row) => row.section === section);
  }
}

// Returns [key, row] for the process, each loop, server and metric of an answer, and the method or route that was asked
// for. A row's facts are the members that are no arrays.
function rowsOfAnswer(answer) {
  const found = [];
  const add = (section, name, members) => {
    const row = {section, facts: {}, values: {}};
    for (const [key, value] of Object.entries(members)) {
      (Array.isArray(value) ? row.values : row.facts)[key] = value;
    }
    found.push([`${section}/${name}`, row]);
  };
  add("process", "", answer.process ?? {});
  for (const loop of answer.loops ?? []) add("loops", loop.loop, loop);
  for (const server of answer.servers ?? []) add("servers", server.server, server);
  for (const call of answer.calls ?? []) add("calls", "", call);
  for (const metric of answer.metrics ?? []) {
    add("metrics", `${metric.name} ${JSON.stringify(metric.labels ?? {})}`, metric);
  }
  return found;
}
