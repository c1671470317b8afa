// The palette (dialog#palette): results of the server while the visitor types, arrow keys, and Enter, which opens the marked
// result, or the page of the search before results have come. static/keys.js opens it.
"use strict";
(() => {
  const dialog = document.getElementById("palette"), input = dialog.querySelector("input"), list = document.getElementById("found");
  let at = -1, request = null, timer, shown = null;
  const options = () => [...list.querySelectorAll("[role=option]")];

  function mark(next) {
    const all = options();
    at = all.length ? (next + all.length) % all.length : -1;
    all.forEach((one, index) => one.setAttribute("aria-selected", index === at));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", all[at].id);
    all[at].scrollIntoView({ block: "nearest" });
  }

  async function search() {
    request?.abort();
    request = new AbortController();
    const text = input.value.trim();
    try {
      const response = await fetch(`/search/palette?find=${encodeURIComponent(text)}`, { signal: request.signal, headers: { "HX-Request": "true" } });
      if (!response.ok) return;
      list.replaceChildren(...new DOMParser().parseFromString(await response.text(), "text/html").body.childNodes);
      shown = text;
      mark(0);
    } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren();
    }
  }

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); mark(at + step); }
    if (event.key === "Enter" && at >= 0 && shown === input.value.trim()) { event.preventDefault(); options()[at].click(); }
  });
  document.addEventListener("palette", () => { dialog.showModal(); input.select(); search(); });
})();
