import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "../../errors";

const MAX_HASH_LENGTH = 1_024;
const MAX_PBKDF2_ROUNDS = 2_000_000;
const MAX_BCRYPT_COST = 15;
/** Passes of argon2 and lanes of scrypt, which multiply the time of the memory that is allowed. */
const MAX_PASSES = 16;
const MAX_DIGEST_BYTES = 64;

const Text = z.string().min(1).max(MAX_HASH_LENGTH);
/** Standard or URL-safe, with or without padding. */
const Base64 = Text.regex(/^[A-Za-z0-9+/_-]+={0,2}$/);
const Count = z
  .int()
  .min(1)
  .max(2 ** 31);

/** Formats of which the hash is all that there is. */
export const HASH_FORMATS = [
  "bcrypt",
  "argon2",
  "scrypt",
  "pbkdf2",
  "better-auth",
  "django",
  "aspnet-identity",
] as const;

/**
 * A password's hash as another system exports it.
 * - `bcrypt`, `argon2` (argon2id and argon2i), `scrypt` and `pbkdf2`: the modular crypt or PHC string.
 * - `better-auth`: `salt:key` in hex.
 * - `django`: the column `password`. `aspnet-identity`: the column `PasswordHash`, version 3.
 * - `firebase-scrypt`: with the parameters of the project's "Password hash parameters".
 * - `keycloak`: `value` and `salt` of the credential's `secretData`, with the fields of its `credentialData`.
 */
export const ImportedPassword = z
  .discriminatedUnion("format", [
    z.strictObject({ format: z.enum(HASH_FORMATS), hash: Text }),
    z.strictObject({
      format: z.literal("firebase-scrypt"),
      hash: Base64,
      salt: Base64,
      saltSeparator: Base64,
      signerKey: Base64,
      memoryCost: Count,
      rounds: Count,
    }),
    z.strictObject({
      format: z.literal("keycloak"),
      hash: Base64,
      salt: Base64,
      algorithm: z.enum(["pbkdf2", "pbkdf2-sha256", "pbkdf2-sha512", "argon2"]),
      iterations: Count,
      type: z.enum(["id", "i"]).default("id"),
      memory: Count.optional(),
      parallelism: Count.default(1),
    }),
  ])
  .meta({ id: "ImportedPassword" });
export type ImportedPassword = z.infer<typeof ImportedPassword>;

/** A hash in the PHC string format, with what is done to the password before. bcrypt's salt and hash are two parts, too. */
type Hash = { input: "raw" | "nfkc" | "sha256"; phc: string; memoryBytes: number };

/**
 * Returns an imported password as it is stored in place of a hash of our own: `{INPUT}` and the hash in the PHC string
 * format. The first sign-in replaces it.
 * @throws AppError validation_failed, with the code "unsupported_hash", or "too_costly" beyond a bound
 */
export function toStoredHash(password: ImportedPassword, maxMemoryBytes: number): string {
  const { input, phc, memoryBytes } =
    read(password) ?? refuse("unsupported_hash", `Is not a hash of ${password.format}`);
  if (memoryBytes > maxMemoryBytes) {
    const needed = Math.ceil(memoryBytes / 2 ** 20);
    refuse("too_costly", `Takes ${needed} MiB to verify; PASSWORD_IMPORT_MEMORY allows ${maxMemoryBytes / 2 ** 20}`);
  }
  return `{${input}}${phc}`;
}

export const isImported = (hash: string): boolean => hash.startsWith("{");

/** What a system that exported a hash gave to the hash for a password. */
export function importedInput(password: string, hash: string): string {
  if (hash.startsWith("{nfkc}")) return password.normalize("NFKC");
  return hash.startsWith("{sha256}") ? createHash("sha256").update(password).digest("hex") : password;
}

function refuse(code: string, detail: string): never {
  throw new AppError("validation_failed", { errors: [{ pointer: "/password/hash", code, detail }] });
}

