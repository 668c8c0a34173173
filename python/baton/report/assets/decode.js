// Columns as columns.py packed them: base64, deflate, bytes of equal weight together, differences.

async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function words(bytes) {
  const count = bytes.length / 4;
  const joined = new Uint8Array(bytes.length);
  for (let weight = 0; weight < 4; weight++) {
    for (let i = 0, from = weight * count; i < count; i++) joined[4 * i + weight] = bytes[from + i];
  }
  return joined.buffer;
}

async function decode(column) {
  const buffer = words(await inflate("c" + column.blob));
  if (column.kind === "float") return new Float32Array(buffer);
  const folded = new Uint32Array(buffer);
  if (column.kind === "codes") return folded;
  const out = new Float64Array(folded.length);
  let sum = column.start, next = 0, jump = column.jumps[0] || [];
  for (let i = 0; i < folded.length; i++) {
    const step = folded[i];
    sum += step & 1 ? -(step >>> 1) - 1 : step >>> 1;
    if (i === jump[0]) {
      sum += jump[1];
      jump = column.jumps[++next] || [];
    }
    out[i] = sum * column.unit;
  }
  return out;
}

async function decodeTrace(trace) {
  if (trace.x) return trace;
  [trace.x, trace.y, trace.rise, trace.code] = await Promise.all(
    [trace.time, trace.value, trace.height, trace.codes].map((column) => (column ? decode(column) : null)));
  return trace;
}
