import type { z } from "zod";
import { AccountRecord } from "../../../lib/accounts/import/schema";
import { CommandError } from "../../../lib/errors";
import { toLocale } from "../../../lib/platform/locale";
import { UsageError } from "../../command-line";
import {
  invalid,
  readCsv,
  readHead,
  readJsonArray,
  readNdjson,
  type SourceFile,
  type SourceRecord,
  unwrapRefused,
  type Value,
} from "./records";

type Record_ = Partial<z.input<typeof AccountRecord>>;

/** `format` of `hashConfig` is that of a table's hashes; the rest are Firebase's parameters. */
export type SourceOptions = { hashConfig?: Record<string, string>; columns?: Record<string, string> };

/** How a system's file is read, the fields of which its records have one or more, and what each of them becomes. */
type Source = {
  read: (source: SourceFile, head: string) => AsyncGenerator<SourceRecord>;
  fields: readonly string[];
  toRecord: (value: Value, options: SourceOptions) => Record_;
};

export const SOURCE_NAMES = ["firebase", "auth0", "clerk", "supabase", "csv"] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/** NDJSON of `AccountRecord`. */
const OWN: Source = {
  read: readNdjson,
  fields: Object.keys(AccountRecord.shape),
  toRecord: (value) => value as Record_,
};

const SOURCES: Record<SourceName, Source> = {
  firebase: { read: (source) => readJsonArray(source, "users"), fields: ["localId"], toRecord: fromFirebase },
  auth0: { read: readNdjson, fields: ["user_id", "_id", "email"], toRecord: fromAuth0 },
  clerk: { read: readCsv, fields: ["primary_email_address"], toRecord: fromClerk },
  supabase: {
    read: (source, head) => (head.startsWith("[") ? readJsonArray(source) : readCsv(source)),
    fields: ["email", "user_id"],
    toRecord: fromSupabase,
  },
  csv: { read: readCsv, fields: [], toRecord: fromTable },
};

/** A file of refused records, whatever its name and whatever has mended it. */
const REFUSED = /^\{\s*"line"\s*:\s*\d+\s*,\s*"code"\s*:/;

/**
 * The records of a file, each with what it becomes. A file of refused ones has those of its source.
 * @throws CommandError if the file is not what `from` names; UsageError
 */
export async function* readSource(
  from: SourceName | undefined,
  file: SourceFile,
  options: SourceOptions,
): AsyncGenerator<SourceRecord & { record?: Record_ }> {
  const source = from === undefined ? OWN : SOURCES[from];
  const head = await readHead(file.file);
  const isRefused = REFUSED.test(head);
  let isFirst = true;
  for await (const given of isRefused ? readNdjson(file) : source.read(file, head)) {
    const read = isRefused ? unwrapRefused(given) : given;
    if (read.refusal) {
      yield read;
      continue;
    }
    if (isFirst && !isRefused) checkFields(file.file, read, from === "csv" ? tableFields(options) : [source.fields]);
    isFirst = false;
    yield { ...read, record: source.toRecord(read.value, options) };
  }
}

/** A table has each column that is named, and an email or the id of an account. */
const tableFields = ({ columns = {} }: SourceOptions) => [
  [columns.email ?? "email", columns.externalId ?? "externalId"],
  ...Object.values(columns).map((column) => [column]),
];

/** Of each list a record must have one. */
function checkFields(file: string, { line, value }: SourceRecord, lists: (readonly string[])[]): void {
  const missing = lists.find((fields) => !fields.some((field) => Object.hasOwn(Object(value), field)));
  if (missing) throw invalid(file, line, `a record with ${missing.join(" or ")}`);
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined;
const isTrue = (value: unknown): boolean => value === true || /^(true|t|1|yes)$/i.test(String(value));

const UNIX_TIME = /^(\d{10})(\d{3})?$/;
/** ISO 8601, and as databases write it: 2024-03-01 09:00:00.123456+00. Without a time zone it is UTC. */
const SQL_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|UTC|([+-]\d\d):?(\d\d)?)?)?$/i;

