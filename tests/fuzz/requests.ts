import { randomUUID } from "node:crypto";
import type { Random } from "@/tests/simulation/random";
import { type Operation, resolve, type Schema } from "./api";
import type { Sent } from "./world";

/** A request before its credentials are added. `json` and `form` are encoded when it is sent. */
export type Draft = {
  params: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  json?: unknown;
  form?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  type?: string;
};
export type Change = Partial<Omit<Draft, "query">> & { query?: Record<string, string> };

/** The request that the document shows for an operation: its required parameters, and the first example of its body. */
export function exampleOf(operation: Operation): Draft {
  const draft: Draft = { params: {}, query: [], headers: {} };
  for (const { name, in: place, required, schema, example } of operation.parameters) {
    if (!required && place !== "path") continue;
    const value = String(example ?? valueOfSchema(schema) ?? name);
    if (place === "path") draft.params[name] = value;
    else if (place === "query") draft.query.push([name, value]);
    else draft.headers[name.toLowerCase()] = value;
  }
  const { "application/json": json, "application/x-www-form-urlencoded": form } = operation.content;
  const exampleIn = ({ examples = {}, schema = {} }: NonNullable<typeof json>) =>
    Object.values(examples)[0]?.value ?? valueOfSchema(schema) ?? {};
  const [type] = Object.keys(operation.content);
  if (form) draft.form = Object.fromEntries(Object.entries(exampleIn(form)).map(([k, v]) => [k, String(v)]));
  else if (json) draft.json = structuredClone(exampleIn(json));
  else if (type !== undefined) {
    const given = exampleIn(operation.content[type] ?? {});
    draft.body = `${JSON.stringify(given)}\n`;
    draft.type = type;
  }
  return draft;
}

/** A value of a schema: its example, default or first choice, or one of its type. */
function valueOfSchema(given: Schema, depth = 0): unknown {
  const schema = resolve(given);
  const chosen = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (chosen !== undefined || depth > 6) return chosen;
  const [one] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (one) return valueOfSchema(one, depth + 1);
  const type = [schema.type].flat()[0];
  if (type === "object") {
    const names = Object.keys(schema.properties ?? {}).filter((name) => schema.required?.includes(name));
    return Object.fromEntries(names.map((name) => [name, valueOfSchema(schema.properties?.[name] ?? {}, depth + 1)]));
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  if (schema.format === "uuid") return randomUUID();
  if (schema.format === "date-time") return "2026-11-20T09:00:00Z";
  return type === "string" ? "text" : undefined;
}

/** Another body that fits the document: one of its examples, or a value of its schema with any of its optional members. */
export function vary(draft: Draft, random: Random, { content }: Operation): void {
  const { "application/json": json } = content;
  if (!json || draft.json === undefined) return;
  const examples = Object.values(json.examples ?? {}).map(({ value }) => value);
  const isExample = examples.length > 0 && random.chance(0.5);
  draft.json = isExample ? structuredClone(random.pick(examples)) : anyOfSchema(json.schema ?? {}, random);
}

function anyOfSchema(given: Schema, random: Random, depth = 0): unknown {
  const schema = resolve(given);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && depth < MAX_DEPTH) return anyOfSchema(random.pick(choices), random, depth + 1);
  if (schema.enum && random.chance(0.8)) return random.pick(schema.enum);
  const type = random.pick([schema.type ?? "string"].flat());
  if (type === "object" && schema.properties && depth < MAX_DEPTH) {
    const { required = [] } = schema;
    const members = Object.entries(schema.properties).filter(([name]) => required.includes(name) || random.chance(0.5));
    return Object.fromEntries(members.map(([name, member]) => [name, anyOfSchema(member, random, depth + 1)]));
  }
  if (type === "array" && schema.items && depth < MAX_DEPTH) {
    const { items } = schema;
    return Array.from({ length: random.below(4) }, () => anyOfSchema(items, random, depth + 1));
  }
  if (type === "null") return null;
  if (type === "integer" || type === "number")
    return random.pick([schema.minimum ?? 0, schema.maximum ?? 100, 1, (schema.maximum ?? 10) + 1]);
  return valueOfSchema(schema) ?? null;
}

