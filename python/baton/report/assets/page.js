// Shared by the pages: elements, colours, the drawing library, and words for a browser that cannot draw.

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

// The browser reads a script with an address beside everything else; one in the page would hold up the columns.
async function loadPlotly() {
  const address = URL.createObjectURL(new Blob([await inflate("plotly")], { type: "text/javascript" }));
  const script = element("script", { src: address });
  await new Promise((done, failed) => {
    Object.assign(script, { onload: done, onerror: () => failed("The drawing library in this page cannot be loaded.") });
    document.head.append(script);
  });
  URL.revokeObjectURL(address);
}

function complain(error) {
  const old = "This browser is too old to draw the diagrams (it lacks DecompressionStream).";
  $("panels").replaceChildren(element("p", { class: "banner" }, typeof DecompressionStream === "undefined" ? old : String(error)));
  console.error(error);
}
