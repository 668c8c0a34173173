// Plays the maps of radio networks: cells filled by the mobiles in them, and a dot for each mobile.

const PLAYED_MS = 30_000; // A whole run.
const SVG = "http://www.w3.org/2000/svg";

function playMap(player) {
  const map = player.previousElementSibling.querySelector("svg");
  const { stretch, cells, moves } = JSON.parse(player.querySelector("script").textContent);
  const [button, slider, output] = ["button", "input", "output"].map((tag) => player.querySelector(tag));
  const circles = map.querySelectorAll("circle.cell");
  const most = Math.max(1, ...cells.flat());
  const end = stretch * Math.max(...cells.map((loads) => loads.length));
  const dots = moves.map(() => {
    const dot = document.createElementNS(SVG, "circle");
    dot.setAttribute("class", "mobile");
    dot.setAttribute("r", "3.5");
    return dot;
  });
  let started = null;

  function show(share) {
    const now = share * end;
    const number = Math.min(Math.floor(now / stretch), cells[0].length - 1);
    circles.forEach((circle, cell) => (circle.style.fillOpacity = 0.06 + (0.7 * (cells[cell][number] ?? 0)) / most));
    moves.forEach((places, mobile) => putDot(dots[mobile], places, now));
    output.textContent = `${timeOfRun(now)}, ${Math.round(cells.reduce((sum, loads) => sum + (loads[number] ?? 0), 0))} mobiles in cells`;
    if (!dots.at(-1)?.isConnected) map.append(...dots);
  }

  function step(time) {
    if (started === null) return;
    slider.value = Math.min((time - started) / PLAYED_MS, 1);
    show(Number(slider.value));
    if (slider.value < 1) requestAnimationFrame(step);
    else stop();
  }

  function stop() {
    started = null;
    button.textContent = "Play";
  }

  slider.addEventListener("input", () => {
    stop();
    show(Number(slider.value));
  });
  button.addEventListener("click", () => {
    if (started !== null) return stop();
    const from = slider.value < 1 ? Number(slider.value) : 0;
    started = performance.now() - from * PLAYED_MS;
    button.textContent = "Stop";
    requestAnimationFrame(step);
  });
}

// Puts a dot where its mobile is, between two known places; without a place while it does not exist.
function putDot(dot, places, now) {
  const after = places.findIndex(([at]) => at > now);
  dot.style.display = after > 0 ? "" : "none";
  if (after <= 0) return;
  const [[from, x0, y0], [to, x1, y1]] = [places[after - 1], places[after]];
  const share = (now - from) / (to - from);
  dot.setAttribute("cx", x0 + (x1 - x0) * share);
  dot.setAttribute("cy", y0 + (y1 - y0) * share);
}

// Writes seconds as hours, minutes and seconds.
function timeOfRun(seconds) {
  return [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
}

document.querySelectorAll("#maps .player").forEach(playMap);