export function changed(draft: Draft, { query = {}, params, headers, ...rest }: Change): Draft {
  const body = ["json", "form", "body"].some((name) => name in rest)
    ? { json: undefined, form: undefined, body: undefined, type: undefined }
    : {};
  const others = draft.query.filter(([name]) => !(name in query));
  return {
    ...draft,
    ...body,
    ...rest,
    params: { ...draft.params, ...params },
    query: [...others, ...Object.entries(query)],
    headers: { ...draft.headers, ...headers },
  };
}

/** The request of a draft, with these credentials. */
export function requestOf(method: string, path: string, draft: Draft, credentials: Record<string, string>): Sent {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(draft.params[name] ?? ""));
  const query = draft.query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  const { json, form, body, type } = draft;
  const content =
    body !== undefined
      ? [body, type]
      : form
        ? [formOf(form), type ?? "application/x-www-form-urlencoded"]
        : json !== undefined
          ? [JSON.stringify(json), type ?? "application/json"]
          : [];
  const headers = Object.entries({
    ...credentials,
    ...(content[1] !== undefined && { "content-type": content[1] as string }),
    ...draft.headers,
  });
  return {
    method,
    target: `${target}${query && `?${query}`}`,
    // What a client cannot send in a header arrives in Latin-1.
    headers: Object.fromEntries(headers.map(([name, value]) => [name, headerValue(String(value))])),
    ...(content[0] !== undefined && { body: content[0] }),
  };
}

const headerValue = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?").trim();
const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
const formOf = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => `${encoded(name)}=${encoded(typeof value === "string" ? value : JSON.stringify(value))}`)
    .join("&");

const MAX_DEPTH = 8;
const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

/** Texts that break careless code. */
const TEXTS = [
  "", " ", "0", "-1", "1e999", "NaN", "null", "true", "\u0000", "a\u0000b", "\u001b[31m", "\r\nX-Injected: 1", "\u202eabc", "\ud800", "é".normalize("NFD"),
  "💥".repeat(300), "a".repeat(1_000), "a".repeat(9_000), "../../../../etc/passwd", "%00", "%", "%25%32%65", "' OR 1=1 --", '"; DROP TABLE x; --', "\\", "{}", "[]",
  "__proto__", "constructor", "<script>alert(1)</script>", "9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z", "+275760-09-13T00:00:00.001Z", "2026-02-30", "1970-01-01T00:00:00Z",
  "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "ann@example.com", "a@b", "@", "ＡＮＮ@example.com", "xn--a@example.com", "1.0.0", "99999999999999999999.0.0",
  `1.0.0-${"a.".repeat(100)}a`, "*", "pro", "core", "https://hooks.example.com/", "javascript:alert(1)", "file:///etc/passwd", "http://[::1]:1/", "bytes=0-0,1-1,2-2", "bytes=-1", '"*"', "W/\"x\"",
]; // biome-ignore format: a list
const VALUES: readonly unknown[] = [
  null, true, false, 0, -1, 1, 0.5, -0, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, [], {}, [null], [[]], { a: 1 }, [1, "a", null],
  { toString: 1 }, { constructor: { prototype: 1 } }, { $ne: null }, { length: -1 },
]; // biome-ignore format: a list
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const TYPES = [
  "text/plain",
  "application/xml",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-16",
  "application/json;",
  "x",
  "application/x-www-form-urlencoded",
  "application/json",
  "application/x-ndjson",
  "application/octet-stream",
];
const HEADERS = [
  "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range", "idempotency-key", "accept", "accept-language", "accept-encoding", "authorization",
  "cookie", "origin", "referer", "sec-fetch-site", "user-agent", "x-forwarded-for", "content-encoding", "content-length", "upload-offset", "upload-length", "upload-metadata", "tus-resumable",
  "x-http-method-override", "expect", "forwarded", "prefer", "traceparent", "webhook-id", "webhook-timestamp", "webhook-signature", "stripe-signature", "paddle-signature", "svix-id", "svix-timestamp", "svix-signature",
]; // biome-ignore format: a list

const textOf = (random: Random): string =>
  random.chance(0.15)
    ? String.fromCodePoint(...Array.from({ length: 8 }, () => random.below(0xd7ff)))
    : random.pick(TEXTS);
const valueFor = (random: Random): unknown =>
  random.chance(0.5) ? textOf(random) : random.chance(0.03) ? nested(2_000) : random.pick(VALUES);

