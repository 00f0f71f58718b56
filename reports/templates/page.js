for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        const numbers = [x, y].every((value) => value !== "" && !Number.isNaN(Number(value)));
        return numbers ? x - y : x.localeCompare(y, undefined, { numeric: true });
      };
      const rows = [...table.tBodies[0].rows].sort(compare);
      table.tBodies[0].append(...(falling ? rows.reverse() : rows));
    });
  });
}
// On a phone, rows of tables that do not fit become blocks of labeled values, and wide charts say that they scroll.
const phone = matchMedia("screen and (max-width: 40rem)");
function fit(box) {
  const table = box.querySelector("table");
  if (!table) {
    box.classList.toggle("cut", phone.matches && box.scrollWidth > box.clientWidth);
    return;
  }
  table.classList.remove("stacked");
  if (!phone.matches || box.scrollWidth <= box.clientWidth) return;
  const heads = [...table.tHead.rows[0].cells];
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, column) => {
      cell.dataset.label = heads[column].textContent;
      if ("prose" in heads[column].dataset) cell.dataset.prose = "";
    });
  }
  table.classList.add("stacked");
}
function fitAll() { document.querySelectorAll(".scroll, .plot").forEach(fit); }
fitAll();
phone.addEventListener("change", fitAll);
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => details.querySelectorAll(".scroll").forEach(fit));
}
