// The page of a sweep: one quantity at a time, over one axis or two; the other axes are held at a value.

const sweep = JSON.parse(document.getElementById("data").textContent);
const MOST_LABELS = 50, MOST_CURVES = 12, ROW = 24, COLOURS = 6, DASHES = ["solid", "dash", "dot", "dashdot"];
const [MEAN, LOW, HIGH, METHOD, VALUES, RUNS, Q5, Q25, Q50, Q75, Q95] = Array(11).keys();
const state = { quantity: 0, across: 0, down: 1, held: sweep.axes.map(() => 0) };
const offsets = sweep.runs.map((_, place) => sweep.runs.slice(0, place).reduce((sum, count) => sum + count, 0));
const places = new Map(sweep.points.map((values, place) => [JSON.stringify(values), place]));

// A number with a decimal prefix, as the axes write it.
function text(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!unit) return Number(value.toPrecision(5)).toLocaleString("en").replaceAll(",", "\u202f");
  if (value === 0) return `0\u00a0${unit}`;
  const prefixes = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];
  const allowed = unit === "s" ? prefixes.slice(3) : prefixes.slice(0, 4);
  const [factor, prefix] = allowed.find(([least]) => Math.abs(value) >= least) || allowed.at(-1);
  return `${Number((value / factor).toPrecision(4))}\u00a0${prefix}${unit}`;
}

// A point in words; on a phone its values alone.
function label(place) {
  const named = sweep.axes.length > 1 && innerWidth > 640;
  return sweep.axes.map((axis, number) => (named ? `${short(axis.name)} ` : "") + sweep.points[place][number]).join(", ") || "all runs";
}

// The last part of a key tells it apart, unless another axis ends alike.
function short(name) {
  const last = name.split(".").at(-1);
  return (sweep.axes.filter((axis) => axis.name.split(".").at(-1) === last).length > 1 ? name : last).replaceAll("_", " ");
}

function quantity() {
  return sweep.quantities[state.quantity];
}

// All combinations of values of the axes that `chosen` leaves free.
function combinations(free) {
  return free.reduce((all, axis) => all.flatMap((one) => sweep.axes[axis].values.map((value) => ({ ...one, [axis]: value }))), [{}]);
}

function placeOf(values) {
  return places.get(JSON.stringify(sweep.axes.map((_, axis) => values[axis])));
}

function look(number) {
  return { color: css(`link-${(number % COLOURS) + 1}`), dash: DASHES[Math.floor(number / COLOURS) % DASHES.length] };
}

// Curves of means with their intervals; over an axis without numbers, points beside one another.
function curves() {
  const across = sweep.axes[state.across], others = [...sweep.axes.keys()].filter((axis) => axis !== state.across);
  const traces = [];
  combinations(others).forEach((others, number, all) => {
    const xs = across.numbers || across.values.map((_, place) => place + (number - (all.length - 1) / 2) * (0.6 / all.length));
    const rows = across.values.map((value, place) => ({ x: xs[place], at: placeOf({ ...others, [state.across]: value }) }))
      .map((row) => ({ ...row, s: quantity().points[row.at] })).filter((row) => row.s);
    if (across.numbers) rows.sort((a, b) => a.x - b.x);
    const { color, dash } = look(number), x = rows.map((row) => row.x);
    const name = Object.values(others).join(", ") || "mean";
    const up = rows.map((row) => (row.s[HIGH] ?? row.s[MEAN]) - row.s[MEAN]), under = rows.map((row) => row.s[MEAN] - (row.s[LOW] ?? row.s[MEAN]));
    const unit = quantity().unit;
    if (across.numbers && rows.length > 1) {
      const band = [...rows.map((row) => row.s[HIGH] ?? row.s[MEAN]), ...rows.map((row) => row.s[LOW] ?? row.s[MEAN]).reverse()];
      traces.push({ x: [...x, ...x.slice().reverse()], y: band, fill: "toself", mode: "lines", line: { width: 0 }, fillcolor: color,
        opacity: 0.16, hoverinfo: "skip", showlegend: false, legendgroup: name });
    }
    traces.push({ x, y: rows.map((row) => row.s[MEAN]), name, legendgroup: name, mode: across.numbers ? "lines+markers" : "markers",
      line: { color, dash, width: 1.8 }, marker: { color, size: 7 }, showlegend: all.length > 1,
      error_y: { type: "data", symmetric: false, array: up, arrayminus: under, color, thickness: 1.3, width: 4 },
      customdata: rows.map((row) => `${label(row.at)}<br>${text(row.s[MEAN], unit)} (${text(row.s[LOW], unit)} to ${text(row.s[HIGH], unit)})<br>${row.s[VALUES]} of ${row.s[RUNS]} runs`),
      hovertemplate: "%{customdata}<extra></extra>" });
  });
  const named = across.numbers ? {} : { tickvals: across.values.map((_, place) => place), ticktext: across.values, range: [-0.5, across.values.length - 0.5] };
  const spread = across.numbers && Math.min(...across.numbers) > 0 && Math.max(...across.numbers) > 50 * Math.min(...across.numbers);
  draw("curves", traces, { xaxis: { ...axisLook(), ...named, type: spread ? "log" : "linear", ticksuffix: across.unit ? ` ${across.unit}` : "", automargin: true, tickangle: crowded(across) ? -35 : 0, title: title(across.words) },
    yaxis: valueAxis(), height: 380 });
}

