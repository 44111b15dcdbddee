import type { Context } from "../../context";
import { AppError } from "../../errors";
import { clearDataKeyCache, type DataKey, dataKey, loadDataKeys } from "./data-keys";
import { open, seal } from "./key-ring";

type Deps = Pick<Context, "config" | "db">;

/** Increased if the format changes. Base64url and the ids of data keys have no dot. */
const FORMAT = "1";

/**
 * Encrypts a secret to store it in a column (AES-256-GCM). `purpose` says whose it is and what for, such as
 * `totp:ACCOUNT_ID`: the same one decrypts it, so a copy in another row is worthless. Do not call it inside a transaction.
 */
export async function encryptSecret(deps: Deps, purpose: string, plaintext: string): Promise<string> {
  const { id, key } = await dataKey(deps, "encryption");
  return [FORMAT, id, seal(key, contextOf(id, purpose), Buffer.from(plaintext))].join(".");
}

/**
 * Decrypts a stored secret.
 * @throws AppError unavailable if NEXTAUTH_SECRET lacks the secret that protects it; Error for another purpose, and for
 *   a text that was changed
 */
export async function decryptSecret(deps: Deps, purpose: string, stored: string): Promise<string> {
  const { id, sealed } = parse(stored);
  return decryptWith((await find(deps, id)) ?? (await findAfterReload(deps, id)), purpose, sealed);
}

/** Decrypts a stored secret with one of several data keys. @throws Error for another key or purpose, and for a changed text */
export function decryptSecretWith(keys: readonly DataKey[], purpose: string, stored: string): string {
  const { id, sealed } = parse(stored);
  const key = keys.find((one) => one.id === id);
  if (!key) throw new Error(lacks(id));
  return decryptWith(key, purpose, sealed);
}

function parse(stored: string): { id: string; sealed: string } {
  const [format, id = "", sealed = ""] = stored.split(".");
  if (format !== FORMAT) throw new Error("The stored secret has an unknown format");
  return { id, sealed };
}

const decryptWith = ({ id, key }: DataKey, purpose: string, sealed: string): string =>
  open(key, contextOf(id, purpose), sealed).toString();

const lacks = (id: string) => `NEXTAUTH_SECRET lacks the secret that protects the data key ${id}`;

async function find(deps: Deps, id: string) {
  return (await loadDataKeys(deps)).keys.find((key) => key.id === id);
}

/** Another process may have created the key since this one read them. */
async function findAfterReload(deps: Deps, id: string) {
  clearDataKeyCache(deps);
  const found = await find(deps, id);
  if (found) return found;
  const cause = new Error(lacks(id));
  throw new AppError("unavailable", { cause });
}

function contextOf(id: string, purpose: string): string {
  return `${id}\0${purpose}`;
}
