import { fromBase64 } from "./base64.js";
import type { Client } from "./http/client.js";
import { request } from "./http/request.js";

const SAVE_INTERVAL_SECONDS = 60;

/** Where an app keeps what it needs without a connection, as text: a file, or localStorage. */
export type OfflineStore = { load(): string | null | Promise<string | null>; save(text: string): void | Promise<void> };

export type OfflineEntitlements = {
  /** Fetches a token and the keys. Call it at each start and once a day. @throws HomeportError */
  refresh(): Promise<void>;
  /** The ids of the entitlements that the stored token gives, or null if the app needs a new one. Sends nothing. */
  check(): Promise<string[] | null>;
  /** Forgets the token of a user who signs out. */
  clear(): Promise<void>;
};

/** `lastSeen`, in seconds, is the latest time of a check: setting the clock back extends nothing. */
type State = { token: string; keys: Jwk[]; lastSeen: number };
type Jwk = { kid: string; kty: string; crv: string; x: string };
type Claims = { iss: string; aud: string; iat: number; exp: number; entitlements: Entitlement[] };
type Entitlement = { id: string; expiresAt: number | null };

/** Entitlements that work offline: a signed token for the app's `audience`, such as "com.example.core". */
export function openOfflineEntitlements(
  client: Client,
  { audience, store, now = Date.now }: { audience: string; store: OfflineStore; now?: () => number },
): OfflineEntitlements {
  const load = async () => parse(await store.load());
  const save = async (state: State) => store.save(JSON.stringify(state));

  async function refresh(): Promise<void> {
    const { token } = await request(client, "GET", "/api/subscription/token", { query: { audience } });
    const { keys } = (await request(client, "GET", "/.well-known/jwks.json")) as { keys: Jwk[] };
    // The service's time counts, so that a clock that was once ahead does no lasting harm.
    await save({ token, keys, lastSeen: 0 });
  }

  async function check(): Promise<string[] | null> {
    const state = await load();
    const claims = state && (await readToken(state.token, state.keys));
    if (!state || !claims || claims.iss !== client.url || claims.aud !== audience) return null;
    const time = Math.max(now() / 1000, state.lastSeen, claims.iat);
    if (time - state.lastSeen > SAVE_INTERVAL_SECONDS) await save({ ...state, lastSeen: time });
    if (!(claims.exp > time)) return null; // also if the stored time is no number
    const isValid = ({ expiresAt }: Entitlement) => expiresAt === null || expiresAt > time;
    return claims.entitlements.filter(isValid).map(({ id }) => id);
  }

  const clear = () => save({ token: "", keys: [], lastSeen: 0 });
  return { refresh, check, clear };
}

/** The claims of a token that one of the keys has signed (RFC 7515; RFC 8037), else null, also without Ed25519. */
async function readToken(token: string, keys: readonly Jwk[]): Promise<Claims | null> {
  try {
    const [header = "", payload = "", signature = ""] = token.split(".");
    const { alg, typ, kid } = decode(header) as Record<string, string>;
    const jwk = keys.find((one) => one.kid === kid);
    const bytes = fromBase64(signature);
    if (alg !== "EdDSA" || typ !== "entitlements+jwt" || !jwk || !bytes) return null;
    const { kty, crv, x } = jwk;
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", false, ["verify"]);
    const signed = new TextEncoder().encode(`${header}.${payload}`);
    return (await crypto.subtle.verify("Ed25519", key, bytes, signed)) ? (decode(payload) as Claims) : null;
  } catch {
    return null;
  }
}

const decode = (part: string): unknown => JSON.parse(new TextDecoder().decode(fromBase64(part) ?? undefined));

function parse(text: string | null): State | null {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null; // the user has edited the file
  }
}
