// A chosen script file is read into the text area, where it can be seen and changed. Without scripts the server reads it.
"use strict";
document.addEventListener("change", async (event) => {
  const field = event.target.closest("input[type=file][data-script]"), file = field?.files[0];
  if (!file) return;
  const area = document.getElementById(field.dataset.script), bytes = await file.arrayBuffer();
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { return; }  // the server refuses it
  area.value = text;
  field.value = "";
  area.dispatchEvent(new Event("input", { bubbles: true }));
});

// an error within closed options opens them
document.addEventListener("htmx:after:swap", () => {
  const wrong = document.querySelector("#main details:not([open]) [aria-invalid=true]");
  if (!wrong) return;
  wrong.closest("details").open = true;
  document.querySelector("#main [aria-invalid=true]").focus();
});
