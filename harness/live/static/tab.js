// Puts the page of brokerbench below the table of its tab, which holds text only.
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

new MutationObserver(place).observe(document.getElementById("root"), { childList: true, subtree: true });
