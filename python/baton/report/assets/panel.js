// One panel: its caption with a legend, and what Plotly is told to draw for a stretch of time.

const MANY_MARKS = 200, CLOSE_MARKS = 2;
const MARGIN = { left: 72, right: 14, top: 20, bottom: 26 };

function sample(trace) {
  const stroke = `stroke="var(--${trace.role.replaceAll(" ", "-")})" stroke-linecap="round" fill="none"`;
  const dash = trace.dashed || report.dashes[trace.role] === "dash" ? 'stroke-dasharray="4 3"' : "";
  const paths = {
    marks: `<path d="M7 2l7 7m0-7l-7 7" ${stroke} stroke-width="1.8"/>`,
    bars: `<path d="M10.5 3v5" ${stroke} stroke-width="${report.widths[trace.role] + 0.6}"/>`,
    dots: `<path d="M10.5 5.5v0" ${stroke} stroke-width="5"/>`,
  };
  const line = `<path d="M1 5.5h19" ${stroke} ${dash} stroke-width="2"/>`;
  return `<svg width="21" height="11" aria-hidden="true">${paths[trace.shape] || line}</svg>`;
}

class PanelView {
  constructor(panel, zoomed, hovered) {
    this.panel = panel;
    this.hidden = new Set();
    this.ownRange = null;
    const about = panel.quantity + (panel.unit && panel.unit !== "packets" ? `, ${panel.unit}` : "");
    const heading = element("h3", {}, panel.title, " ", element("small", {}, about));
    this.legend = element("div", { class: "legend" });
    this.plot = element("div", { class: "plot", role: "img", "aria-label": this.spoken() });
    this.root = element("section", { class: "panel" }, element("div", { class: "caption" }, heading, this.legend));
    if (panel.traces.length) this.root.append(this.plot);
    if (panel.note) this.root.append(element("p", { class: "note" }, panel.note));
    for (const trace of panel.traces) this.legend.append(this.entry(trace));
    if (panel.traces.length && !panel.tall) this.legend.append(this.scaleButton());
    this.zoomed = zoomed;
    this.hovered = hovered;
  }

  spoken() {
    const names = this.panel.traces.map((trace) => trace.name).join(", ");
    return `${this.panel.title}: ${names} over time, ${this.panel.quantity} in ${this.panel.unit || "packets"}. `
      + "Handovers are marked; the table above tells what happened.";
  }

  entry(trace) {
    const button = element("button", { type: "button", "aria-pressed": "true", title: "Show or hide" });
    button.innerHTML = sample(trace);
    button.append(trace.name);
    button.addEventListener("click", () => {
      if (!this.hidden.delete(trace)) this.hidden.add(trace);
      button.setAttribute("aria-pressed", String(!this.hidden.has(trace)));
      this.draw(this.view, this.dragmode);
    });
    return button;
  }

  scaleButton() {
    const button = element("button", { type: "button", class: "scale", title: "Logarithmic or linear scale" });
    const name = () => { button.textContent = this.panel.logarithmic ? "linear" : "log"; };
    name();
    button.addEventListener("click", () => {
      this.panel.logarithmic = !this.panel.logarithmic;
      this.ownRange = null;
      name();
      this.draw(this.view, this.dragmode);
    });
    return button;
  }

  // Unpacks the traces; once.
  async prepare() {
    await Promise.all(this.panel.traces.map(decodeTrace));
    this.ready = true;
  }