/** A time in RFC 3339. One that cannot be read stays as it is, for the service to refuse. */
function time(value: unknown): string | undefined {
  const given = text(typeof value === "number" ? String(value) : value)?.trim();
  if (given === undefined) return undefined;
  const [, seconds, milliseconds = "000"] = UNIX_TIME.exec(given) ?? [];
  if (seconds) return new Date(Number(seconds + milliseconds)).toISOString();
  const [, date, clock = "00:00", hours, minutes = "00"] = SQL_TIME.exec(given) ?? [];
  const at = Date.parse(`${date}T${clock}${hours ? `${hours}:${minutes}` : "Z"}`);
  return Number.isNaN(at) ? given : new Date(at).toISOString();
}

const PROVIDERS: Readonly<Record<string, "google" | "apple" | "github">> = {
  google: "google",
  "google.com": "google",
  "google-oauth2": "google",
  oauth_google: "google",
  apple: "apple",
  "apple.com": "apple",
  oauth_apple: "apple",
  github: "github",
  "github.com": "github",
  oauth_github: "github",
};

/** An identity of a provider that Homeport knows. */
function identity(provider: unknown, subject: unknown) {
  const name = PROVIDERS[String(provider)];
  return name && subject ? [{ provider: name, subject: String(subject) }] : [];
}

/** firebase-tools, "auth:export": times in milliseconds. Apple's identities are not in the file. */
function fromFirebase(user: Value, { hashConfig }: SourceOptions): Record_ {
  const hash = text(user.passwordHash);
  if (hash && !hashConfig) throw new UsageError("--hash-config: the project's password hash parameters are required.");
  return {
    email: text(user.email),
    emailVerified: isTrue(user.emailVerified),
    name: text(user.displayName),
    externalId: text(user.localId),
    createdAt: time(user.createdAt),
    identities: arrayOf(user.providerUserInfo).flatMap(({ providerId, rawId }) => identity(providerId, rawId)),
    disabled: isTrue(user.disabled),
    ...(hash &&
      hashConfig && {
        password: { format: "firebase-scrypt", hash, salt: text(user.salt) ?? "", ...firebaseParameters(hashConfig) },
      }),
  };
}

const arrayOf = (value: unknown): Value[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];

/** The parameters as the console shows them. @throws CommandError */
function firebaseParameters(given: Record<string, string>) {
  const { base64_signer_key: signerKey, base64_salt_separator: saltSeparator, rounds, mem_cost: memoryCost } = given;
  if (!signerKey || !saltSeparator || !rounds || !memoryCost) {
    const fields = "base64_signer_key, base64_salt_separator, rounds and mem_cost";
    throw new CommandError("import_invalid", `The hash parameters must have ${fields}.`);
  }
  return { signerKey, saltSeparator, rounds: Number(rounds), memoryCost: Number(memoryCost) };
}

/**
 * Auth0, "Bulk User Exports", and the password hashes that its support exports ("How to Use the Password Hashes Export"),
 * whose emails may be among the `identifiers` alone.
 */
function fromAuth0(user: Value): Record_ {
  const identifier = arrayOf(user.identifiers).find(({ type }) => type === "email") ?? {};
  const email = text(user.email) ?? text(identifier.value);
  const hash = text(user.passwordHash);
  return {
    email,
    emailVerified: isTrue(user.email_verified ?? identifier.verified),
    name: text(user.name) === email ? undefined : text(user.name),
    externalId: text(user.user_id) ?? auth0Id(user),
    createdAt: time(user.created_at),
    identities: arrayOf(user.identities).flatMap(({ provider, user_id }) => identity(provider, user_id)),
    disabled: isTrue(user.blocked),
    ...(hash && { password: { format: "bcrypt", hash } }),
  };
}

/** The `user_id` of a user of a database. One that was imported there may have an id of its own. */
function auth0Id({ _id, alt_id }: Value): string | undefined {
  const id = text(alt_id) ?? text(Object(_id).$oid) ?? text(_id);
  return id && `auth0|${id}`;
}

/** The formats of Clerk's hashers. */
const CLERK_FORMATS: Readonly<Record<string, "bcrypt" | "argon2" | "django">> = {
  bcrypt: "bcrypt",
  argon2i: "argon2",
  argon2id: "argon2",
  pbkdf2_sha256_django: "django",
  bcrypt_sha256_django: "django",
};

