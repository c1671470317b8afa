// Keys: / opens the palette, g and a letter lead to a page, the letter of a bulk action acts on the focused row, j and k move between the rows of the list, Enter opens a row, x selects it, Esc leaves, ? shows the keys.
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

  // letters of actions on the focused row: buttons of the bulk actions
  const actions = () => [...document.querySelectorAll("#main [data-bulk] [data-key]:not([aria-disabled])")];

  function act(key) {
    const row = current(), button = actions().find((one) => one.dataset.key === key), box = row?.querySelector(".pick input");
    if (!box || !button) return false;
    for (const one of document.querySelectorAll("#main .pick input:checked")) if (one !== box) one.click();
    if (!box.checked) box.click();
    button.click();
  }

  function help() {
    const dialog = document.getElementById("keys"), [heading, list] = dialog.querySelectorAll("[data-row-keys]");
    list.replaceChildren(...actions().flatMap((button) => {
      const term = document.createElement("dt"), text = document.createElement("dd"), key = document.createElement("kbd");
      key.textContent = button.dataset.key;
      term.append(key);
      text.textContent = button.textContent.trim().toLowerCase();
      return [term, text];
    }));
    heading.hidden = list.hidden = !list.firstChild;
    dialog.showModal();
  }

  let going = false;
  const keys = {
    "/": () => document.dispatchEvent(new Event("palette")),
    "g": () => { going = true; },
    "j": () => go(1),
    "k": () => go(-1),
    "x": (event) => click(event),
    "X": (event) => click(event),
    "?": () => help(),
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
    if (event.key === "Shift") return;
    if (going) {
      going = false;
      const page = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (page) { event.preventDefault(); page.click(); }
      return;
    }
    const does = Object.hasOwn(keys, event.key) ? keys[event.key](event) : act(event.key);
    if (does !== false) event.preventDefault();
  });

  document.querySelector("[data-keys]").addEventListener("click", () => keys["?"]());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[aria-disabled=true]")) { event.preventDefault(); event.stopPropagation(); }
  }, true);
})();
