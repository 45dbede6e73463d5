/* The record of a page: JSON, with arrays in one block of zlib bytes. In the JSON an array is
   {"$array": [type, first byte, number of elements]}; `unpack` puts typed arrays in their places. */
const TYPES = {
  uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, float32: Float32Array,
};

async function unpack(json, base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  return JSON.parse(json, (_, value) => {
    if (value === null || typeof value !== "object" || !Array.isArray(value.$array)) return value;
    const [type, start, length] = value.$array;
    return new TYPES[type](bytes, start, length);
  });
}

const unpackPage = () => unpack($("#data").textContent, $("#bytes").textContent.trim());
