import { createECDH, createHmac, randomBytes } from "node:crypto";
import type { Context } from "../../context";
import type { Operator } from "../../principal";
import { recordOperatorEvent } from "../audit/operator-events";
import { perObject } from "../per-object";
import { deriveKey, findSecret, open, type Secrets, seal, secretId } from "./key-ring";

type Deps = Pick<Context, "config" | "db">;

/**
 * `encryption` encrypts stored secrets. `pseudonyms` keys the HMAC of emails, networks and typed codes: it never changes,
 * so that a rotation neither lifts a limit nor forgets a recognized client. `vapid` is a private key of P-256.
 */
const PURPOSES = ["encryption", "pseudonyms", "vapid"] as const;
type Purpose = (typeof PURPOSES)[number];
/** A stored data key. */
export type DataKeyRow = { id: string; purpose: string; wrappedBy: string; wrapped: string };
type Row = DataKeyRow;
export type DataKey = { id: string; purpose: string; key: Buffer };
/** The data keys that the ring can unwrap, oldest first, and the ids of the secrets that it lacks for the others. */
type DataKeys = { keys: DataKey[]; missingSecretIds: string[] };

const WRAPPING = "Homeport data key";

/** Encrypts a data key with the first secret ("envelope encryption"; NIST SP 800-57 Part 1, 5.3.5). */
export function wrapKey(secrets: Secrets, id: string, key: Uint8Array): Pick<Row, "wrappedBy" | "wrapped"> {
  const [secret] = secrets;
  return { wrappedBy: secretId(secret), wrapped: seal(deriveKey(secret, WRAPPING), id, key) };
}

/** Decrypts a data key; null if the ring lacks the secret that wraps it. @throws Error if the row was changed */
function unwrapKey(secrets: Secrets, { id, wrappedBy, wrapped }: Omit<Row, "purpose">): Buffer | null {
  const secret = findSecret(secrets, wrappedBy);
  return secret === undefined ? null : open(deriveKey(secret, WRAPPING), id, wrapped);
}

/** What a process has read, by database and ring. A data key never changes, so it is read once. */
const loadedOf = perObject((_db: Deps["db"]) => new Map<string, Promise<DataKeys>>());

/**
 * The data keys; at least one for each purpose can be unwrapped. The first call reads them, and creates those that are
 * missing. `composeContext` makes it before the service listens, because a query inside a transaction would block PGlite.
 */
export function loadDataKeys({ config, db }: Deps): Promise<DataKeys> {
  const byRing = loadedOf(db);
  const ring = config.secrets.map(secretId).join();
  const found = byRing.get(ring) ?? readOrCreate({ config, db });
  byRing.set(ring, found);
  found.catch(() => byRing.delete(ring)); // the database was not available
  return found;
}

/** Clears the cache, after another process has created a key. */
export function clearDataKeyCache({ config, db }: Deps): void {
  loadedOf(db).delete(config.secrets.map(secretId).join());
}

/** The oldest key of a purpose: every process uses the same one. */
export async function dataKey(deps: Deps, purpose: Purpose): Promise<DataKey> {
  const { keys } = await loadDataKeys(deps);
  return keys.find((key) => key.purpose === purpose) as DataKey;
}

async function readOrCreate(deps: Deps): Promise<DataKeys> {
  const found = await read(deps);
  const missing = PURPOSES.filter((name) => !found.keys.some(({ purpose }) => purpose === name));
  if (missing.length === 0) return found;
  for (const purpose of missing) await create(deps, purpose);
  return read(deps);
}

async function read({ config, db }: Deps): Promise<DataKeys> {
  return unwrapDataKeys(config.secrets, await db.dataKey.findMany({ orderBy: [{ createdAt: "asc" }, { id: "asc" }] }));
}

/** Decrypts stored data keys, and keeps their order. */
export function unwrapDataKeys(secrets: Secrets, rows: readonly Row[]): DataKeys {
  const missing = new Set<string>();
  const keys = rows.flatMap((row) => {
    const key = unwrapKey(secrets, row);
    if (!key) missing.add(row.wrappedBy);
    return key ? [{ id: row.id, purpose: row.purpose, key }] : [];
  });
  return { keys, missingSecretIds: [...missing] };
}