function read(password: ImportedPassword): Hash | null {
  if (password.format === "firebase-scrypt") return readFirebase(password);
  if (password.format === "keycloak") return readKeycloak(password);
  return READERS[password.format](password.hash);
}

const READERS: Record<(typeof HASH_FORMATS)[number], (text: string) => Hash | null> = {
  bcrypt: (text) => readBcrypt(text),
  argon2: readArgon2,
  scrypt: readScrypt,
  pbkdf2: readPbkdf2,
  "better-auth": readBetterAuth,
  django: readDjango,
  "aspnet-identity": readAspNetIdentity,
};

function readBcrypt(text: string, input: Hash["input"] = "raw"): Hash | null {
  const [, version, cost = "", salt, digest] =
    /^\$(2[aby])\$(\d\d)\$([./A-Za-z0-9]{22})([./A-Za-z0-9]{31})$/.exec(text) ?? [];
  if (!version || Number(cost) < 4) return null;
  if (Number(cost) > MAX_BCRYPT_COST) refuse("too_costly", `Has a cost above ${MAX_BCRYPT_COST}`);
  return { input, phc: `$${version}$${cost}$${salt}$${digest}`, memoryBytes: 0 };
}

/** The reference implementation's string: version 19 alone. */
function readArgon2(text: string): Hash | null {
  const [, type, m, t, p, salt, digest] =
    /^\$argon2(id?)\$v=19\$m=(\d{1,8}),t=(\d{1,8}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(text) ?? [];
  return type && salt && digest ? argon2(type, [m, t, p].map(Number), fromBase64(salt), fromBase64(digest)) : null;
}

function argon2(type: string, [m = 0, t = 0, p = 0]: number[], salt: Buffer, digest: Buffer): Hash | null {
  if (salt.length < 8 || digest.length < 4 || t < 1 || p < 1 || m < 8 * p) return null;
  if (t > MAX_PASSES) refuse("too_costly", `Makes more than ${MAX_PASSES} passes`);
  const phc = `$argon2${type}$v=19$m=${m},t=${t},p=${p}$${toBase64(salt)}$${toBase64(digest)}`;
  return { input: "raw", phc, memoryBytes: m * 1024 };
}

/** passlib's string. */
function readScrypt(text: string): Hash | null {
  const [, ln, r, p, salt, digest] =
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)$/.exec(text) ?? [];
  return salt && digest ? scrypt([ln, r, p].map(Number), fromBase64(salt), fromBase64(digest)) : null;
}

type ScryptOptions = { input?: Hash["input"]; algorithm?: string; more?: string };

function scrypt(
  [ln = 0, r = 0, p = 0]: number[],
  salt: Buffer,
  digest: Buffer,
  { input = "raw", algorithm = "scrypt", more = "" }: ScryptOptions = {},
): Hash | null {
  // RFC 7914, section 2: N is less than 2^(128 * r / 8).
  if (ln < 1 || ln > 24 || ln >= 16 * r || p < 1 || digest.length < 16) return null;
  if (p > MAX_PASSES) refuse("too_costly", `Has more than ${MAX_PASSES} lanes`);
  const phc = `$${algorithm}$ln=${ln},r=${r},p=${p}${more}$${toBase64(salt)}$${toBase64(digest)}`;
  return { input, phc, memoryBytes: 128 * 2 ** ln * r };
}

/** passlib's string, and that of the PHC string format with `i=`. */
function readPbkdf2(text: string): Hash | null {
  const [, digest = "sha1", rounds, salt, hash] =
    /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,10})(?:,l=\d+)?\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)$/.exec(
      text,
    ) ?? [];
  return salt && hash ? pbkdf2(digest, Number(rounds), fromBase64(salt), fromBase64(hash)) : null;
}