/** The places in a JSON value that can be replaced. */
function placesIn(value: unknown, depth = 0): { holder: Record<string, unknown>; key: string }[] {
  if (typeof value !== "object" || value === null || depth > 20) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key], depth + 1)]);
}

type Mutation = { weight: number; apply: (draft: Draft, random: Random, operation: Operation) => void };

const bodyMutations: Mutation[] = [
  {
    weight: 10,
    apply: (draft, random) => {
      const root = { body: draft.form ?? draft.json };
      const { holder, key } = random.pick(placesIn(root));
      holder[key] = valueFor(random);
      if (draft.form) draft.form = root.body as Record<string, string>;
      else draft.json = root.body;
    },
  },
  {
    weight: 3,
    apply: (draft, random) => {
      const places = placesIn(draft.form ?? draft.json);
      if (places.length === 0) return;
      const { holder, key } = random.pick(places);
      delete holder[key];
    },
  },
  {
    weight: 2,
    apply: (draft, random) => {
      const target = draft.form ?? draft.json;
      if (typeof target === "object" && target !== null)
        (target as Record<string, unknown>)[textOf(random)] = valueFor(random);
    },
  },
  {
    weight: 1,
    apply: (draft, random) => {
      const text = draft.form ? formOf(draft.form) : JSON.stringify(draft.json ?? "");
      const at = random.below(text.length + 1);
      draft.type ??= draft.form ? "application/x-www-form-urlencoded" : "application/json";
      draft.body = random.pick([
        text.slice(0, at),
        `${text.slice(0, at)}${textOf(random)}${text.slice(at)}`,
        text.repeat(2),
        "\ufeff".concat(text),
        "[".repeat(5_000),
        "a".repeat(20_000),
      ]);
    },
  },
  {
    weight: 1,
    apply: (draft, random) => {
      draft.type ??= random.pick(TYPES);
      const bytes = new Uint8Array(random.below(64));
      random.bytes(bytes);
      draft.body = bytes;
    },
  },
  { weight: 1, apply: (draft, random) => Object.assign(draft, { type: random.pick(TYPES) }) },
  { weight: 1, apply: (draft) => Object.assign(draft, { json: undefined, form: undefined, body: undefined }) },
];

const otherMutations: Mutation[] = [
  {
    weight: 5,
    apply: (draft, random, { parameters }) => {
      const names = parameters.filter((one) => one.in === "query").map(({ name }) => name);
      const name = names.length > 0 && random.chance(0.9) ? random.pick(names) : textOf(random);
      if (name === "wait") return; // waits as long as it says
      draft.query.push([name, textOf(random)]);
      if (random.chance(0.2)) draft.query.push([name, textOf(random)]);
    },
  },
  {
    weight: 1,
    apply: (draft, random) => Object.assign(draft, { query: draft.query.filter(() => random.chance(0.5)) }),
  },
  {
    weight: 3,
    apply: (draft, random) => {
      const names = Object.keys(draft.params);
      if (names.length > 0) draft.params[random.pick(names)] = textOf(random) || "x";
    },
  },
  {
    weight: 3,
    apply: (draft, random) => {
      draft.headers[random.pick(HEADERS)] = textOf(random);
    },
  },
];

/** Changes a request in one to three ways. Returns the method that it is sent with. */
export function mutate(draft: Draft, random: Random, operation: Operation): string {
  for (let i = 1 + random.below(3); i > 0; i--) {
    const hasBody = (draft.json ?? draft.form) !== undefined;
    const { apply } = random.weighted(hasBody && random.chance(0.7) ? bodyMutations : otherMutations);
    apply(draft, random, operation);
  }
  return random.chance(0.03) ? random.pick(METHODS) : operation.method;
}

/** Optional parameters of the query, with values that fit their schemas. */
export function addOptional(draft: Draft, random: Random, { parameters }: Operation): void {
  for (const { name, in: place, required, schema, example } of parameters) {
    if (place !== "query" || required || name === "wait" || name === "cursor" || !random.chance(0.3)) continue;
    const choices = resolve(schema).enum;
    const value = choices ? random.pick(choices) : (example ?? valueOfSchema(schema));
    if (value !== undefined) draft.query.push([name, String(value)]);
  }
}
