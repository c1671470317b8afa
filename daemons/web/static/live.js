// Communication of a page with the server besides htmx: the CSRF token in each htmx request, and the stream of /live, which
// sends <main> after each change. Events: `main` (HTML), `age` (seconds, empty while the qmaster responds), `alarms`.
"use strict";
(() => {
  const main = document.getElementById("main"), age = document.getElementById("age"), lost = document.getElementById("lost");
  const sign = document.getElementById("live");
  const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;

  document.addEventListener("htmx:config:request", (event) => {
    event.detail.ctx.request.headers["X-CSRF-Token"] = document.querySelector("meta[name=csrf]").content;
  });

  // parts that reload themselves pause while the page is hidden, or while the visitor does not follow the output; and they show
  // no errors: the banners of the page do
  const asksAgain = (event) => event.detail.ctx?.sourceElement?.matches(".tail");
  const isPaused = (tail) => tail.closest(".output")?.querySelector("[data-follow]")?.checked === false;
  document.addEventListener("htmx:before:request", (event) => {
    if (asksAgain(event) && (document.hidden || isPaused(event.detail.ctx.sourceElement))) event.preventDefault();
  });

  // good news disappear automatically, other answers when the user closes them
  const answers = document.getElementById("answers");
  let leaving;
  document.addEventListener("htmx:after:swap", (event) => {
    // focus the first error in a form
    const { sourceElement, target } = event.detail.ctx;
    if (sourceElement !== main && target !== answers && target.id !== "outcome") main.querySelector("[aria-invalid=true]")?.focus();
    // the result of a check, a preview or a trial is below a long form
    if (sourceElement.matches?.("form.form, form.form button")) {
      const result = main.querySelector("#outcome .note, #preview, #trial");
      result?.scrollIntoView({ block: result.matches("section") ? "start" : "center" });
    }
    clearTimeout(leaving);
    if (answers.firstElementChild && !answers.querySelector(".bad, .warn")) leaving = setTimeout(() => answers.replaceChildren(), 8000);
  });
  // an error page does not replace the page: its heading is shown as an error; 422 is the form with its errors
  function showError(text) {
    const list = document.createElement("ul"), note = document.createElement("li");
    list.className = "notes";
    note.className = "note bad";
    note.textContent = text;
    list.append(note);
    answers.replaceChildren(list);
  }
  document.addEventListener("htmx:after:request", (event) => {
    const { response, text } = event.detail.ctx;
    if (response.status < 400 || response.status === 422) return;
    event.preventDefault();
    if (asksAgain(event)) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    showError((page.querySelector("h1") ?? page.body).textContent.trim() || `The web server answers ${response.status}.`);
  });
  document.addEventListener("htmx:error", (event) => {
    if (!asksAgain(event)) showError("The web server does not answer: check whether the change was made before you try again.");
  });
  document.querySelector("[data-close]").addEventListener("click", () => answers.replaceChildren());

  function ageText(seconds) {
    for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
    }
    return `${Math.floor(seconds)} s`;
  }

  // the age in the last event of the server, and the time of that event; the shown age keeps growing
  let lastAge = null, since = 0;
  function setAge(seconds) {
    lastAge = seconds === "" ? null : Number(seconds);
    since = Date.now();
    show();
  }
  function show() {
    age.hidden = lastAge === null;
    if (lastAge !== null) age.querySelector("[data-age]").textContent = ageText(lastAge + (Date.now() - since) / 1000);
  }
  setAge(age.querySelector("[data-age]").dataset.age);
  setInterval(show, 1000);

  // the number of alarms in the navigation, and in its head on a phone
  const badges = document.querySelectorAll("[data-alarms]");
  function setBadge(text) {
    const [count, tone] = text.split(" ");
    for (const badge of badges) {
      badge.dataset.alarms = text;
      badge.hidden = count === "0";
      badge.className = `badge ${tone}`;
      badge.querySelector("b").textContent = count;
    }
  }

  if (!sign) return;
  let stream = null, wait = 0, again = null;

  function set(status) {
    sign.dataset.live = status;
    sign.textContent = { on: "live", lost: "not connected" }[status] ?? "live";
    lost.hidden = status !== "lost";
  }

  // typed input must not be lost: the page is not updated while an input has the focus
  function typing() {
    const active = document.activeElement;
    return main.contains(active) && active.matches("textarea, select, input:not([type=checkbox]):not([type=radio])");
  }

  let pending = null;
  function swap(text) {
    if (typing()) { pending = text; return; }
    pending = null;
    htmx.swap({ sourceElement: main, target: main, swap: "innerMorph", text, request: { headers: {} } });
  }
  main.addEventListener("focusout", () => setTimeout(() => { if (pending !== null) swap(pending); }));

  function open() {
    clearTimeout(again);
    stream?.close();
    stream = new EventSource(`/live?page=${encodeURIComponent(sign.dataset.page)}&alarms=${encodeURIComponent(badges[0].dataset.alarms)}`);
    stream.onopen = () => { wait = 0; set("on"); };
    stream.addEventListener("main", (event) => swap(event.data));
    stream.addEventListener("age", (event) => setAge(event.data));
    stream.addEventListener("alarms", (event) => setBadge(event.data));
    stream.onerror = () => {
      // EventSource does not reconnect after HTTP errors, and would reconnect all pages of a cell at once. The first
      // reconnect shows no message: streams end regularly
      stream.close();
      if (wait) set("lost");
      again = setTimeout(open, wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2 || FIRST_WAIT, LONGEST_WAIT);
    };
  }

  // a hidden page keeps no stream open
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) open();
    else { clearTimeout(again); stream?.close(); }
  });
  open();
})();