/**
 * Creates a data key. The id names the secret, so that of concurrent processes one creates it. The key of pseudonyms is
 * the oldest secret itself: version 1.0 used that, and its hashes stay valid.
 */
async function create({ config, db }: Deps, purpose: Purpose): Promise<void> {
  const oldest = config.secrets.at(-1) as string;
  const id = `${purpose}:${secretId(purpose === "pseudonyms" ? oldest : config.secrets[0])}`;
  const { wrappedBy, wrapped } = wrapKey(config.secrets, id, newKey(purpose, oldest));
  // The database's clock decides which key is the oldest. Prisma would store this process's time.
  await db.$executeRaw`
    INSERT INTO "DataKey" ("id", "purpose", "wrappedBy", "wrapped") VALUES (${id}, ${purpose}, ${wrappedBy}, ${wrapped})
    ON CONFLICT ("id") DO NOTHING`;
}

function newKey(purpose: Purpose, oldestSecret: string): Buffer {
  if (purpose === "pseudonyms") return Buffer.from(oldestSecret);
  return purpose === "vapid" ? newPrivateKey() : randomBytes(32);
}

function newPrivateKey(): Buffer {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  const key = curve.getPrivateKey();
  return Buffer.concat([Buffer.alloc(32 - key.length), key]); // without its leading zeros
}

/** What `rewrapDataKeys` did. `missingSecretIds` names the secrets that wrap a data key and are not in the ring. */
export type Rewrapped = { rewrapped: number; unchanged: number; missingSecretIds: string[] };

/**
 * Wraps every data key with the first secret, in one transaction with its event in the audit trail. The keys stay the same,
 * and so does what they encrypt. Keys whose secret is not in the ring are left as they are.
 */
export async function rewrapDataKeys(
  { config, db, now }: Pick<Context, "config" | "db" | "now">,
  operator: Operator,
): Promise<Rewrapped> {
  const { secrets } = config;
  return db.$transaction(async (tx) => {
    const rows = await tx.dataKey.findMany({ orderBy: { id: "asc" } });
    const old = rows.filter(({ wrappedBy }) => wrappedBy !== secretId(secrets[0]));
    const missing = new Set<string>();
    for (const row of old) {
      const key = unwrapKey(secrets, row);
      if (key) await tx.dataKey.update({ where: { id: row.id }, data: wrapKey(secrets, row.id, key) });
      else missing.add(row.wrappedBy);
    }
    const count = old.filter(({ wrappedBy }) => !missing.has(wrappedBy)).length;
    if (count > 0) {
      const details = { rewrapped: count, secretId: secretId(secrets[0]) };
      await recordOperatorEvent(tx, now(), operator, { type: "data_keys_rewrapped", target: "data_keys", details });
    }
    return { rewrapped: count, unchanged: rows.length - old.length, missingSecretIds: [...missing] };
  });
}

/**
 * A keyed hash of private text (HMAC-SHA-256, base64url), the same before and after a rotation. It lets rows be found by
 * an email, a network or a typed code, and hides them from a reader of the database. It protects no access.
 */
export async function pseudonym(deps: Pick<Context, "config" | "db">, text: string): Promise<string> {
  const { key } = await dataKey(deps, "pseudonyms");
  return createHmac("sha256", key).update(text).digest("base64url");
}

/**
 * The keys that identify the service to push services (RFC 8292), in base64url: VAPID_PRIVATE_KEY with its public key, or the
 * stored key, which was created once.
 */
export async function vapidKeys(deps: Pick<Context, "config" | "db">) {
  const configured = deps.config.VAPID_PRIVATE_KEY;
  const key = configured ? Buffer.from(configured, "base64url") : (await dataKey(deps, "vapid")).key;
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(key);
  return { publicKey: curve.getPublicKey("base64url"), privateKey: key.toString("base64url") };
}
