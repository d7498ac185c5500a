// The reference: what the contracts of the portal describe (OpenAPI for HTTP, OpenRPC for JSON-RPC), in one form. Pure.

/**
 * @typedef {{name: string, in: "path" | "query" | "body", required: boolean, type: string, text: string, example: string}} Field
 * @typedef {{status: string, text: string}} Answer
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} group
 * @property {string} method of HTTP; "RPC" for a JSON-RPC method
 * @property {string} path below the base path of the portal, or the name of the JSON-RPC method
 * @property {string} summary
 * @property {string} text
 * @property {Field[]} fields
 * @property {{type: string, example: string} | null} body of a request to try
 * @property {Answer[]} answers
 */

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Reads an OpenAPI document. @param {any} doc @returns {Entry[]} */
export function readOpenAPI(doc) {
  return Object.entries(doc.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => {
    const operation = item[method];
    const body = operation.requestBody && bodyOf(doc, resolve(doc, operation.requestBody));
    return {
      id: operation.operationId, group: operation.tags?.[0] ?? "", method: method.toUpperCase(), path, summary: operation.summary ?? "", text: operation.description ?? "",
      fields: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((each) => resolve(doc, each)).filter((each) => each.in !== "header").map((each) => ({
        name: each.name, in: each.in, required: each.required === true, type: typeOf(doc, each.schema), text: each.description ?? "", example: each.example === undefined ? "" : String(each.example),
      })),
      body: body ?? null,
      answers: Object.entries(operation.responses).map(([status, answer]) => ({ status, text: resolve(doc, answer).description ?? "" })),
    };
  }));
}

/** Reads an OpenRPC document. @param {any} doc @param {string} group @returns {Entry[]} */
export function readOpenRPC(doc, group) {
  return doc.methods.map((/** @type {any} */ method) => {
    const params = Object.fromEntries(method.params.filter((/** @type {any} */ each) => each.required).map((/** @type {any} */ each) => [each.name, sampleOf(doc, each.schema)]));
    return {
      id: method.name, group, method: "RPC", path: method.name, summary: method.summary ?? "", text: method.description ?? "",
      fields: method.params.map((/** @type {any} */ each) => ({
        name: each.name, in: "body", required: each.required === true, type: typeOf(doc, each.schema), text: each.description ?? resolve(doc, each.schema).description ?? "", example: "",
      })),
      body: { type: "application/json", example: pretty({ jsonrpc: "2.0", id: 1, method: method.name, params }) },
      answers: (method.errors ?? []).map((/** @type {any} */ error) => ({ status: String(error.code), text: error.message })),
    };
  });
}

/** Returns the entries that contain all words. @param {Entry[]} entries @param {string} words */
export function findEntries(entries, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) => {
    const text = `${entry.method} ${entry.path} ${entry.summary} ${entry.text}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/**
 * Returns the request that a filled form describes. A field that is empty is left out, unless it is in the path.
 * @param {Entry} entry @param {Record<string, string>} values by the names of fields @param {string} body
 * @returns {{address: string, init: {method: string, headers?: Record<string, string>, body?: string}}} the address is below the base path
 */
export function requestOf(entry, values, body) {
  if (entry.method === "RPC") return { address: "rpc", init: { method: "POST", headers: { "Content-Type": "application/json" }, body } };
  const path = entry.path.slice(1).replace(/{(\w+)}/g, (_, name) => (values[name] ?? "").split("/").map(encodeURIComponent).join("/"));
  const query = new URLSearchParams(entry.fields.filter((field) => field.in === "query" && values[field.name]).map((field) => [field.name, values[field.name]]));
  const address = query.size > 0 ? `${path}?${query}` : path;
  if (!entry.body) return { address, init: { method: entry.method } };
  return { address, init: { method: entry.method, headers: { "Content-Type": entry.body.type }, body } };
}

/** Follows a reference within a document. @param {any} doc @param {any} value @returns {any} */
function resolve(doc, value) {
  if (typeof value?.$ref !== "string" || !value.$ref.startsWith("#/")) return value ?? {};
  return resolve(doc, value.$ref.slice(2).split("/").reduce((/** @type {any} */ at, /** @type {string} */ name) => at?.[name], doc));
}

/** @param {any} doc @param {any} body @returns {{type: string, example: string} | undefined} */
function bodyOf(doc, body) {
  const [type, content] = Object.entries(body.content ?? {})[0] ?? [];
  if (!type) return undefined;
  const examples = /** @type {any[]} */ (Object.values(content.examples ?? {}));
  const example = content.example ?? resolve(doc, examples[0]).value ?? sampleOf(doc, content.schema);
  return { type, example: typeof example === "string" ? example : pretty(example) };
}

/** @param {unknown} value */
const pretty = (value) => JSON.stringify(value, null, 2);

/** Names the type of a schema: "string", "integer", "a | b", "array of string". @param {any} doc @param {any} schema @returns {string} */
function typeOf(doc, schema) {
  const type = resolve(doc, schema);
  if (type.const !== undefined) return JSON.stringify(type.const);
  if (type.enum) return type.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" | ");
  const either = type.oneOf ?? type.anyOf;
  if (either) return [...new Set(either.map((/** @type {any} */ each) => typeOf(doc, each)))].join(" | ");
  if (type.type === "array") return type.items ? `array of ${typeOf(doc, type.items)}` : "array";
  return [type.type ?? "any"].flat().join(" | ");
}

const MAX_DEPTH = 6; // of samples; schemas may contain themselves

/** Returns a value that fits a schema, with what is required. @param {any} doc @param {any} schema @param {number} [depth] @returns {unknown} */
export function sampleOf(doc, schema, depth = 0) {
  const type = resolve(doc, schema);
  const given = type.example ?? type.examples?.[0] ?? type.const ?? type.default ?? type.enum?.[0];
  if (given !== undefined || depth > MAX_DEPTH) return given ?? null;
  const either = type.oneOf ?? type.anyOf;
  if (either) return sampleOf(doc, either[0], depth + 1);
  switch ([type.type].flat()[0]) {
    case "object": return Object.fromEntries((type.required ?? []).map((/** @type {string} */ name) => [name, sampleOf(doc, type.properties?.[name], depth + 1)]));
    case "array": return [];
    case "integer": case "number": return type.minimum ?? 0;
    case "boolean": return false;
    case "string": return "";
    default: return {};
  }
}
