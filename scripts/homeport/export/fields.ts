import { isStorableJson, isStorableText } from "../../../lib/platform/storable";

/**
 * How the values of a column are written: `read` makes JSON of the database's text (COPY's text format, unescaped), `write` makes
 * that text of JSON again, or undefined of a value of another type. Both lose nothing.
 */
export type FieldType = {
  name: string;
  read: (text: string) => unknown;
  write: (value: unknown) => string | undefined;
};

/** A field of a record. Its column has the same name unless it says otherwise. */
export type Field = { type: FieldType; isNullable: boolean; column?: string; purposeOf?: PurposeOf };
export type Row = Readonly<Record<string, string | null>>;
export type FileRecord = Readonly<Record<string, unknown>>;
/** What a secret is encrypted for in the database: see `encryptSecret`. */
export type PurposeOf = (record: FileRecord) => string;

const plain = (name: string, pattern: RegExp): FieldType => ({
  name,
  read: (text) => text,
  write: (value) => (typeof value === "string" && pattern.test(value) ? value : undefined),
});

const number = (name: string, isValid: (value: number) => boolean): FieldType => ({
  name,
  read: Number,
  write: (value) => (typeof value === "number" && isValid(value) ? String(value) : undefined),
});

const isIn = (min: number, max: number) => (value: number) => Number.isInteger(value) && value >= min && value <= max;

export const uuid = plain("a UUID in lower case", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
export const int = number("an integer of 32 bits", isIn(-(2 ** 31), 2 ** 31 - 1));
export const smallInt = number("an integer of 16 bits", isIn(-(2 ** 15), 2 ** 15 - 1));
export const count = number("an integer", Number.isSafeInteger);
export const float = number("a number", Number.isFinite);

export const text: FieldType = {
  name: "a text",
  read: (value) => value,
  write: (value) => (typeof value === "string" && isStorableText(value) ? value : undefined),
};

export const boolean: FieldType = {
  name: "true or false",
  read: (value) => value === "t",
  write: (value) => (typeof value === "boolean" ? (value ? "t" : "f") : undefined),
};

export const oneOf = (...values: string[]): FieldType => ({
  name: `one of ${values.join(", ")}`,
  read: (value) => value,
  write: (value) => values.find((one) => one === value),
});

const STORED_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/;

/** Both databases write times in UTC. */
export const time: FieldType = {
  name: "a time such as 2026-11-22T09:00:00.000Z",
  read: (value) => {
    const [, date, clock, fraction = ""] = STORED_TIME.exec(value) ?? [];
    if (date === undefined) throw new Error(`A time of the database cannot be exported: ${value}`);
    return `${date}T${clock}.${fraction.padEnd(3, "0")}Z`;
  },
  write: (value) => (typeof value === "string" && isTime(value) ? value : undefined),
};

function isTime(value: string): boolean {
  const at = Date.parse(value);
  return !Number.isNaN(at) && !value.startsWith("0000") && new Date(at).toISOString() === value && value.length === 24;
}

export const date: FieldType = {
  name: "a date such as 2026-11-22",
  read: (value) => value,
  write: (value) => (typeof value === "string" && isTime(`${value}T00:00:00.000Z`) ? value : undefined),
};

/** Numbers are those of JavaScript, as in whatever wrote the column. */
export const json: FieldType = {
  name: "JSON without NUL, lone surrogates and thousands of levels",
  read: (value) => JSON.parse(value),
  write: (value) => {
    try {
      return isStorableJson(value) ? JSON.stringify(value) : undefined;
    } catch {
      return undefined; // nested too deep
    }
  },
};

export const bytes: FieldType = {
  name: "Base64",
  read: (value) => Buffer.from(value.slice("\\x".length), "hex").toString("base64"),
  write: (value) => {
    if (typeof value !== "string") return undefined;
    const decoded = Buffer.from(value, "base64");
    return decoded.toString("base64") === value ? `\\x${decoded.toString("hex")}` : undefined;
  },
};

/** An array of texts or numbers (PostgreSQL 17, 8.15.6 "Array Input and Output Syntax"). */
export const list = (of: FieldType): FieldType => ({
  name: `an array, each entry ${of.name}`,
  read: (value) =>
    [...value.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|[^,]+/gs)].map(([whole, quoted]) =>
      of.read(quoted === undefined ? whole : quoted.replace(/\\(.)/gs, "$1")),
    ),
  write: (value) => {
    if (!Array.isArray(value)) return undefined;
    const entries = value.map(of.write);
    if (entries.includes(undefined)) return undefined;
    return `{${entries.map((entry) => `"${entry?.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
  },
});

const IMPORTED = /^\{(raw|nfkc|sha256)\}/;

/** A password's hash: bcrypt of this service, or an imported one with what is done to the password before. */
export const password: FieldType = {
  name: '{ "format": "bcrypt", "hash" } or { "format": "phc", "input", "hash" }',
  read: (value) => {
    const [prefix, input] = IMPORTED.exec(value) ?? [];
    if (prefix === undefined) return { format: "bcrypt", hash: value };
    return { format: "phc", input, hash: value.slice(prefix.length) };
  },
  write: (value) => {
    const { format, input, hash, ...others } = (value ?? {}) as Record<string, unknown>;
    if (typeof hash !== "string" || !/^[!-~]{1,2048}$/.test(hash) || Object.keys(others).length > 0) return undefined;
    if (format === "bcrypt" && input === undefined && !hash.startsWith("{")) return hash;
    return format === "phc" && IMPORTED.test(`{${input}}`) ? `{${input}}${hash}` : undefined;
  },
};

export const field = (type: FieldType, column?: string): Field => ({
  type,
  isNullable: false,
  ...(column && { column }),
});
export const nullable = (type: FieldType, column?: string): Field => ({ ...field(type, column), isNullable: true });
/** A text that the database has encrypted, and the export in a file that is encrypted for its recipients. */
export const secret = (purposeOf: PurposeOf): Field => ({ ...field(text), purposeOf });

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };
const ESCAPED: Readonly<Record<string, string>> = {
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
};

/** The values of a row in COPY's text format (PostgreSQL 17, COPY, "Text Format"). */
export const parseRow = (line: string): (string | null)[] =>
  line.split("\t").map((value) => {
    if (value === "\\N") return null;
    return value.includes("\\") ? value.replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char) : value;
  });

export const formatRow = (values: readonly (string | null)[]): string =>
  `${values
    .map((value) => (value === null ? "\\N" : value.replace(/[\b\f\n\r\t\v\\]/g, (char) => ESCAPED[char] ?? char)))
    .join("\t")}\n`;
