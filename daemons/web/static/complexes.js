// Rows of the table of complexes (form[data-combinations]) offer only choices that go together: the type limits the relation and
// whether it can be consumed, and these limit the default. What a choice has made impossible moves to the first that is possible.
"use strict";
(() => {
  const ORDER = ["type", "relop", "consumable", "requestable"];

  // settle: move choices that are impossible now; not when a page comes, whose values are as they are stored
  function limit(row, combinations, settle) {
    const fields = Object.fromEntries([...row.querySelectorAll("[data-column]")].map((each) => [each.dataset.column, each]));
    let left = Object.keys(combinations).map((each) => each.split(" "));
    ORDER.forEach((column, place) => {
      const field = fields[column], possible = new Set(left.map((each) => each[place]));
      if (field.tagName === "SELECT") {
        for (const option of field.options) option.disabled = option.hidden = !possible.has(option.value);
        if (settle && !possible.has(field.value)) field.value = [...field.options].find((option) => !option.disabled).value;
      }
      left = left.filter((each) => each[place] === field.value);
    });
    const defaults = combinations[ORDER.map((column) => fields[column].value).join(" ")] ?? [];
    const only = !defaults.includes("1");
    fields.default.readOnly = only;
    if (!settle) return;
    if (only && defaults.length && !defaults.includes(fields.default.value)) fields.default.value = defaults[0];
    else if (!only && !defaults.includes("0") && ["0", "NONE", ""].includes(fields.default.value)) fields.default.value = "1";
  }

  function all(root) {
    const form = root.querySelector("form[data-combinations]");
    if (!form) return;
    const combinations = JSON.parse(form.dataset.combinations);
    for (const row of form.querySelectorAll("tbody tr")) limit(row, combinations, false);
  }

  document.addEventListener("change", (event) => {
    const row = event.target.closest("form[data-combinations] tbody tr");
    if (row) limit(row, JSON.parse(row.closest("form").dataset.combinations), true);
  });
  document.addEventListener("htmx:after:swap", () => all(document));
  all(document);
})();
