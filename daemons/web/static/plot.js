// Plots over time, by uPlot: each figure[data-plot] has {times: [s], lines: [{label, values}], unit}. Redrawn when the page is
// updated, when the width of the window changes, and when the colour scheme changes.
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

  function options(plot, width) {
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    return {
      width, height: HEIGHT, cursor: { points: { size: 6 } },
      scales: { x: { range: (_, low, high) => high > low ? [low, high] : [low - 60, low + 60] }, y: { range: (_, low, high) => [Math.min(low, 0), high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis, space: 64, values: TICKS, label: ZONE, labelSize: 18 }, { ...axis, size: 64, values: (_, ticks) => ticks.map(short), label: plot.unit, labelSize: 20 }],
      series: [{ label: "time", value: `{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} ${ZONE}` }, ...plot.lines.map((line, at) => ({
        label: line.label, stroke: colour(COLOURS[at % COLOURS.length]), width: 2, dash: at < COLOURS.length ? [] : [6, 4],
        value: (_, value) => short(value),
      }))],
    };
  }

  function draw(figure) {
    const text = figure.dataset.plot, width = Math.floor(figure.clientWidth);
    const known = plots.get(figure);
    if (!width || (known && known.text === text && known.width === width && known.dark === dark.matches)) return;
    known?.drawn.destroy();
    const plot = JSON.parse(text);
    const data = [plot.times, ...plot.lines.map((line) => line.values)];
    plots.set(figure, { text, width, dark: dark.matches, drawn: new uPlot(options(plot, width), data, figure) });
  }

  const watch = new ResizeObserver((entries) => entries.forEach((entry) => draw(entry.target)));
  function all() {
    for (const figure of document.querySelectorAll("figure[data-plot]")) { draw(figure); watch.observe(figure); }
  }
  document.addEventListener("htmx:after:swap", all);
  dark.addEventListener("change", all);
  all();
})();
