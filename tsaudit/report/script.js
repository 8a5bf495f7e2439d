"use strict";
// Filters the findings, sorts tables, opens what a link points into. The page is complete without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const form = document.querySelector("form.filter");
  if (form) {
    const section = form.parentElement;
    const text = form.querySelector("#filter-text");
    const boxes = all("input[type=checkbox]", form);
    const count = form.querySelector("output");
    const groups = all("details.compact", section);
    const places = all(".compact > ul > li:not([id])", section);
    // A compact finding is also found by the name of its measurement and of its rule, which stand above it.
    const above = (element) => {
      const group = element.closest("details.compact");
      if (!group) return "";
      const place = element.parentElement.closest("li");
      return `${group.firstElementChild.textContent} ${place ? place.firstChild.textContent : ""} `;
    };
    const entries = all("article.finding, .compact li[id]", section).map((element) => ({
      element,
      severity: element.closest("[data-severity]").dataset.severity,
      words: (above(element) + element.textContent).toLowerCase(),
    }));
    const apply = () => {
      const severities = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
      const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { element, severity, words } of entries) {
        const visible = severities.has(severity) && wanted.every((word) => words.includes(word));
        element.hidden = !visible;
        shown += visible;
      }
      for (const place of places) place.hidden = !place.querySelector("li:not([hidden])");
      for (const group of groups) {
        group.hidden = !group.querySelector("li[id]:not([hidden])");
        if (wanted.length) group.open = true;
      }
      const notes = section.querySelector("details.notes");
      if (notes && wanted.length) notes.open = true;
      count.textContent = shown === entries.length ? "" : `${shown.toLocaleString("en")} of ${entries.length.toLocaleString("en")} shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  }

  const key = (row, column, numeric) => {
    const cell = row.cells[column];
    const first = (cell.firstChild ? cell.firstChild.textContent : "").trim();
    if (!numeric) return cell.textContent.trim().toLowerCase();
    const value = parseFloat(first.replace(/[^0-9.eE+-]/g, ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: key(row, column, numeric) }));
        rows.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map((entry) => entry.row));
      });
    });
  }

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let parent = target.closest("details"); parent; parent = parent.parentElement.closest("details")) parent.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((element) => { element.open = false; }));
})();
