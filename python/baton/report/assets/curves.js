// The page of a reproduced study: its figures, each a set of curves over one axis.

// So many points are shown as such, besides the line.
const FEW = 12;
const drawing = JSON.parse(document.getElementById("data").textContent);

// A curve, below it the band of its interval; or points with bars.
function traces(curve) {
  const color = css(curve.role), { x, y, low, high } = curve, points = curve.shape === "points";
  const common = { x, y, name: curve.name, legendgroup: curve.name, hovertemplate: `%{y:.4~g}<extra>${curve.name}</extra>` };
  if (points) {
    const bars = low ? { type: "data", symmetric: false, array: high.map((value, i) => value - y[i]), arrayminus: low.map((value, i) => y[i] - value), thickness: 1.3, width: 5, color } : {};
    const symbol = curve.dash === "solid" ? "circle" : "circle-open";
    return [{ ...common, mode: "markers", marker: { color, size: 9, symbol, line: { width: 1.6, color } }, error_y: bars }];
  }
  const line = { ...common, mode: curve.aside || x.length > FEW ? "lines" : "lines+markers", marker: { color, size: 6 }, connectgaps: false, line: { color, dash: curve.dash, width: curve.aside ? 1 : 2 } };
  if (!low) return [line];
  const band = { x: [...x, ...x.slice().reverse()], y: [...high, ...low.slice().reverse()], fill: "toself", mode: "lines",
    line: { width: 0 }, fillcolor: color, opacity: 0.16, hoverinfo: "skip", showlegend: false, legendgroup: curve.name };
  return [band, line];
}

function draw(figure, place) {
  const plot = $(`figure-${place}`), family = getComputedStyle(document.body).fontFamily, muted = css("muted");
  const axis = { gridcolor: css("grid"), linecolor: css("rule"), zeroline: false, tickfont: { size: 11, color: muted }, exponentformat: "none", separatethousands: true };
  const title = (text) => ({ text, font: { size: 11, color: muted }, standoff: 6 });
  const named = figure.names.length ? { tickvals: figure.names.map((_, at) => at), ticktext: figure.names, range: [-0.5, figure.names.length - 0.5], automargin: true } : {};
  const at = (x) => (figure.logarithmic === "x" ? Math.log10(x) : x);
  const scale = (name) => (figure.logarithmic === name ? { type: "log", dtick: name === "x" ? 1 : "D2" } : { type: "linear" });
  const lines = figure.marks.map(([x]) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, layer: "below", line: { color: css("handover"), width: 1.2, dash: "dot" } }));
  // A label that would run into the next one stands on the other side of its line.
  const span = Math.max(...figure.curves.map((curve) => curve.x.at(-1))) - Math.min(...figure.curves.map((curve) => curve.x[0]));
  const crowded = (number) => number + 1 < figure.marks.length && figure.marks[number + 1][0] - figure.marks[number][0] < 0.2 * span;
  const labels = figure.marks.map(([x, text], number) => ({ x: at(x), y: 1, yref: "paper", yanchor: "bottom", xanchor: crowded(number) ? "right" : "left", showarrow: false, text, font: { size: 11, color: css("handover") } }));
  Plotly.react(plot, figure.curves.flatMap(traces), {
    width: plot.clientWidth, height: 360, margin: { l: 64, r: 14, t: 8, b: 44 }, separators: ".\u202f", hovermode: "x unified",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family, color: css("ink"), size: 12 },
    legend: { orientation: "h", y: figure.marks.length ? 1.07 : 1.02, yanchor: "bottom", x: 0 }, showlegend: true,
    hoverlabel: { bgcolor: css("raised"), bordercolor: css("rule"), font: { color: css("ink"), size: 12, family } },
    xaxis: { ...axis, ...named, title: title(figure.x), ...scale("x") },
    yaxis: { ...axis, title: title(figure.y), rangemode: "tozero", ...scale("y") }, shapes: lines, annotations: labels,
  }, { displayModeBar: false, responsive: false });
}

function drawAll() {
  drawing.figures.forEach(draw);
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
}

async function start() {
  await loadPlotly();
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
}

start().catch(complain);
