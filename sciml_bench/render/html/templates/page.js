"use strict";
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    if (text === "–" || text === "") return null;
    return /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
  };

  // Numbers before words; what is not known comes last, whichever way is sorted.
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * a.localeCompare(b, "en", { numeric: true });
  };

  const sort = (table, column, heading) => {
    const ascending = heading.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row, index) => ({ row, index, key: value(row, column) }));
    keyed.sort((a, b) => compare(a.key, b.key, ascending ? 1 : -1) || a.index - b.index);
    body.append(...keyed.map((item) => item.row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  };

  const makeSortable = (table) => {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, column, heading));
      heading.append(button);
    });
  };

  const makeFilter = (table) => {
    const tools = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const told = document.createElement("output");
    tools.className = "tools";
    input.type = "search";
    label.append("Filter ", input);
    input.setAttribute("aria-label", `Filter the rows of: ${table.caption.textContent}`);
    tools.append(label, told);
    const rows = Array.from(table.tBodies[0].rows);
    let texts = null;
    input.addEventListener("input", () => {
      texts ??= rows.map((row) => row.textContent.toLowerCase());
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, index) => {
        row.hidden = !words.every((word) => texts[index].includes(word));
        shown += !row.hidden;
      });
      told.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
    table.parentElement.before(tools);
  };

  // On a phone the rows of a small table become cards, whose values need their headings.
  const label = (table) => {
    const names = Array.from(table.tHead.rows[0].cells, (heading) => heading.textContent.trim());
    if (names.length > 10) return;
    for (const row of table.tBodies[0].rows) {
      Array.from(row.cells).forEach((cell, column) => { cell.dataset.label = names[column]; });
    }
    table.classList.add("cards");
  };

  // Controls are made when a table is about to be seen, so that a long page is shown at once.
  const prepare = (table) => {
    if (table.dataset.ready) return;
    table.dataset.ready = "1";
    label(table);
    if (table.tBodies[0].rows.length > 1) makeSortable(table);
    if (table.classList.contains("filter")) makeFilter(table);
  };

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        prepare(entry.target);
      }
    }
  }, { rootMargin: "1500px" });
  for (const table of document.querySelectorAll("table.sort")) seen.observe(table);

  // A link into a fold opens it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // On paper nothing can be unfolded.
  const printed = "details.missing, details.equations, details.choice, details.more, details.skipped, details.how";
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll(printed)).filter((item) => !item.open);
    for (const item of opened) item.open = true;
  });
  addEventListener("afterprint", () => {
    for (const item of opened) item.open = false;
  });
})();