function pbkdf2(digest: string, rounds: number, salt: Buffer, hash: Buffer): Hash | null {
  if (rounds < 1 || hash.length < 16 || hash.length > MAX_DIGEST_BYTES) return null;
  if (rounds > MAX_PBKDF2_ROUNDS) refuse("too_costly", `Has more than ${MAX_PBKDF2_ROUNDS} rounds`);
  return { input: "raw", phc: `$pbkdf2-${digest}$i=${rounds}$${toBase64(salt)}$${toBase64(hash)}`, memoryBytes: 0 };
}

/** Better Auth, "Email & Password": scrypt of the normalized password. The salt is the hex text, not its bytes. */
function readBetterAuth(text: string): Hash | null {
  const [, salt, key] = /^([0-9a-f]{32}):([0-9a-f]{128})$/.exec(text) ?? [];
  return salt && key ? scrypt([14, 16, 1], Buffer.from(salt), Buffer.from(key, "hex"), { input: "nfkc" }) : null;
}

/** Django, "Password management in Django": `algorithm$…`. Salts are text. */
function readDjango(text: string): Hash | null {
  const [algorithm, ...rest] = text.split("$");
  const [a = "", salt = "", c = "", d = "", e = ""] = rest;
  if (algorithm === "argon2") return readArgon2(`$${rest.join("$")}`);
  if (algorithm === "bcrypt") return readBcrypt(rest.join("$"));
  if (algorithm === "bcrypt_sha256") return readBcrypt(rest.join("$"), "sha256");
  if (algorithm === "scrypt") {
    const ln = Math.log2(Number(a));
    return Number.isInteger(ln) ? scrypt([ln, Number(c), Number(d)], Buffer.from(salt), fromBase64(e)) : null;
  }
  const digest = /^pbkdf2_(sha1|sha256)$/.exec(algorithm ?? "")?.[1];
  return digest && rest.length === 3 ? pbkdf2(digest, Number(a), Buffer.from(salt), fromBase64(c)) : null;
}

/** ASP.NET Core, `PasswordHasher`, version 3: 0x01, the digest, the rounds and the salt's length, 32 bits each; salt; key. */
function readAspNetIdentity(text: string): Hash | null {
  const bytes = fromBase64(text);
  if (bytes.length < 13 || bytes[0] !== 1) return null;
  const [digest, rounds, saltLength] = [1, 5, 9].map((offset) => bytes.readUInt32BE(offset)) as [
    number,
    number,
    number,
  ];
  const name = ["sha1", "sha256", "sha512"][digest];
  return name ? pbkdf2(name, rounds, bytes.subarray(13, 13 + saltLength), bytes.subarray(13 + saltLength)) : null;
}

/** github.com/firebase/scrypt: `rounds` is scrypt's r. The salt is followed by the separator. The hash is as long as the key. */
function readFirebase(given: Extract<ImportedPassword, { format: "firebase-scrypt" }>): Hash | null {
  const salt = Buffer.concat([fromBase64(given.salt), fromBase64(given.saltSeparator)]);
  const [signer, digest] = [fromBase64(given.signerKey), fromBase64(given.hash)];
  if (signer.length !== digest.length) return null;
  const more = `,signer=${signer.toString("base64url")}`;
  return scrypt([given.memoryCost, given.rounds, 1], salt, digest, { algorithm: "firebase-scrypt", more });
}

/** Keycloak, `PasswordCredentialModel`. Its "pbkdf2" is SHA-1. */
function readKeycloak(given: Extract<ImportedPassword, { format: "keycloak" }>): Hash | null {
  const [salt, digest] = [fromBase64(given.salt), fromBase64(given.hash)];
  if (given.algorithm !== "argon2") {
    return pbkdf2(given.algorithm.split("-")[1] ?? "sha1", given.iterations, salt, digest);
  }
  return argon2(given.type, [given.memory ?? 0, given.iterations, given.parallelism], salt, digest);
}

/** passlib writes "." for "+". */
const fromBase64 = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64");
const toBase64 = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
