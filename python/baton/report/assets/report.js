// The page: one view (a stretch of time) that all panels share, a flow to show, and the tools that change them.

const report = JSON.parse(document.getElementById("data").textContent);
const PAPER_WIDTH = 690;
const whole = { from: -0.01 * report.duration, to: 1.01 * report.duration || 1 };
const state = { view: whole, panels: [], dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", drawing: null };

// Draws all panels for the current view. Calls that come while it draws end in one more drawing.
function redraw() {
  state.again = true;
  state.drawing ??= (async () => {
    while (state.again) {
      state.again = false;
      for (const panel of state.panels) {
        await panel.prepare();
        panel.draw(state.view, state.dragmode);
        await new Promise((done) => setTimeout(done)); // lets the browser show it, and the user zoom already
        if (state.again) break;
      }
    }
    state.drawing = null;
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  })();
  return state.drawing;
}

function show(view) {
  if (!view) {
    view = whole;
    for (const panel of state.panels) panel.ownRange = null;
  }
  const least = Math.max(report.duration * 1e-9, 1e-8);
  state.view = view.to - view.from < least ? state.view : view;
  const chosen = state.view === whole ? "whole" : report.marks.findIndex((mark) => mark.view === state.view);
  $("view").value = chosen === -1 ? "other" : String(chosen);
  return redraw();
}

function move(share) {
  const { from, to } = state.view, shift = (to - from) * share;
  show({ from: from + shift, to: to + shift });
}

function zoom(factor) {
  const { from, to } = state.view, middle = (from + to) / 2, half = ((to - from) / 2) * factor;
  if (2 * half >= whole.to - whole.from) return show(null);
  show({ from: middle - half, to: middle + half });
}

function showFlow(number) {
  for (const panel of state.panels) {
    if (panel.plot.data) Plotly.purge(panel.plot);
    panel.root.remove();
  }
  const flow = report.flows[number];
  $("flow").value = String(number);
  state.marks = (flow ? flow.marks : []).map((place) => report.marks[place]);
  listMarks();
  state.panels = (flow ? flow.panels : []).map((panel) => new PanelView(panel, show, hover));
  $("panels").append(...state.panels.map((panel) => panel.root));
  return redraw();
}

function hover(event) {
  const box = $("panels").getBoundingClientRect();
  const at = event ? event.clientX - box.left : -1;
  const inside = at >= MARGIN.left && at <= box.width - MARGIN.right;
  $("hair").hidden = !inside;
  $("clock").textContent = "";
  if (!inside) return;
  $("hair").style.left = at + "px";
  const { from, to } = state.view;
  const time = from + ((at - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right)) * (to - from);
  const digits = Math.min(Math.max(3 - Math.floor(Math.log10(to - from)), 0), 9);
  $("clock").textContent = `t = ${time.toFixed(digits)} s`;
}

function showMark(number) {
  for (const panel of state.panels) panel.ownRange = null;
  return show(report.marks[number].view);
}

// The handovers of the flow that is shown, to choose from.
function listMarks() {
  const chosen = $("view").value, other = new Option("a part of it", "other");
  other.hidden = true;
  const options = state.marks.map((mark) => new Option(`handover at ${+mark.at_s.toFixed(3)} s, ${mark.label}`, report.marks.indexOf(mark)));
  $("view").replaceChildren(new Option("the whole run", "whole"), ...options, other);
  if ([...$("view").options].some((option) => option.value === chosen)) $("view").value = chosen;
}

function prepareTools() {
  report.flows.forEach((flow, number) => $("flow").append(new Option(flow.name, number)));
  $("flow").parentElement.hidden = report.flows.length < 2;
  $("flow").addEventListener("change", () => showFlow(Number($("flow").value)));
  for (const mark of report.marks) mark.view = { from: mark.from_s, to: mark.to_s, focus: mark.at_s };
  $("view").addEventListener("change", () => ($("view").value === "whole" ? show(null) : showMark(Number($("view").value))));
  const actions = { earlier: () => move(-0.4), later: () => move(0.4), in: () => zoom(0.5), out: () => zoom(2), reset: () => show(null) };
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
  $("drag").addEventListener("click", () => {
    state.dragmode = state.dragmode === "pan" ? "zoom" : "pan";
    $("drag").setAttribute("aria-pressed", String(state.dragmode === "pan"));
    redraw();
  });
  const keys = { ArrowLeft: "earlier", ArrowRight: "later", "+": "in", "=": "in", "-": "out", 0: "reset" };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input, .wide, pre")) return;
    if (keys[event.key]) { $(keys[event.key]).click(); event.preventDefault(); }
  });
  for (const link of document.querySelectorAll("a[data-mark]")) link.addEventListener("click", () => {
    const flow = report.flows.findIndex((each) => each.name === link.dataset.flow), mark = Number(link.dataset.mark);
    if (flow >= 0 && !state.marks.includes(report.marks[mark])) showFlow(flow);
    showMark(mark);
  });
}

// On paper: light colours and the width of a page. The browser does not wait, so this draws at once.
function print(onPaper) {
  document.documentElement.toggleAttribute("data-paper", onPaper);
  for (const panel of state.panels) panel.draw(state.view, state.dragmode, onPaper ? PAPER_WIDTH : undefined);
}

async function start() {
  const loading = loadPlotly();
  report.flows[0]?.panels[0]?.traces.forEach(decodeTrace); // meanwhile
  await loading;
  $("panels").querySelector(".note").remove();
  prepareTools();
  await showFlow(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
}

start().catch(complain);
