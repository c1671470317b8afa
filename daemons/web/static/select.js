// Selection of rows in a list (table[data-select]): all rows of the page, ranges with Shift, the count, and the bulk actions
// (data-bulk). Rows have ids, so they stay selected when the page is updated.
"use strict";
(() => {
  let last = null;

  const boxes = () => [...document.querySelectorAll("table[data-select] tbody .pick input")];

  function show() {
    const all = boxes(), table = document.querySelector("table[data-select]");
    if (!table) return;
    const on = all.filter((box) => box.checked);
    for (const box of all) {
      if (box.checked) box.closest("tr").setAttribute("aria-selected", "true");
      else box.closest("tr").removeAttribute("aria-selected");
    }
    const whole = table.querySelector("[data-all]");
    whole.checked = on.length > 0 && on.length === all.length;
    whole.indeterminate = on.length > 0 && on.length < all.length;
    const bulk = document.querySelector("[data-bulk]");
    if (!bulk) return;
    bulk.hidden = on.length === 0;
    bulk.querySelector("[data-count]").textContent = on.length;
    const matching = bulk.querySelector("[name=all]");
    if (matching && !whole.checked) matching.checked = false;
    if (matching) matching.closest("label").hidden = !whole.checked;
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-none]")) {
      for (const box of boxes()) box.checked = false;
      show();
      return;
    }
    const box = event.target.closest("table[data-select] .pick input");
    if (!box) return;
    const all = boxes();
    if (box.matches("[data-all]")) {
      for (const each of all) each.checked = box.checked;
    } else {
      const from = all.indexOf(last), to = all.indexOf(box);
      if (event.shiftKey && from >= 0) {
        for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) each.checked = box.checked;
      }
      last = box;
    }
    show();
  });

  document.addEventListener("htmx:after:swap", show);
  window.addEventListener("pageshow", show);
})();
