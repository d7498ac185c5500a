// Bytes as base64 and back.

/** @param {ArrayBuffer} buffer */
export function toBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** @param {string} text @returns {ArrayBuffer} */
export const fromBase64 = (text) => /** @type {ArrayBuffer} */ (Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);
