// Requests the state of the run once per second, and shows it. All text is inserted as text, never as markup.
"use strict";

const PERIOD_MS = 1000;
const base = location.pathname.replace(/\/$/, "");
const byId = (id) => document.getElementById(id);

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function row(cell, texts) {
  return element("tr", "", ...texts.map((text) => element(cell, text)));
}

function table({ title, head, rows, empty }) {
  const shown = rows.length
    ? element("table", "", element("thead", "", row("th", head)), element("tbody", "", ...rows.map((each) => row("td", each))))
    : element("p", empty);
  const scroll = element("div", "", shown);
  scroll.className = rows.length ? "scroll" : "faint";
  return element("section", "", element("h2", title), scroll);
}

function report({ run_id, verdict }) {
  const link = element("a", run_id);
  link.href = `${base}/runs/${encodeURIComponent(run_id)}/report`;
  link.target = "_blank";
  return element("li", "", link, ` ${verdict}`);
}

const drawn = {};

// Only what has changed is drawn again: a selected text or a focused link stays.
function draw(id, value, children) {
  const text = JSON.stringify(value);
  if (drawn[id] === text) return;
  drawn[id] = text;
  byId(id).replaceChildren(...children());
}

function show(now) {
  byId("phase").textContent = now.lines[0][1];
  draw("trouble", now.trouble, () => now.trouble.map((text) => element("li", text)));
  draw("lines", now.lines, () => now.lines.slice(1).flatMap(([what, told]) => [element("dt", what), element("dd", told)]));
  draw("charts", now.history, () => charts(now.history));
  draw("tables", now.tables, () => now.tables.map(table));
  draw("reports", now.reports, () => now.reports.map(report));
  byId("none").hidden = now.reports.length > 0;
  byId("locust").hidden = now.read_only;
}

// Locust's own switch, where somebody has used it; else the system's.
function follow_theme() {
  if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
  const frame = window.frameElement;
  if (frame) frame.style.height = `${document.body.scrollHeight + 2}px`;
}

async function ask() {
  try {
    const answer = await fetch(`${base}/now`);
    if (!answer.ok) throw new Error(answer.statusText);
    show(await answer.json());
    byId("silent").hidden = true;
  } catch {
    byId("silent").hidden = false;
  }
  follow_theme();
  setTimeout(ask, PERIOD_MS);
}

if (window.frameElement) document.documentElement.classList.add("framed");
ask();
