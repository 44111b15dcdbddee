import type { z } from "zod";
import type { AccountRecord } from "../../../lib/accounts/import/schema";
import { CommandError } from "../../../lib/errors";
import { UsageError } from "../../command-line";
import { readCsv, readJsonArray, readNdjson, type SourceFile, type SourceRecord } from "./records";

type Record_ = Partial<z.input<typeof AccountRecord>>;
type Value = SourceRecord["value"];

export type SourceOptions = { hashConfig?: Record<string, string | number>; columns?: Record<string, string> };

/** How a system's file is read, and what each of its records becomes. */
export type Source = {
  read: (source: SourceFile) => AsyncGenerator<SourceRecord>;
  toRecord: (value: Value, options: SourceOptions) => Record_;
};

export const SOURCE_NAMES = ["firebase", "auth0", "clerk", "supabase", "csv"] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

const isCsv = (file: string) => /\.csv$/i.test(file);

/** NDJSON of `AccountRecord`. */
const OWN: Source = { read: readNdjson, toRecord: (value) => value as Record_ };

const SOURCES: Record<SourceName, Source> = {
  firebase: { read: (source) => readJsonArray(source, "users"), toRecord: fromFirebase },
  auth0: { read: readNdjson, toRecord: fromAuth0 },
  clerk: { read: readCsv, toRecord: fromClerk },
  supabase: {
    read: (source) => (isCsv(source.file) ? readCsv(source) : readJsonArray(source)),
    toRecord: fromSupabase,
  },
  csv: { read: readCsv, toRecord: fromTable },
};

export const sourceOf = (name: SourceName | undefined): Source => (name === undefined ? OWN : SOURCES[name]);

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const isTrue = (value: unknown): boolean => value === true || value === "true" || value === "t" || value === "1";

/** PostgreSQL writes a time as 2024-03-01 09:00:00.123456+00. */
function time(value: unknown): string | undefined {
  const given = text(value);
  const at = given === undefined ? Number.NaN : Date.parse(given.replace(/^(\S+) (\S+?)([+-]\d\d)$/, "$1T$2$3:00"));
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
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

/** firebase-tools, `auth:export`: times in milliseconds, Base64 that is safe in URLs. */
function fromFirebase(user: Value, { hashConfig }: SourceOptions): Record_ {
  const [hash, salt, createdAt] = [text(user.passwordHash), text(user.salt), Number(user.createdAt)];
  if (hash && !hashConfig) throw new UsageError("--hash-config: the project's password hash parameters are required.");
  const identities = Array.isArray(user.providerUserInfo) ? (user.providerUserInfo as Value[]) : [];
  return {
    email: text(user.email) ?? "",
    emailVerified: isTrue(user.emailVerified),
    name: text(user.displayName),
    externalId: text(user.localId),
    ...(Number.isFinite(createdAt) && { createdAt: new Date(createdAt).toISOString() }),
    identities: identities.flatMap(({ providerId, rawId }) => identity(providerId, rawId)),
    disabled: isTrue(user.disabled),
    ...(hash &&
      salt &&
      hashConfig && { password: { format: "firebase-scrypt", hash, salt, ...firebaseParameters(hashConfig) } }),
  };
}

/** The parameters as the console shows them. @throws CommandError */
function firebaseParameters(given: Record<string, string | number>) {
  const { base64_signer_key: signerKey, base64_salt_separator: saltSeparator, rounds, mem_cost: memoryCost } = given;
  if (!signerKey || !saltSeparator || !rounds || !memoryCost) {
    const fields = "base64_signer_key, base64_salt_separator, rounds and mem_cost";
    throw new CommandError("import_invalid", `The hash parameters must have ${fields}.`);
  }
  const texts = { signerKey: String(signerKey), saltSeparator: String(saltSeparator) };
  return { ...texts, rounds: Number(rounds), memoryCost: Number(memoryCost) };
}

/** Auth0, "Bulk User Exports", and the file with password hashes that its support sends. */
function fromAuth0(user: Value): Record_ {
  const identities = Array.isArray(user.identities) ? (user.identities as Value[]) : [];
  const id = user._id;
  const oid = typeof id === "object" && id !== null && "$oid" in id ? `auth0|${String(id.$oid)}` : undefined;
  const hash = text(user.passwordHash);
  return {
    email: text(user.email) ?? "",
    emailVerified: isTrue(user.email_verified),
    name: text(user.name) === text(user.email) ? undefined : text(user.name),
    externalId: text(user.user_id) ?? oid,
    createdAt: time(user.created_at),
    identities: identities.flatMap(({ provider, user_id }) => identity(provider, user_id)),
    disabled: isTrue(user.blocked),
    ...(hash && { password: { format: "bcrypt", hash } }),
  };
}

const CLERK_HASHERS: Readonly<Record<string, "bcrypt" | "argon2" | "pbkdf2" | "django">> = {
  bcrypt: "bcrypt",
  argon2i: "argon2",
  argon2id: "argon2",
  pbkdf2_sha1: "pbkdf2",
  pbkdf2_sha256: "pbkdf2",
  pbkdf2_sha256_django: "django",
};

/** Clerk, "Export from the Clerk Dashboard". */
function fromClerk(user: Value): Record_ {
  const email = text(user.primary_email_address) ?? "";
  const [hash, format] = [text(user.password_digest), CLERK_HASHERS[String(user.password_hasher)]];
  const secret = text(user.totp_secret);
  return {
    email,
    emailVerified: (text(user.verified_email_addresses) ?? "").split(/[|,;\s]+/).includes(email),
    name: [text(user.first_name), text(user.last_name)].filter(Boolean).join(" ") || undefined,
    externalId: text(user.id),
    ...(hash && format && { password: { format, hash } }),
    ...(secret && { totp: { secret } }),
  };
}

/** Supabase: a row of `auth.users` or of `auth.identities`, which names its user. */
function fromSupabase(row: Value): Record_ {
  if ("user_id" in row) {
    return {
      email: text(row.email) ?? "",
      externalId: text(row.user_id),
      identities: identity(row.provider, row.provider_id),
    };
  }
  const hash = text(row.encrypted_password);
  const metadata = toObject(row.raw_user_meta_data);
  return {
    email: text(row.email) ?? "",
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
  "totp",
  "disabled",
] as const;

/** Any table: `columns` names the column of each field, and `hashConfig` the format of the hashes. */
function fromTable(row: Value, { columns = {}, hashConfig }: SourceOptions): Record_ {
  const value = (field: (typeof COLUMN_FIELDS)[number]) => text(row[columns[field] ?? field]);
  const [verified, hash, secret] = [value("emailVerified"), value("password"), value("totp")];
  return {
    email: value("email") ?? "",
    emailVerified: time(verified) ?? isTrue(verified),
    name: value("name"),
    locale: value("locale") as Record_["locale"],
    createdAt: time(value("createdAt")),
    externalId: value("externalId"),
    appUserIds: value("appUserIds")?.split(/[;|]/),
    disabled: isTrue(value("disabled")),
    ...(hash && { password: { format: hashConfig?.format ?? "bcrypt", hash } as Record_["password"] }),
    ...(secret && { totp: { secret } }),
  };
}
