// Search in the output of a task (input[data-find]): marks all matches in the shown text, tells their number, and Enter shows the
// next one. The text itself is not changed, so the page may update it.
"use strict";
(() => {
  let next = 0;

  function matches(pane, text) {
    const found = [], wanted = text.toLowerCase();
    if (!wanted) return found;
    const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const shown = node.data.toLowerCase();
      for (let at = shown.indexOf(wanted); at >= 0; at = shown.indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        found.push(range);
      }
    }
    return found;
  }

  function show() {
    const field = document.querySelector("[data-find]"), pane = field?.closest(".output").querySelector("pre");
    if (!field) return [];
    const found = pane ? matches(pane, field.value) : [];
    globalThis.CSS?.highlights?.set("found", new Highlight(...found));
    document.querySelector("[data-found]").textContent = field.value ? `${found.length} ${found.length === 1 ? "match" : "matches"}` : "";
    return found;
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-find]")) return;
    next = 0;
    show();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("[data-find]")) return;
    event.preventDefault();
    const found = show();
    if (!found.length) return;
    const pane = event.target.closest(".output").querySelector("pre"), box = found[next++ % found.length].getBoundingClientRect();
    pane.scrollBy({ top: box.top - pane.getBoundingClientRect().top - pane.clientHeight / 2 });
  });
  document.addEventListener("htmx:after:swap", show);
})();