/** Clerk, "Export from the Clerk Dashboard". A hash of another hasher is refused by the service. */
function fromClerk(user: Value): Record_ {
  const email = text(user.primary_email_address);
  const [hash, hasher, secret] = [text(user.password_digest), text(user.password_hasher), text(user.totp_secret)];
  const verified = text(user.verified_email_addresses)?.split(/[|,;\s]+/) ?? [];
  return {
    email,
    emailVerified: email !== undefined && verified.includes(email),
    name: [text(user.first_name), text(user.last_name)].filter(Boolean).join(" ") || undefined,
    externalId: text(user.id),
    ...(hash && { password: clerkPassword(hash, hasher ?? "bcrypt") }),
    ...(secret && { totp: { secret } }),
  };
}

/** Clerk, "Create a user": pbkdf2_sha256$ROUNDS$SALT$HASH in Base64, and the parts of Firebase's hashes. */
function clerkPassword(hash: string, hasher: string): Record_["password"] {
  const parts = hash.split("$");
  if (hasher === "pbkdf2_sha256" && parts.length === 4) {
    const unpadded = parts.slice(1).map((part) => part.replace(/=+$/, ""));
    return { format: "pbkdf2", hash: `$pbkdf2-sha256$${unpadded.join("$")}` };
  }
  const [digest = "", salt = "", signerKey = "", saltSeparator = "", rounds, memoryCost] = parts;
  if (hasher === "scrypt_firebase" && parts.length === 6) {
    const numbers = { rounds: Number(rounds), memoryCost: Number(memoryCost) };
    return { format: "firebase-scrypt", hash: digest, salt, signerKey, saltSeparator, ...numbers };
  }
  return { format: CLERK_FORMATS[hasher] ?? (hasher as "bcrypt"), hash };
}

/** Supabase: a row of `auth.users`, or of `auth.identities`, which names an account by its id alone. */
function fromSupabase(row: Value): Record_ {
  if ("user_id" in row) {
    const subject = text(row.provider_id) ?? text(toObject(row.identity_data).sub);
    return { externalId: text(row.user_id), identities: identity(row.provider, subject) };
  }
  const hash = text(row.encrypted_password);
  const metadata = toObject(row.raw_user_meta_data);
  return {
    email: text(row.email),
    emailVerified: time(row.email_confirmed_at) ?? false,
    name: text(metadata.full_name) ?? text(metadata.name),
    externalId: text(row.id),
    createdAt: time(row.created_at),
    disabled: Date.parse(time(row.banned_until) ?? "") > Date.now(),
    ...(hash && { password: { format: hash.startsWith("$argon2") ? "argon2" : "bcrypt", hash } }),
  };
}

function toObject(value: unknown): Value {
  try {
    return Object(typeof value === "string" ? JSON.parse(value) : value);
  } catch {
    return {};
  }
}

/** The fields of `--columns`. */
export const COLUMN_FIELDS = [
  "email",
  "emailVerified",
  "name",
  "locale",
  "createdAt",
  "externalId",
  "appUserIds",
  "password",
  "provider",
  "subject",
  "totp",
  "disabled",
] as const;

/** Any table: `columns` names the column of each field. A row without an email adds to the account of its `externalId`. */
function fromTable(row: Value, { columns = {}, hashConfig }: SourceOptions): Record_ {
  const value = (field: (typeof COLUMN_FIELDS)[number]) => text(row[columns[field] ?? field]);
  const [verified, hash, secret] = [value("emailVerified"), value("password"), value("totp")];
  return {
    email: value("email"),
    emailVerified: /^\d{4}/.test(verified ?? "") ? (time(verified) ?? false) : isTrue(verified),
    name: value("name"),
    locale: toLocale(value("locale")) ?? undefined,
    createdAt: time(value("createdAt")),
    externalId: value("externalId"),
    appUserIds: value("appUserIds")?.split(/[;|]/),
    identities: identity(value("provider"), value("subject")),
    disabled: isTrue(value("disabled")),
    // Django marks an account without a password by "!".
    ...(hash &&
      !hash.startsWith("!") && { password: { format: hashConfig?.format ?? "bcrypt", hash } as Record_["password"] }),
    ...(secret && { totp: { secret } }),
  };
}