  draw(view, dragmode, fullWidth = this.plot.clientWidth) {
    if (!this.ready || !this.panel.traces.length) return;
    if (this.panel.across) view = this.ownView();
    Object.assign(this, { view, dragmode });
    const width = Math.max(fullWidth - MARGIN.left - MARGIN.right, 100);
    const height = this.panel.tall ? (width > 500 ? 420 : 320) : 190;
    const [low, high] = this.ownRange || this.fitted(view);
    const span = view.to - view.from;
    const scale = { from: view.from, to: view.to, low, high, width, height, logarithmic: this.panel.logarithmic };
    const wide = { ...scale, from: view.from - span / 2, to: view.to + span / 2, width: 2 * width };
    const traces = this.panel.traces.map((trace, number) => this.styled(trace, number, drawn(trace, wide)));
    const fresh = !this.plot.data;
    Plotly.react(this.plot, traces, this.layout(view, [low, high], width, height, dragmode),
      { displayModeBar: false, responsive: false, doubleClick: false, showTips: false });
    for (const trace of traces) if (trace.mode === "none") this.stroke(trace, scale);
    if (fresh) this.listen();
  }

  // Draws the dots or bars of a trace, among Plotly's traces so that those before it lie below and the others above.
  stroke(trace, scale) {
    const group = this.plot.querySelector(`.scatterlayer .trace${trace.uid}`);
    if (!group) return; // hidden
    const path = group.querySelector(".strokes") || group.appendChild(document.createElementNS(group.namespaceURI, "path"));
    const attributes = { class: "strokes", stroke: trace.line.color, "stroke-width": trace.line.width, "stroke-linecap": "round" };
    for (const [key, value] of Object.entries(attributes)) path.setAttribute(key, value);
    path.setAttribute("d", strokes(trace, scale));
  }

  // Of a distribution: from nothing to its largest value. It has no time, and so no part in zooming.
  ownView() {
    const largest = Math.max(...this.panel.traces.map((trace) => trace.x.at(-1) || 0));
    return { from: 0, to: 1.03 * largest || 1 };
  }

  listen() {
    if (this.panel.across) return;
    this.plot.on("plotly_relayout", (event) => {
      if (event["yaxis.range[0]"] !== undefined) this.ownRange = [event["yaxis.range[0]"], event["yaxis.range[1]"]];
      const from = event["xaxis.range[0]"], to = event["xaxis.range[1]"];
      this.zoomed(from === undefined ? this.view : { from, to });
    });
    this.plot.on("plotly_doubleclick", () => this.zoomed(null));
    this.plot.addEventListener("pointermove", (event) => this.hovered(event));
    this.plot.addEventListener("pointerleave", () => this.hovered(null));
  }

