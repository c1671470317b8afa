// Keys: / searches, j and k move between the rows of the list, Enter opens a row, x selects it, Esc leaves, ? shows the keys.
// A disabled button does nothing.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("#main .list tbody tr[id]")];
  const current = () => document.activeElement?.closest?.("#main .list tbody tr[id]");

  function go(step) {
    const all = rows(), at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  const keys = {
    "/": () => document.getElementById("search")?.focus(),
    "j": () => go(1),
    "k": () => go(-1),
    "x": (event) => click(event),
    "X": (event) => click(event),
    "?": () => document.getElementById("keys")?.showModal(),
    "Enter": () => { if (document.activeElement === current()) current()?.querySelector("a")?.click(); else return false; },
    "Escape": () => document.querySelector("[data-bulk]:not([hidden]) [data-none]")?.click() ?? false,
  };

  function click(event) {
    const box = current()?.querySelector(".pick input");
    box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: event.shiftKey }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("textarea, select, input:not([type=checkbox]):not([type=radio])")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (Object.hasOwn(keys, event.key) && keys[event.key](event) !== false) event.preventDefault();
  });

  document.querySelector("[data-keys]").addEventListener("click", () => keys["?"]());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[aria-disabled=true]")) { event.preventDefault(); event.stopPropagation(); }
  }, true);
})();
