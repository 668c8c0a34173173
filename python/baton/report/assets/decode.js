// Columns as columns.py packed them: base64, deflate, bytes of equal weight together, differences.

async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter();
  const written = writer.write(packed).then(() => writer.close());
  const [unpacked] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
  return new Uint8Array(unpacked);
}

async function unpack(column) {
  const bytes = await inflate("c" + column.blob), count = bytes.length / 4;
  const word = (i) => bytes[i] | (bytes[i + count] << 8) | (bytes[i + 2 * count] << 16) | (bytes[i + 3 * count] << 24);
  if (column.kind !== "differences") {
    const words = new Uint32Array(count).map((_, i) => word(i));
    return column.kind === "float" ? new Float32Array(words.buffer) : words;
  }
  const out = new Float64Array(count);
  let sum = column.start, next = 0, jump = column.jumps[0] || [];
  for (let i = 0; i < count; i++) {
    const step = word(i);
    sum += step & 1 ? -(step >>> 1) - 1 : step >>> 1;
    if (i === jump[0]) {
      sum += jump[1];
      jump = column.jumps[++next] || [];
    }
    out[i] = sum * column.unit;
  }
  return out;
}

// Each column is unpacked once, though several traces may have it.
const unpacked = new Map();

function decode(column) {
  const key = JSON.stringify(column);
  if (!unpacked.has(key)) unpacked.set(key, unpack(column));
  return unpacked.get(key);
}

async function decodeTrace(trace) {
  if (trace.x) return trace;
  [trace.x, trace.y, trace.rise, trace.code] = await Promise.all(
    [trace.time, trace.value, trace.height, trace.codes].map((column) => (column ? decode(column) : null)));
  return trace;
}
