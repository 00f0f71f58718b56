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
