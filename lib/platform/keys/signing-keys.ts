import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import { z } from "zod";
import type { Context } from "../../context";
import { operation } from "../../operation";
import { RouteResponse } from "../http-message";
import { decryptSecret, encryptSecret } from "./stored-secrets";

type Deps = Pick<Context, "config" | "db" | "now">;
type Row = { sequence: number; kid: string; publicKey: string; privateKey: string; signsFrom: Date };

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a key signs before the next one does. */
const SIGNING_MS = 90 * DAY_MS;
/** How long a key is published before it signs, so that caches of the key set have it. */
const PUBLISHED_AHEAD_MS = DAY_MS;
/** How long a key is published after the next one signs: longer than the tokens that it signed are valid. */
const PUBLISHED_AFTER_MS = 91 * DAY_MS;

/** The public keys that verify tokens (RFC 7517, section 5; RFC 8037, section 2). */
const JsonWebKeySet = z.object({
  keys: z.array(
    z.object({
      kty: z.literal("OKP"),
      crv: z.literal("Ed25519"),
      alg: z.literal("EdDSA"),
      use: z.literal("sig"),
      kid: z.string(),
      x: z.string(),
    }),
  ),
});
type JsonWebKeySet = z.infer<typeof JsonWebKeySet>;

/** Returns the Ed25519 key that signs now. Do not call it inside a transaction. @throws AppError unavailable */
export async function currentSigningKey(deps: Deps): Promise<{ kid: string; key: KeyObject }> {
  const keys = await readKeys(deps);
  const current = (keys.findLast(({ signsFrom }) => signsFrom <= deps.now()) ?? keys[0]) as Row;
  const jwk = await decryptSecret(deps, signingKeyPurpose(current.kid), current.privateKey);
  return { kid: current.kid, key: createPrivateKey({ key: JSON.parse(jwk), format: "jwk" }) };
}

/** Returns the keys that signed a token that may still be valid, that sign now, and that will. */
async function publishedKeys(deps: Deps): Promise<JsonWebKeySet> {
  const keys = await readKeys(deps);
  return {
    keys: keys.map(({ kid, publicKey: x }) => ({ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid, x })),
  };
}

/** Reads the keys, oldest first. Creates the first one, and the next one shortly before it is needed. */
async function readKeys(deps: Deps): Promise<Row[]> {
  const { db, now } = deps;
  const read = () => db.signingKey.findMany({ orderBy: { sequence: "asc" } });
  const found = await read();
  const newest = found.at(-1);
  const at = now().getTime();
  if (newest && newest.signsFrom.getTime() + SIGNING_MS - PUBLISHED_AHEAD_MS > at) return found;
  const signsFrom = new Date(newest ? at + PUBLISHED_AHEAD_MS : at);
  await createKey(deps, { sequence: (newest?.sequence ?? 0) + 1, signsFrom });
  await removeOldKeys(deps, found);
  return read();
}

/** Of processes that create a key at the same time, one does. */
async function createKey(deps: Deps, { sequence, signsFrom }: Pick<Row, "sequence" | "signsFrom">): Promise<void> {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }) as { x: string; d: string };
  const kid = await calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x: jwk.x });
  const privateKey = await encryptSecret(deps, signingKeyPurpose(kid), JSON.stringify(jwk));
  const key = { sequence, kid, publicKey: jwk.x, privateKey, signsFrom };
  await deps.db.signingKey.createMany({ data: [key], skipDuplicates: true });
}

async function removeOldKeys({ db, now }: Deps, keys: Row[]): Promise<void> {
  const before = now().getTime() - PUBLISHED_AFTER_MS;
  const old = keys.filter((_, i) => (keys[i + 1]?.signsFrom.getTime() ?? Number.POSITIVE_INFINITY) < before);
  await db.signingKey.deleteMany({ where: { sequence: { in: old.map(({ sequence }) => sequence) } } });
}

/** What a private key is encrypted for: see `encryptSecret`. */
export const signingKeyPurpose = (kid: string) => `signing-key:${kid}`;

export const keySetOperations = {
  getJsonWebKeySet: operation({
    id: "getJsonWebKeySet",
    summary: "List the public keys of entitlement tokens",
    description:
      "The keys that verify the tokens of `/api/subscription/token` (RFC 7517). A key is listed a day before it signs, and until the last token that it signed has expired.",
    response: {
      description: "The keys. May be cached for an hour.",
      schema: JsonWebKeySet,
      examples: {
        "One key": {
          keys: [
            {
              kty: "OKP",
              crv: "Ed25519",
              alg: "EdDSA",
              use: "sig",
              kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
              x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            },
          ],
        },
      },
    },
    run: async ({ ctx }) =>
      new RouteResponse(200, await publishedKeys(ctx), { "Cache-Control": "public, max-age=3600" }),
  }),
};
