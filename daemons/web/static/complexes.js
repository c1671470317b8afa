// Rows of the table of complexes (form[data-combinations]) offer only valid combinations: the type limits the relation and the
// consumable, and these limit the default. A choice that has become invalid changes to the first valid choice.
"use strict";
(() => {
  const ORDER = ["type", "relop", "consumable", "requestable"];

  // adjust: change choices that are invalid now; false for a new page, which shows the stored values
  function limit(row, combinations, adjust) {
    const fields = Object.fromEntries([...row.querySelectorAll("[data-column]")].map((each) => [each.dataset.column, each]));
    let left = Object.keys(combinations).map((each) => each.split(" "));
    ORDER.forEach((column, place) => {
      const field = fields[column], possible = new Set(left.map((each) => each[place]));
      if (field.tagName === "SELECT") {
        for (const option of field.options) option.disabled = option.hidden = !possible.has(option.value);
        if (adjust && !possible.has(field.value)) field.value = [...field.options].find((option) => !option.disabled).value;
      }
      left = left.filter((each) => each[place] === field.value);
    });
    const defaults = combinations[ORDER.map((column) => fields[column].value).join(" ")] ?? [];
    const only = !defaults.includes("1");
    fields.default.readOnly = only;
    if (!adjust) return;
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
