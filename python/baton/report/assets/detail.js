// Level of detail: of the points in view only those are drawn that would show. A point is left out when
// another of the same trace falls into the same cell of about a pixel, so every trace (losses, retransmissions)
// stays visible at every zoom, and zooming in brings all points back.

const MOST_CELLS = 8000;

function lowerBound(x, value) {
  let low = 0, high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

function inView(trace, from, to) {
  return [lowerBound(trace.x, from), lowerBound(trace.x, to)];
}

// Lowest and highest value in view, for a scale that fits; steps enter the view with their last value before it.
function extent(trace, from, to, positive) {
  let [begin, end] = inView(trace, from, to);
  if ((trace.shape === "steps" || trace.shape === "line") && begin > 0) begin--;
  let low = Infinity, high = -Infinity;
  for (let i = begin; i < end; i++) {
    const y = trace.y[i], top = trace.rise ? y + trace.rise[i] : y;
    if (positive && !(y > 0)) continue;
    if (y < low) low = y;
    if (top > high) high = top;
  }
  return [low, high];
}

// Numbers of the points to draw, for separate points: one for each occupied cell, up to a height above and
// below the view. Cells grow until the points are few enough.
function sparse(trace, begin, end, view) {
  const { x, y } = trace;
  for (let cell = Math.max(1, report.widths[trace.role] / 2); ; cell *= 1.5) {
    const columns = Math.ceil(view.width / cell) + 1, rows = Math.ceil((3 * view.height) / cell) + 1;
    const acrossX = view.width / cell / (view.to - view.from), acrossY = view.height / cell / (view.high - view.low);
    const lowest = view.low - (view.high - view.low);
    const taken = new Uint8Array(columns * rows), kept = [];
    for (let i = begin; i < end && kept.length <= MOST_CELLS; i++) {
      const row = Math.floor(((view.logarithmic ? Math.log10(y[i]) : y[i]) - lowest) * acrossY);
      if (!(row >= 0 && row < rows)) continue;
      const place = row * columns + Math.floor((x[i] - view.from) * acrossX);
      if (taken[place]) continue;
      taken[place] = 1;
      kept.push(i);
    }
    if (kept.length <= MOST_CELLS) return kept;
  }
}

// Numbers of the points to draw, for a connected line: first, lowest, highest and last of each column of pixels.
function outline(trace, begin, end, view) {
  begin = Math.max(begin - 1, 0);
  end = Math.min(end + 1, trace.x.length);
  if (end - begin <= 4 * view.width) return Array.from({ length: end - begin }, (_, i) => begin + i);
  const kept = [];
  const column = (i) => Math.floor((trace.x[i] - view.from) / (view.to - view.from) * view.width);
  for (let i = begin; i < end;) {
    const here = column(i), first = i;
    let low = i, high = i;
    for (; i < end && column(i) === here; i++) {
      if (trace.y[i] < trace.y[low]) low = i;
      if (trace.y[i] > trace.y[high]) high = i;
    }
    const chosen = [first, low, high, i - 1].sort((a, b) => a - b);
    kept.push(...chosen.filter((n, place) => place === 0 || n !== chosen[place - 1]));
  }
  return kept;
}

// Returns a trace in Plotly's form: lines and crosses, with the texts under the pointer.
function drawn(trace, view) {
  const [begin, end] = inView(trace, view.from, view.to);
  if (trace.shape === "steps" || trace.shape === "line") {
    const kept = outline(trace, begin, end, view);
    return { x: kept.map((i) => trace.x[i]), y: kept.map((i) => trace.y[i]) };
  }
  const kept = sparse(trace, begin, end, view);
  const label = (i) => (trace.code ? trace.labels[trace.code[i]] : trace.rise ? trace.rise[i] + " B" : "");
  if (trace.shape === "marks") {
    return { x: kept.map((i) => trace.x[i]), y: kept.map((i) => trace.y[i]), customdata: kept.map(label) };
  }
  const x = [], y = [], customdata = [];
  for (const i of kept) {
    x.push(trace.x[i], trace.x[i], null);
    y.push(trace.y[i], trace.rise ? trace.y[i] + trace.rise[i] : trace.y[i], null);
    customdata.push(label(i), label(i), "");
  }
  return { x, y, customdata };
}

// Dots and bars as one path of short strokes with round caps, in pixels of the diagram. Plotly would make an element
// of each, and the browser take a second for them.
function strokes({ x, y }, { from, to, low, high, width, height, logarithmic }) {
  const across = width / (to - from), up = height / (high - low), parts = [];
  const place = (value) => (height - ((logarithmic ? Math.log10(value) : value) - low) * up).toFixed(1);
  for (let i = 0; i < x.length; i += 3) {
    parts.push("M", ((x[i] - from) * across).toFixed(1), " ", place(y[i]), "V", place(y[i + 1]));
  }
  return parts.join("");
}
