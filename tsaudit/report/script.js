"use strict";
// Copies statements, filters, sorts tables, opens what a link points into. The page is complete without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Without a script, a click selects the whole statement.
  const announced = document.createElement("output");
  announced.className = "unseen";
  document.body.append(announced);
  const copy = async (pre) => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(pre);
      return document.execCommand("copy");
    }
  };
  for (const box of all(".copyable")) {
    const pre = box.firstElementChild;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${pre.getAttribute("aria-label")}`);
    button.addEventListener("click", async () => {
      const done = await copy(pre);
      button.textContent = done ? "Copied" : "Selected";
      announced.textContent = done ? "Copied" : "Selected, ready to copy";
      setTimeout(() => { button.textContent = "Copy"; announced.textContent = ""; }, 2000);
    });
    box.append(button);
  }

  // What is shown: elements with the words they are found by, and the values that boxes and lists select.
  const filter = (form, entries, after) => {
    const text = form.querySelector("input[type=search]");
    const boxes = all("input[type=checkbox]", form);
    const lists = all("select", form);
    const count = form.querySelector("output");
    const apply = () => {
      const kinds = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
      const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { element, kind, words, of } of entries) {
        const visible = kinds.has(kind) && wanted.every((word) => words.includes(word))
          && lists.every((list) => !list.value || of[list.dataset.of].split("|").includes(list.value));
        element.hidden = !visible;
        shown += visible;
      }
      after(wanted.length > 0);
      count.textContent = shown === entries.length ? "" : `${shown.toLocaleString("en")} of ${entries.length.toLocaleString("en")} shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  };

  const findings = document.querySelector("#findings");
  if (findings && findings.querySelector("form.filter")) {
    const groups = all("details.compact", findings);
    const places = all(".compact > ul > li:not([id])", findings);
    // A compact finding is also found by the name of its measurement and of its rule, which stand above it.
    const above = (element) => {
      const group = element.closest("details.compact");
      if (!group) return "";
      const place = element.parentElement.closest("li");
      return `${group.firstElementChild.textContent} ${place ? place.firstChild.textContent : ""} `;
    };
    const entries = all("article.finding, .compact li[id]", findings).map((element) => ({
      element,
      kind: element.closest("[data-severity]").dataset.severity,
      words: (above(element) + element.textContent).toLowerCase(),
    }));
    filter(findings.querySelector("form.filter"), entries, (searching) => {
      for (const place of places) place.hidden = !place.querySelector("li:not([hidden])");
      for (const group of groups) {
        group.hidden = !group.querySelector("li[id]:not([hidden])");
        if (searching) group.open = true;
      }
      const notes = findings.querySelector("details.notes");
      if (notes && searching) notes.open = true;
    });
  }

  const targets = document.querySelector("main.index form.filter");
  if (targets) {
    const groups = all("section.group");
    const entries = all("table.targets tbody tr, section.group li").map((element) => {
      const about = element.closest("[data-verdict]");
      const common = about === element ? "" : about.firstElementChild.textContent;
      return { element, kind: about.dataset.verdict, words: `${common} ${element.textContent}`.toLowerCase(), of: about.dataset };
    });
    filter(targets, entries, () => {
      for (const group of groups) group.hidden = !group.querySelector("li:not([hidden])");
    });
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

  // Browsers open what a link leads into, but some only when the page loads. What has no room here has a remark.
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && (document.getElementById(id) || (/^[fp]-/.test(id) && document.getElementById("left-out")));
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
