import type { Context } from "../../context";
import { AppError } from "../../errors";
import { clearDataKeyCache, dataKey, loadDataKeys } from "./data-keys";
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
  const [format, id = "", sealed = ""] = stored.split(".");
  if (format !== FORMAT) throw new Error("The stored secret has an unknown format");
  const { key } = (await find(deps, id)) ?? (await findAfterReload(deps, id));
  return open(key, contextOf(id, purpose), sealed).toString();
}

async function find(deps: Deps, id: string) {
  return (await loadDataKeys(deps)).keys.find((key) => key.id === id);
}

/** Another process may have created the key since this one read them. */
async function findAfterReload(deps: Deps, id: string) {
  clearDataKeyCache(deps);
  const found = await find(deps, id);
  if (found) return found;
  const cause = new Error(`NEXTAUTH_SECRET lacks the secret that protects the data key ${id}`);
  throw new AppError("unavailable", { cause });
}

function contextOf(id: string, purpose: string): string {
  return `${id}\0${purpose}`;
}