  // Range of the values in view; small panels stand on zero. Byte offsets at a handover are fitted to what
  // comes after it, or a fast link before would leave no height to a slow one.
  fitted(view) {
    const from = this.panel.unit === "B" && view.focus !== undefined ? view.focus : view.from;
    let low = Infinity, high = -Infinity;
    for (const trace of this.panel.traces) {
      if (this.hidden.has(trace)) continue;
      const [a, b] = extent(trace, from, view.to, this.panel.logarithmic);
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    if (low > high) [low, high] = [0, 1];
    if (this.panel.logarithmic) return [Math.log10(low) - 0.1, Math.log10(high) + 0.1];
    if (!this.panel.tall || (from === view.from && low < 0.3 * high)) low = Math.min(low, 0);
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    return [low - (this.panel.tall ? room : 0), high + room];
  }

  styled(trace, number, points) {
    const colour = css(trace.role), width = report.widths[trace.role], unit = this.panel.unit && " " + this.panel.unit;
    const digits = unit === " B" || unit === " packets" ? ",d" : ",.5~r";
    const where = points.customdata ? "<br>%{customdata}" : "";
    const common = { ...points, type: "scatter", uid: `t${number}`, name: trace.name, showlegend: false,
      visible: !this.hidden.has(trace),
      hovertemplate: this.panel.across ? `%{y:.2~%} in at most %{x:.4~s}s<extra></extra>`
        : `<b>${trace.name}</b> %{y:${digits}}${unit || ""}<br>at %{x:.9~f} s${where}<extra></extra>` };
    if (trace.shape === "marks") {
      const many = points.x.length > MANY_MARKS;
      const line = { width: many ? 1 : 1.6, color: colour };
      return { ...common, mode: "markers", marker: { symbol: "x-thin", size: many ? 0.6 * width : width, color: colour, line } };
    }
    const dash = trace.dashed ? "dash" : report.dashes[trace.role];
    const connected = trace.shape === "steps" || trace.shape === "line";
    return { ...common, mode: connected ? "lines" : "none",
      line: { color: colour, width, dash, simplify: false, shape: trace.shape === "steps" ? "hv" : "linear" } };
  }

  layout(view, range, width, height, dragmode) {
    const muted = css("muted"), grid = css("grid"), family = getComputedStyle(document.body).fontFamily;
    const below = MARGIN.bottom + (this.panel.across ? 18 : 0);
    const axis = { gridcolor: grid, linecolor: css("rule"), zeroline: false, tickfont: { size: 11, color: muted },
      ticks: "outside", tickcolor: css("rule"), ticklen: 3, exponentformat: "none", separatethousands: true };
    return {
      width: width + MARGIN.left + MARGIN.right, height: height + MARGIN.top + below,
      margin: { l: MARGIN.left, r: MARGIN.right, t: MARGIN.top, b: below, pad: 0 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family, color: css("ink"), size: 12 },
      separators: ".\u202f", hovermode: "closest", hoverdistance: 12, dragmode,
      hoverlabel: { bgcolor: css("raised"), bordercolor: css("rule"), font: { color: css("ink"), size: 12, family } },
      xaxis: { ...axis, range: [view.from, view.to], ...this.across(), nticks: Math.max(4, Math.round(width / 100)), showline: true },
      yaxis: { ...axis, range, type: this.panel.logarithmic ? "log" : "linear", nticks: this.panel.tall ? 8 : 5,
        dtick: this.panel.logarithmic ? 1 : undefined,
        ...(this.panel.unit === "B" ? { tickformat: ".9~s", ticksuffix: "B" } : {}),
        title: { text: this.panel.unit === "B" ? "" : this.panel.unit, font: { size: 11, color: muted }, standoff: 4 } },
      ...(this.panel.across ? { shapes: [], annotations: [] } : markers(view, width)),
    };
  }

  // The axis of time, or of what a distribution is over.
  across() {
    if (!this.panel.across) return { ticksuffix: " s" };
    const title = { text: this.panel.across, font: { size: 11, color: css("muted") }, standoff: 4 };
    return { tickformat: ".3~s", ticksuffix: "s", fixedrange: true, title };
  }
}

// Lines, shades and labels of the handovers. A label that would run into the one before it is left out.
function markers(view, width) {
  const colour = css("handover"), shapes = [], annotations = [];
  const place = (at) => ((at - view.from) / (view.to - view.from)) * width;
  let free = 0, drawn = -Infinity;
  for (const mark of state.marks) {
    const begin = place(mark.at_s), end = mark.outage ? place(mark.completed_s) : begin;
    // Panning shows what is a little outside. Of marks on one another the first stands for all.
    if (end < -width || begin > 2 * width || end < drawn + CLOSE_MARKS) continue;
    drawn = end;
    const base = { yref: "paper", y0: 0, y1: 1, layer: "below" };
    if (mark.outage) {
      shapes.push({ ...base, type: "rect", x0: mark.at_s, x1: mark.completed_s, fillcolor: css("shade"), line: { width: 0 } });
    }
    shapes.push({ ...base, type: "line", x0: mark.at_s, x1: mark.at_s, line: { color: colour, width: 1.2, dash: "dot" } });
    const x = place(mark.at_s), length = 6.2 * mark.label.length;
    if (x < -1 || x > width + 1 || x < free) continue;
    const right = x + length > width;
    if (right && x - length < free) continue;
    free = right ? x + 8 : x + length + 8;
    annotations.push({ x: mark.at_s, y: 1, yref: "paper", yanchor: "bottom", xanchor: right ? "right" : "left", showarrow: false,
      text: mark.label, font: { size: 11, color: colour }, borderpad: 1 });
  }
  return { shapes, annotations };
}
