// The server asks before irreversible or disruptive actions (header X-Confirm): its question is shown in dialog#confirm. Cancel and
// Esc change nothing; the confirmed form has the address and the target element of the first form.
"use strict";
(() => {
  const dialog = document.getElementById("confirm");
  let opener = null;

  document.addEventListener("htmx:after:request", (event) => {
    const { response, text, sourceElement } = event.detail.ctx;
    if (!response.headers.get("X-Confirm")) return;
    event.preventDefault();
    opener = document.activeElement;
    dialog.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    const form = dialog.querySelector("form"), first = sourceElement.closest("form");
    for (const name of ["hx-target", "hx-swap"]) if (first.hasAttribute(name)) form.setAttribute(name, first.getAttribute(name));
    htmx.process(dialog);
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => { if (event.target.closest("[data-cancel]")) dialog.close(); });
  document.addEventListener("htmx:before:request", (event) => {
    if (dialog.contains(event.detail.ctx?.sourceElement)) dialog.close();
  });
  dialog.addEventListener("close", () => { if (opener?.isConnected) opener.focus(); });
})();
