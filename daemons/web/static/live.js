// What a page exchanges with the server besides htmx's own requests: the CSRF token with each of these, and the stream of
// /live, which sends <main> again when it has changed. Events: `main` (HTML), `age` (seconds, empty while all is well).
"use strict";
(() => {
  const main = document.getElementById("main"), age = document.getElementById("age"), lost = document.getElementById("lost");
  const sign = document.getElementById("live");
  const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;

  document.addEventListener("htmx:config:request", (event) => {
    event.detail.ctx.request.headers["X-CSRF-Token"] = document.querySelector("meta[name=csrf]").content;
  });

  // what asks again by itself waits while nobody sees it, and complains of nothing: the page says what is away
  const asksAgain = (event) => event.detail.ctx?.sourceElement?.matches(".tail");
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden && asksAgain(event)) event.preventDefault();
  });

  // answers that are good news go away by themselves, others when somebody closes them
  const answers = document.getElementById("answers");
  let leaving;
  document.addEventListener("htmx:after:swap", (event) => {
    // the form again, with what is wrong in it
    const { sourceElement, target } = event.detail.ctx;
    if (sourceElement !== main && target !== answers && target.id !== "outcome") main.querySelector("[aria-invalid=true]")?.focus();
    // what a check says stands below a long form
    if (sourceElement.matches?.("form.form, form.form button")) main.querySelector("#outcome .note")?.scrollIntoView({ block: "center" });
    clearTimeout(leaving);
    if (answers.firstElementChild && !answers.querySelector(".bad, .warn")) leaving = setTimeout(() => answers.replaceChildren(), 8000);
  });
  // an error page is not put into the page: what it says is told; 422 is the form again, with what is wrong in it
  function complain(text) {
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
    complain((page.querySelector("h1") ?? page.body).textContent.trim() || `The web server answers ${response.status}.`);
  });
  document.addEventListener("htmx:error", (event) => {
    if (!asksAgain(event)) complain("The web server does not answer: look whether anything has changed before you try again.");
  });
  document.querySelector("[data-close]").addEventListener("click", () => answers.replaceChildren());

  function words(seconds) {
    for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
      if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
    }
    return `${Math.floor(seconds)} s`;
  }

  // the age that the server told last, and when; it grows by itself
  let told = null, since = 0;
  function tell(seconds) {
    told = seconds === "" ? null : Number(seconds);
    since = Date.now();
    show();
  }
  function show() {
    age.hidden = told === null;
    if (told !== null) age.querySelector("[data-age]").textContent = words(told + (Date.now() - since) / 1000);
  }
  tell(age.querySelector("[data-age]").dataset.age);
  setInterval(show, 1000);

  if (!sign) return;
  let stream = null, wait = 0, again = null;

  function set(status) {
    sign.dataset.live = status;
    sign.textContent = { on: "live", lost: "not connected" }[status] ?? "live";
    lost.hidden = status !== "lost";
  }

  // what is typed and not sent yet must not be lost: a form with changes stays as it is until it is sent
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
    stream = new EventSource(`/live?page=${encodeURIComponent(sign.dataset.page)}`);
    stream.onopen = () => { wait = 0; set("on"); };
    stream.addEventListener("main", (event) => swap(event.data));
    stream.addEventListener("age", (event) => tell(event.data));
    stream.onerror = () => {
      // it would try again by itself, but not after an HTTP error, and all pages of a cell at once; a stream that just
      // ends is opened again without a word
      stream.close();
      if (wait) set("lost");
      again = setTimeout(open, wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2 || FIRST_WAIT, LONGEST_WAIT);
    };
  }

  // a page that nobody sees costs the server nothing
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) open();
    else { clearTimeout(again); stream?.close(); }
  });
  open();
})();