// Returns true if the names on an axis of words are too long to stand beside one another.
function crowded(axis) {
  return !axis.numbers && 7 * axis.values.reduce((sum, value) => sum + value.length + 3, 0) > $("curves").clientWidth;
}

function heat() {
  const [across, down] = [sweep.axes[state.across], sweep.axes[state.down]];
  const cell = (x, y) => quantity().points[placeOf({ ...state.held.map((place, axis) => sweep.axes[axis].values[place]), [state.across]: x, [state.down]: y })];
  const rows = ordered(down), columns = ordered(across), unit = quantity().unit;
  const cells = rows.map((y) => columns.map((x) => cell(x, y)));
  const z = cells.map((row) => row.map((each) => (each ? each[MEAN] : null)));
  const annotations = cells.length * columns.length <= 200 ? cells.flatMap((row, i) => row.map((each, j) => ({ x: j, y: i, showarrow: false,
    text: each ? text(each[MEAN], unit) : "–", font: { size: 11, color: each && shade(z, each[MEAN]) > 0.55 ? "#ffffff" : "#16181c" } }))) : [];
  const ticks = (values) => ({ tickvals: values.map((_, place) => place), ticktext: values });
  draw("heat", [{ type: "heatmap", z, x: columns.map((_, j) => j), y: rows.map((_, i) => i), xgap: 1, ygap: 1,
    colorscale: [[0, "#eaf3fa"], [0.5, "#6cb0dc"], [1, "#003e66"]], colorbar: { thickness: 12, tickformat: unit ? "~s" : "", ticksuffix: unit, outlinewidth: 0 },
    customdata: cells.map((row) => row.map((each) => (each ? `${text(each[MEAN], unit)} (${text(each[LOW], unit)} to ${text(each[HIGH], unit)})` : "no run"))),
    hovertemplate: "%{x} %{y}<br>%{customdata}<extra></extra>" }],
    { annotations, xaxis: { ...axisLook(), ...ticks(columns), showgrid: false, automargin: true, title: title(across.words) },
      yaxis: { ...axisLook(), ...ticks(rows), showgrid: false, title: title(down.words), automargin: true }, height: Math.max(220, Math.min(80 + 46 * rows.length, 700)) });
}

function ordered(axis) {
  if (!axis.numbers) return axis.values;
  return [...axis.values.keys()].sort((a, b) => axis.numbers[a] - axis.numbers[b]).map((place) => axis.values[place]);
}

function shade(z, value) {
  const all = z.flat().filter((each) => each !== null), low = Math.min(...all), high = Math.max(...all);
  return high > low ? (value - low) / (high - low) : 0;
}

