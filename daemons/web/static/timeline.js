// Dragging a window in a row of the time line (svg[data-begin]) opens the form that reserves, filled in. Escape cancels.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg", LEAST = 4;
  let drag = null;

  // the time under a pointer, rounded, within the window
  function timeAt(svg, event) {
    const { begin, end, left, wide, snap } = Object.fromEntries(Object.entries(svg.dataset).map(([name, text]) => [name, Number(text)]));
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width);
    const share = Math.min(Math.max((x - left) / wide, 0), 1);
    return Math.round((begin + share * (end - begin)) / snap) * snap;
  }

  function show(event) {
    const { svg, group, from } = drag, to = timeAt(svg, event);
    const { begin, end, left, wide } = Object.fromEntries(Object.entries(svg.dataset).map(([name, text]) => [name, Number(text)]));
    const at = (when) => left + ((when - begin) / (end - begin)) * wide, row = group.querySelector(".row");
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    if (!drag.mark?.isConnected) {  // an update of the page may have removed it
      drag.mark = document.createElementNS(NS, "rect");
      drag.mark.setAttribute("class", "dragged");
      group.append(drag.mark);
    }
    for (const [name, value] of [["x", at(first)], ["y", row.getAttribute("y")], ["width", at(last) - at(first)], ["height", row.getAttribute("height")]]) {
      drag.mark.setAttribute(name, value);
    }
    return [first, last];
  }

  function end() {
    drag?.mark?.remove();
    drag = null;
  }

  document.addEventListener("pointerdown", (event) => {
    const group = event.target.closest(".timeline g[data-queue]");
    if (!group || event.button !== 0 || event.pointerType === "touch") return;
    const svg = group.ownerSVGElement;
    drag = { svg, group, from: timeAt(svg, event), x: event.clientX, mark: null };
    if (!event.target.closest("a")) event.preventDefault();
  });
  document.addEventListener("pointermove", (event) => {
    if (drag && (drag.mark || Math.abs(event.clientX - drag.x) > LEAST)) show(event);
  });
  document.addEventListener("pointerup", (event) => {
    if (!drag?.mark) return end();
    const [begin, last] = show(event), queue = drag.group.dataset.queue;
    end();
    if (last > begin) location.href = `/reservations/new?${new URLSearchParams({ begin, end: last, "-q": queue })}`;
  });
  // dragging over a link must not open the link
  document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".timeline")) event.preventDefault(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
})();
