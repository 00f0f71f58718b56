// Draws the last two minutes of a run as lines over the seconds of its load, with a band for each fault.
"use strict";

const WIDTH = 560, HEIGHT = 150, LEFT = 52, BOTTOM = 20, TOP = 8;
const MOST_S = 120, LEAST_S = 30;
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// An even number, or 1, times a power of ten: no less than the value. Half of it is a short number too.
function rounded_up(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-3)));
  return power * [1, 2, 4, 6, 8, 10].find((times) => times * power >= value);
}

// Seconds without a value are a gap. A value between two gaps is a dot: a line to itself.
function line(points, x, y, place) {
  const path = points.map(([at, value], index) => {
    if (value === null) return "";
    const to = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    return (points[index - 1]?.[1] ?? null) === null ? `M${to}L${to}` : `L${to}`;
  }).join("");
  return svg("path", { d: path, class: `line s${place % 6}`, fill: "none" });
}

function legend(series) {
  return element("p", "", ...series.map(({ name, points }, place) => {
    const last = points.at(-1)?.[1];
    const told = element("span", `${name}${last == null ? "" : ` ${last.toLocaleString("en", { maximumFractionDigits: 1 })}`}`);
    told.className = `key s${place % 6}`;
    return told;
  }));
}

// series: [{ name, points: [[second, value or null], …] }]; bands: [{ label, from_s, until_s or null }]
function chart(title, series, bands) {
  const seconds = series.flatMap(({ points }) => points.map(([at]) => at));
  const last = Math.max(...seconds), shown_s = Math.min(Math.max(last - Math.min(...seconds), LEAST_S), MOST_S);
  const first = last - shown_s;
  const top = rounded_up(Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value ?? 0))));
  const x = (at) => LEFT + ((at - first) / shown_s) * (WIDTH - LEFT);
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const drawn = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  for (const { label, from_s, until_s } of bands) {
    const from = Math.max(from_s, first), until = Math.min(until_s ?? last, last);
    if (until < first || from > last) continue;
    const band = svg("rect", { x: x(from), y: TOP, width: Math.max(x(until) - x(from), 2), height: HEIGHT - TOP - BOTTOM, class: "band" });
    band.append(svg("title", {}, label));
    drawn.append(band);
  }
  for (const value of [0, top / 2, top]) {
    drawn.append(svg("line", { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value), class: "grid" }));
    drawn.append(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value.toLocaleString("en")));
  }
  const apart = shown_s > 60 ? 30 : 10;
  for (let at = Math.ceil(first / apart) * apart; at <= last; at += apart)
    drawn.append(svg("text", { x: x(at), y: HEIGHT - 5, "text-anchor": "middle" }, `${at} s`));
  drawn.append(...series.map(({ points }, place) => line(points, x, y, place)));
  const figure = element("figure", "", element("figcaption", title), legend(series), drawn);
  return figure;
}

function charts({ moments, bands }) {
  if (moments.length < 2) return [];
  const of = (name, key) => ({ name, points: moments.map((moment) => [moment.load_s, moment[key]]) });
  const brokers = Object.keys(moments.at(-1).connections);
  const connections = brokers.map((broker) => ({ name: broker, points: moments.map((moment) => [moment.load_s, moment.connections[broker] ?? 0]) }));
  const shown = [
    chart("Messages per second", [of("sent", "sent_per_s"), of("received", "received_per_s")], bands),
    chart("Clients connected", connections, bands),
  ];
  if (moments.some(({ p99_ms }) => p99_ms !== null))
    shown.splice(1, 0, chart("Latency, due → received (ms)", [of("p50", "p50_ms"), of("p99", "p99_ms")], bands));
  return shown;
}