async function boxes() {
  const asked = state.quantity, values = await decode(quantity().values);
  if (state.quantity !== asked) return;
  const traces = sweep.points.map((_, place) => ({ type: "box", orientation: "h", name: label(place), boxpoints: "outliers", boxmean: true,
    x: [...values.subarray(offsets[place], offsets[place] + sweep.runs[place])].filter((value) => !Number.isNaN(value)),
    marker: { color: css("link-1"), size: 4 }, line: { width: 1.3 }, fillcolor: "rgba(0,114,178,0.16)", showlegend: false, hoveron: "boxes+points" }));
  // Names of points stand beside their boxes, where they have room; of very many the pointer tells which is which.
  draw("boxes", traces, { xaxis: valueAxis(), height: Math.max(180, 90 + Math.min(ROW * traces.length, 1600)),
    yaxis: { ...axisLook(), type: "category", showgrid: false, automargin: true, autorange: "reversed", showticklabels: traces.length <= MOST_LABELS, dtick: 1 } });
  distribution(values);
}

// The share of the runs of a point with at most a value; of many points those that differ on the first axis alone.
function distribution(values) {
  const held = (place) => sweep.points[place].every((value, axis) => axis === state.across || value === sweep.axes[axis].values[state.held[axis]]);
  const all = [...sweep.points.keys()], shown = all.length > MOST_CURVES ? all.filter(held).slice(0, MOST_CURVES) : all;
  const traces = shown.map((place, number) => {
    const sorted = values.slice(offsets[place], offsets[place] + sweep.runs[place]).filter((value) => !Number.isNaN(value)).sort();
    const { color, dash } = look(number);
    return { x: [sorted[0], ...sorted], y: [0, ...sorted.map((_, rank) => (rank + 1) / sorted.length)], name: label(place), mode: "lines",
      line: { color, dash, width: 1.8, shape: "hv" }, showlegend: shown.length > 1, hovertemplate: `%{y:.0%} at most %{x}<extra>${label(place)}</extra>` };
  });
  draw("distribution", traces, { xaxis: valueAxis(), yaxis: { ...axisLook(), tickformat: ".0%", range: [0, 1.02], title: title("share of runs") }, height: 340 });
  document.querySelector("#distribution .note").textContent = shown.length < all.length ? `${shown.length} of ${all.length} points; the others differ in ${sweep.axes.filter((_, axis) => axis !== state.across).map((axis) => axis.words).join(", ")}.` : "";
}

// Each point against the one with the first value of an axis, on the same seeds: of the axis that tells the curves apart.
function differences() {
  const compared = (axis) => axis && sweep.differences.some((each) => each.axis === axis.name);
  const axis = [sweep.axes[state.down], sweep.axes[state.across], ...sweep.axes].find(compared);
  const rows = sweep.differences.map((each, number) => ({ ...each, s: quantity().differences[number] }))
    .filter((each) => each.s && each.axis === axis.name).reverse();
  const ends = [0, ...rows.flatMap(({ s }) => [s[LOW] ?? s[MEAN], s[HIGH] ?? s[MEAN]])], room = 0.06 * (Math.max(...ends) - Math.min(...ends) || 1);
  const named = rows.length > MOST_LABELS ? { showticklabels: false } // the pointer tells which is which
    : { tickvals: rows.map((_, place) => place), ticktext: rows.map((row) => label(row.point)) };
  const unit = quantity().unit, clear = (s) => s[LOW] !== null && (s[LOW] > 0 || s[HIGH] < 0);
  const colour = (s) => css(clear(s) ? "link-2" : "total");
  draw("differences", [{ x: rows.map((row) => row.s[MEAN]), y: rows.map((_, place) => place), mode: "markers", marker: { size: 7, color: rows.map((row) => colour(row.s)) },
    error_x: { type: "data", symmetric: false, array: rows.map(({ s }) => (s[HIGH] ?? s[MEAN]) - s[MEAN]), arrayminus: rows.map(({ s }) => s[MEAN] - (s[LOW] ?? s[MEAN])), thickness: 1.3, width: 4, color: css("muted") },
    customdata: rows.map(({ s, point }) => `${label(point)}<br>${text(s[MEAN], unit)} (${text(s[LOW], unit)} to ${text(s[HIGH], unit)}), ${s[VALUES]} pairs`), hovertemplate: "%{customdata}<extra></extra>", showlegend: false }],
    { xaxis: { ...valueAxis(), range: [Math.min(...ends) - room, Math.max(...ends) + room], zeroline: true, zerolinecolor: css("muted") },
      yaxis: { ...axisLook(), ...named, automargin: true, range: [-0.6, rows.length - 0.4] }, height: Math.max(140, 80 + Math.min(24 * rows.length, 1200)) });
  document.querySelector("#differences .note").textContent =
    `How far above ${axis.words} ${axis.values[0]}, all else equal; coloured where the interval leaves out zero.`;
}

