// Puts the page of brokerbench below the table of its tab, which holds text only, and shows the whole help text of a
// field of the form when the mouse is on it.
"use strict";

const FRAME = "brokerbench-live";

function place() {
  const head = document.querySelector('th[data-sortkey="what"]');
  const frame = document.getElementById(FRAME);
  if (!head) frame?.remove();
  else if (!frame) {
    const made = document.createElement("iframe");
    made.id = FRAME;
    made.title = "brokerbench: brokers, bridges, clients, faults, reports";
    made.src = "./brokerbench";
    made.style.cssText = "border: 0; width: 100%; min-height: 20rem";
    head.closest("table").parentElement.parentElement.append(made);
  }
}

function explain() {
  for (const [name, option] of Object.entries(window.templateArgs.extra_options)) {
    const inPage = name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
    const field = document.querySelector(`[name="${inPage}"]`)?.closest("label, .MuiFormControl-root");
    if (field && field.title !== option.full_help) field.title = option.full_help;
  }
}

new MutationObserver(() => { place(); explain(); }).observe(document.getElementById("root"), { childList: true, subtree: true });
