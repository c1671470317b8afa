// Plots over time, by uPlot: each figure[data-plot] has {times: [s], lines: [{label, values, tone, dash}], unit, pad, group}. pad: s
// beside a single time; plots of a group are zoomed together, by dragging. Redrawn when the page is updated, when the width of
// the window changes, and when the colour scheme changes; new values keep the zoom.
"use strict";
(() => {
  const HEIGHT = 220, COLOURS = ["--accent", "--mark", "--warn", "--ok", "--bad", "--wait"];
  // smallest step in s, format of a tick, and the format added at the start of a year or a day
  const TICKS = [
    [31536000, "{YYYY}", null, null], [2419200, "{YYYY}-{MM}", null, null], [86400, "{MM}-{DD}", "\n{YYYY}", null],
    [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}"], [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}"],
  ].map(([step, tick, year, day]) => [step, tick, year, null, day, null, null, null, 1]);
  const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts().find((part) => part.type === "timeZoneName").value;
  const plots = new WeakMap();
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // 1 234 567 as 1.23M: the suffixes of complex values, by thousands
  function short(value) {
    if (value === null) return "-";
    for (const [letter, unit] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= unit) return `${+(value / unit).toPrecision(3)}${letter}`;
    }
    return String(+value.toPrecision(3));
  }

  // the drawn plots by group, of those that are still on the page
  const groups = new Map();
  function shareZoom(plot, group) {
    const { min, max } = plot.scales.x;
    for (const other of groups.get(group)) {
      if (!other.root.isConnected) groups.get(group).delete(other);
      else if (other !== plot && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
    }
  }

  function options(plot, width) {
    const pad = plot.pad ?? 60;
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    return {
      width, height: HEIGHT, cursor: { points: { size: 6 } },
      hooks: { setScale: [(drawn, key) => { if (key === "x" && groups.get(plot.group)?.has(drawn)) shareZoom(drawn, plot.group); }] },
      scales: { x: { range: (_, low, high) => high > low ? [low, high] : [low - pad, low + pad] }, y: { range: (_, low, high) => [Math.min(low, 0), high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis, space: 64, values: TICKS, label: ZONE, labelSize: 18 }, { ...axis, size: 64, values: (_, ticks) => ticks.map(short), label: plot.unit, labelSize: 20 }],
      series: [{ label: "time", value: `{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} ${ZONE}` }, ...plot.lines.map((line, at) => ({
        label: line.label, stroke: colour(line.tone ? `--${line.tone}` : COLOURS[at % COLOURS.length]), width: 2,
        dash: line.dash ?? (at < COLOURS.length ? [] : [6, 4]),
        value: (_, value) => short(value),
      }))],
    };
  }

  function draw(figure) {
    const text = figure.dataset.plot, width = Math.floor(figure.clientWidth);
    const known = plots.get(figure);
    if (!width || (known && known.text === text && known.width === width && known.dark === dark.matches)) return;
    const plot = JSON.parse(text), labels = plot.lines.map((line) => line.label).join();
    const data = [plot.times, ...plot.lines.map((line) => line.values)];
    const now = { text, width, dark: dark.matches, labels, drawn: known?.drawn };
    const zoom = known && { min: known.drawn.scales.x.min, max: known.drawn.scales.x.max };
    const isZoomed = zoom && known.labels === labels && (zoom.min > known.drawn.data[0][0] || zoom.max < known.drawn.data[0].at(-1));
    if (known?.drawn.root.isConnected && known.width === width && known.dark === now.dark && known.labels === labels) {
      known.drawn.setData(data, !isZoomed);
    } else {
      known?.drawn.destroy();
      now.drawn = new uPlot(options(plot, width), data, figure);
      if (plot.group) groups.set(plot.group, (groups.get(plot.group) ?? new Set()).add(now.drawn));
    }
    if (isZoomed) now.drawn.setScale("x", zoom);
    plots.set(figure, now);
  }

  const watch = new ResizeObserver((entries) => entries.forEach((entry) => draw(entry.target)));
  function all() {
    for (const figure of document.querySelectorAll("figure[data-plot]")) { draw(figure); watch.observe(figure); }
  }
  document.addEventListener("htmx:after:swap", all);
  dark.addEventListener("change", all);
  all();
})();