function table() {
  const unit = quantity().unit, heads = [...sweep.axes.map((axis) => short(axis.name)), "Runs", "Mean", "95 % interval", "by", "5 %", "25 %", "Median", "75 %", "95 %"];
  const first = sweep.axes.length;
  const unbroken = (value) => (value.length < 24 ? value.replaceAll(" ", "\u00a0") : value);
  const row = (values, place) => {
    const s = quantity().points[place];
    const cells = s ? [s[VALUES] === s[RUNS] ? s[RUNS] : `${s[VALUES]} of ${s[RUNS]}`, text(s[MEAN], unit), s[LOW] === null ? "–" : `${text(s[LOW], unit)} to ${text(s[HIGH], unit)}`, s[METHOD],
      ...[Q5, Q25, Q50, Q75, Q95].map((at) => text(s[at], unit))] : [sweep.runs[place], ...Array(8).fill("–")];
    return element("tr", {}, ...[...values.map(unbroken), ...cells].map((cell, at) => element(at ? "td" : "th", at >= first ? { class: "n" } : at ? {} : { scope: "row" }, String(cell))));
  };
  const head = element("tr", {}, ...heads.map((name, at) => element("th", { scope: "col", ...(at >= first ? { class: "n" } : {}) }, name)));
  const body = element("tbody", {}, ...sweep.points.map(row));
  $("points").replaceChildren(element("section", {}, element("h2", {}, "Points"),
    element("p", { class: "note" }, `${quantity().words}: the column ${quantity().name} of runs.parquet.`),
    element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Points" }, element("table", {}, element("thead", {}, head), body))));
}

// The statistics of the quantity at all points, with full precision, as the text of a CSV file (RFC 4180).
function csv() {
  const heads = [...sweep.axes.map((axis) => axis.name), "runs", "values", "mean", "low", "high", "q5", "q25", "q50", "q75", "q95"];
  const rows = sweep.points.map((at, place) => {
    const s = quantity().points[place];
    return [...at, ...(s ? [s[RUNS], s[VALUES], s[MEAN], s[LOW], s[HIGH], s[Q5], s[Q25], s[Q50], s[Q75], s[Q95]] : [sweep.runs[place], 0, ...Array(8).fill("")])];
  });
  const cell = (value) => (/[",\r\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [heads, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address));
}

// A diagram as an image of twice the size on the screen, on the colour of the page.
function saveImage(id) {
  const { data, layout } = $(id).querySelector(".plot"), ground = css("ground");
  const { width, height } = layout;
  return Plotly.downloadImage({ data, layout: { ...layout, paper_bgcolor: ground, plot_bgcolor: ground } },
    { format: "png", width, height, scale: 2, filename: `${quantity().name}-${id}` });
}

function title(name) {
  return { text: name, font: { size: 11, color: css("muted") }, standoff: 6 };
}

function axisLook() {
  return { gridcolor: css("grid"), linecolor: css("rule"), zeroline: false, tickfont: { size: 11, color: css("muted") }, exponentformat: "none", separatethousands: true };
}

function valueAxis() {
  const { unit, words } = quantity();
  return { ...axisLook(), tickformat: unit ? "~s" : "", ticksuffix: unit, automargin: true, title: title(words) };
}

function draw(id, traces, layout) {
  const family = getComputedStyle(document.body).fontFamily, plot = $(id).querySelector(".plot");
  Plotly.react(plot, traces, { width: plot.clientWidth, margin: { l: 72, r: 14, t: 12, b: 48 }, separators: ".\u202f", hovermode: "closest",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family, color: css("ink"), size: 12 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, hoverlabel: { bgcolor: css("raised"), bordercolor: css("rule"), font: { color: css("ink"), size: 12, family } },
    ...layout }, { displayModeBar: false, responsive: false });
}

async function redraw() {
  if (sweep.axes.length) curves();
  if (sweep.axes.length > 1) heat();
  if (sweep.axes.length) differences();
  table();
  await boxes();
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
}

function prepareTools() {
  sweep.quantities.forEach((each, number) => $("quantity").append(new Option(each.words, number)));
  const first = (ending) => sweep.quantities.findIndex((each) => each.name.endsWith(ending));
  state.quantity = sweep.quantities[0].name.startsWith("handovers.") ? 0 : Math.max(first(".goodput_bps"), 0);
  $("quantity").value = String(state.quantity);
  const numeric = sweep.axes.findIndex((axis) => axis.numbers);
  state.across = Math.max(numeric, 0);
  state.down = sweep.axes.findIndex((_, axis) => axis !== state.across);
  for (const [id, least] of [["across", 2], ["down", 2]]) {
    sweep.axes.forEach((axis, number) => $(id).append(new Option(axis.words, number)));
    $(id).value = String(state[id]);
    $(id).parentElement.hidden = sweep.axes.length < least;
    $(id).addEventListener("change", () => {
      const other = id === "across" ? "down" : "across", before = state[id];
      state[id] = Number($(id).value);
      if (state[other] === state[id]) $(other).value = String(state[other] = before);
      hold();
      redraw();
    });
  }
  $("quantity").addEventListener("change", () => { state.quantity = Number($("quantity").value); redraw(); });
  hold();
}

// A choice for each axis that the heat map does not show.
function hold() {
  $("held").replaceChildren(...sweep.axes.flatMap((axis, number) => {
    if (number === state.across || number === state.down) return [];
    const select = element("select");
    axis.values.forEach((value, place) => select.append(new Option(value, place)));
    select.value = String(state.held[number]);
    select.addEventListener("change", () => { state.held[number] = Number(select.value); redraw(); });
    return [element("label", {}, `${axis.words} `, select)];
  }));
}

function preparePanels() {
  const image = (id, heading) => {
    const button = element("button", { type: "button", title: `Save this diagram as an image: ${heading}` }, "PNG");
    button.addEventListener("click", () => saveImage(id));
    return element("div", { class: "legend" }, button);
  };
  const panel = (id, heading, note) => element("section", { class: "panel", id }, element("div", { class: "caption" }, element("h3", {}, heading), image(id, heading)),
    element("div", { class: "plot", role: "img", "aria-label": `${heading}; the table below has the numbers` }), element("p", { class: "note" }, note));
  const panels = [panel("boxes", "Runs of each point", "Box: quartiles and median; dashed: mean; whiskers: the furthest run within 1.5 times the box; dots: runs beyond.")];
  panels.push(panel("distribution", "Distribution of the runs", ""));
  if (sweep.axes.length) panels.unshift(panel("curves", "Mean and 95 % interval", ""));
  if (sweep.axes.length > 1) panels.splice(1, 0, panel("heat", "Means over two axes", ""));
  if (sweep.axes.length) panels.splice(-2, 0, panel("differences", "Paired differences on the same seeds", ""));
  $("panels").replaceChildren(...panels);
}

async function start() {
  if (!sweep.quantities.length) return $("panels").replaceChildren(element("p", { class: "note" }, "No run has ended."));
  $("csv").addEventListener("click", () => save(`${quantity().name}.csv`, csv()));
  await loadPlotly();
  preparePanels();
  prepareTools();
  await redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
}

start().catch(complain);
