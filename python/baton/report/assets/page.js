// What the pages have in common: elements, colours, the drawing library, and words for a browser that cannot draw.

const $ = (id) => document.getElementById(id);

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name.replaceAll(" ", "-")).trim();
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

async function loadPlotly() {
  const source = new TextDecoder().decode(await inflate("plotly"));
  document.head.append(element("script", {}, source));
}

function complain(error) {
  const old = "This browser is too old to draw the diagrams (it lacks DecompressionStream).";
  $("panels").replaceChildren(element("p", { class: "banner" }, typeof DecompressionStream === "undefined" ? old : String(error)));
  console.error(error);
}
