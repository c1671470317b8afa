// Forms of attributes (form[data-attributes]): the filter, marks of changed fields, choices of existing objects, "Unlimited", and the
// qmaster's check while the visitor types, whose reasons appear beside the fields. All listeners are on the document, since a form
// is replaced by its answer.
"use strict";
(() => {
  const EMPTY = ["", "none", "infinity", "undefined"], WAIT = 600;
  const form = () => document.querySelector("form[data-attributes]");
  const fields = () => [...document.querySelectorAll("form[data-attributes] .attribute")];
  const control = (field) => field.querySelector("[type=radio]:checked") ?? field.querySelector("input:not([type=radio]), select, textarea");
  const valueOf = (field) => control(field)?.value ?? "";
  const attributeAt = (target) => target.closest?.("form[data-attributes] .attribute");

  // ---- marks, and the filter
  function mark() {
    const all = fields();
    for (const field of all) {
      const value = valueOf(field);
      field.classList.toggle("changed", value.trim() !== storedOf(field).trim());
      field.classList.toggle("unset", EMPTY.includes(value.toLowerCase()));
      const unlimited = field.querySelector("[data-unlimited]");
      unlimited?.setAttribute("aria-pressed", String(value === "INFINITY"));
      for (const choice of field.querySelectorAll(".choices button")) {
        choice.setAttribute("aria-pressed", String(names(value, field).includes(choice.value)));
      }
    }
    const count = all.filter((field) => field.classList.contains("changed")).length;
    const status = document.querySelector("[data-changed]");
    if (status) status.textContent = count ? `${count} changed` : "";
  }

  // the stored object is in the form, so a form that comes back with the visitor's values still knows what is changed
  let before = null, beforeText = "";
  function storedOf(field) {
    const text = form()?.elements.before?.value ?? "";
    if (text !== beforeText) { beforeText = text; try { before = JSON.parse(text); } catch { before = null; } }
    return before?.[field.dataset.attribute] ?? (before ? "" : field.dataset.stored);
  }

  function filter() {
    const find = document.querySelector("[data-find-attribute]")?.value.trim().toLowerCase() ?? "";
    const only = [...document.querySelectorAll("[data-only]:checked")].map((box) => box.dataset.only);
    for (const field of fields()) {
      const text = `${field.textContent} ${valueOf(field)}`.toLowerCase();
      const wrong = field.querySelector(".error");
      const fits = (!find || text.includes(find)) && (!only.includes("changed") || field.classList.contains("changed"))
        && (!only.includes("set") || !field.classList.contains("unset"));
      field.hidden = !fits && !wrong;
    }
    for (const group of document.querySelectorAll("[data-group]")) group.hidden = !group.querySelector(".attribute:not([hidden])");
    const none = document.querySelector("[data-none-found]");
    if (none) none.hidden = fields().some((field) => !field.hidden);
  }

  // ---- choices of a list: a button for each existing object, which adds or removes it
  const names = (value, field) => value.split(/[\s,]+/).filter(Boolean)
    .map((each) => (control(field)?.dataset.list === "pairs" ? each.split("=")[0] : each));

  function choose(field, name) {
    const input = control(field), pairs = input.dataset.list === "pairs";
    const parts = input.value.split(/[\s,]+/).filter((each) => each && !EMPTY.includes(each.toLowerCase()));
    const nameOf = (part) => (pairs ? part.split("=")[0] : part);
    if (EMPTY.includes(name.toLowerCase())) input.value = name;
    else if (parts.some((part) => nameOf(part) === name)) input.value = parts.filter((part) => nameOf(part) !== name).join(pairs ? "," : " ") || "NONE";
    else input.value = [...parts, pairs ? `${name}=` : name].join(pairs ? "," : " ");
    if (pairs) { input.focus(); input.setSelectionRange(input.value.length, input.value.length); }
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function addChoices() {
    for (const input of document.querySelectorAll("form[data-attributes] [data-list]")) {
      const field = attributeAt(input), list = document.getElementById(input.dataset.options);
      if (!list || field.querySelector(".choices") || [...list.options].every((option) => EMPTY.includes(option.value.toLowerCase()))) continue;
      const box = document.createElement("details"), head = document.createElement("summary"), row = document.createElement("div");
      head.textContent = "Choose";
      row.className = "choices";
      for (const option of list.options) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "small";
        button.value = button.textContent = option.value;
        row.append(button);
      }
      box.append(head, row);
      input.closest(".control").after(box);
    }
  }

  // ---- the qmaster's check while the visitor types
  let waiting, running;
  function checkLater() {
    clearTimeout(waiting);
    waiting = setTimeout(check, WAIT);
  }
  async function check() {
    const checked = form();
    if (!checked?.elements.before || !checked.dataset.attributes) return;
    running?.abort();
    running = new AbortController();
    const body = new URLSearchParams(new FormData(checked));
    body.set("do", "check");
    // a later check aborts this one; without the server there is no check
    const response = await fetch(checked.getAttribute("action"), { method: "POST", body, signal: running.signal }).catch(() => null);
    if (!response?.ok || !response.headers.get("Content-Type").startsWith("application/json")) return;
    const verdict = await response.json().catch(() => null);
    if (verdict && checked.isConnected) for (const field of fields()) showFault(field, verdict.faults[field.dataset.attribute] ?? "");
  }
  function showFault(field, text) {
    const input = control(field)?.closest("fieldset") ?? control(field);
    let message = field.querySelector(".error");
    if (!text) { message?.remove(); input?.removeAttribute("aria-invalid"); return; }
    if (!message) {
      message = document.createElement("span");
      message.className = "error";
      message.setAttribute("role", "status");
      field.querySelector("small").before(message);
    }
    message.id = `error-attr.${field.dataset.attribute}`;
    message.textContent = text;
    input?.setAttribute("aria-invalid", "true");
    input?.setAttribute("aria-describedby", `${message.id} help-attr.${field.dataset.attribute}`);
  }

  // ---- a change of the matrix is marked as well
  function markCells() {
    for (const input of document.querySelectorAll(".cells input[data-stored]")) {
      input.closest("td").classList.toggle("changed", input.value.trim() !== input.dataset.stored.trim());
    }
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches(".cells input[data-stored]")) markCells();
    if (event.target.matches("[data-find-attribute], [data-only]")) { filter(); return; }
    if (!attributeAt(event.target)) return;
    mark();
    checkLater();
  });
  document.addEventListener("click", (event) => {
    const choice = event.target.closest(".choices button"), unlimited = event.target.closest("[data-unlimited]");
    if (choice) choose(attributeAt(choice), choice.value);
    if (!unlimited) return;
    const field = attributeAt(unlimited), input = control(field);
    const former = field.dataset.former ?? (EMPTY.includes(field.dataset.stored.toLowerCase()) ? "" : field.dataset.stored);
    if (input.value !== "INFINITY") { field.dataset.former = input.value; input.value = "INFINITY"; } else { input.value = former; input.focus(); }
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-find-attribute]")) event.preventDefault();
  });

  function begin() {
    for (const part of document.querySelectorAll("[data-scripted]")) part.hidden = false;
    if (form()) { addChoices(); mark(); filter(); }
    markCells();
  }
  document.addEventListener("htmx:after:swap", begin);
  window.addEventListener("pageshow", begin);
  begin();
  // the matrix of a queue page leads to a cell
  if (location.hash.startsWith("#cell.")) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.focus();
})();
