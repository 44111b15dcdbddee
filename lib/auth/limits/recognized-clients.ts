import type { Caller } from "../../audit/caller";
import type { Context, Tx } from "../../context";
import { deviceCookieName, setCookie } from "../cookie";

type Deps = Pick<Context, "db" | "limits" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a device or network is recognized after its last sign-in: longer than any session lives. */
const TTL_MS = 180 * DAY_MS;
/** Devices and networks that an account recognizes at most; the ones that signed in longest ago are forgotten. */
const MAX_CLIENTS = 50;

/** The keys of a caller's device and network with an e-mail address; nothing of it can be read from them. */
export function clientKeys({ limits }: Pick<Deps, "limits">, email: string, { deviceId, ip: address }: Caller) {
  return {
    device: limits.privateKey(`device ${deviceId} ${email}`),
    network: limits.privateKey(`network ${address} ${email}`),
  };
}

/** What an account recognizes of a caller, and the key it is counted by. */
export type RecognizedClient = { key: string; isDevice: boolean };

/** What an account recognizes of the caller: the device, else the network; null for a stranger. */
export async function findRecognizedClient(ctx: Deps, email: string, caller: Caller): Promise<RecognizedClient | null> {
  const { device, network } = clientKeys(ctx, email, caller);
  const found = await ctx.db.recognizedClient.findMany({
    where: { key: { in: [device, network] }, expiresAt: { gt: ctx.now() } },
    select: { key: true },
  });
  const key = [device, network].find((each) => found.some((row) => row.key === each));
  return key === undefined ? null : { key, isDevice: key === device };
}

/**
 * Remembers where an account signed in from, or had its password reset. `withDevice`: the answer sets the device's
 * cookie; native apps have none, and are recognized by their network.
 */
export async function recognizeClient(
  tx: Tx,
  ctx: Pick<Deps, "limits" | "now">,
  account: { id: string; email: string },
  caller: Caller,
  { withDevice }: { withDevice: boolean },
): Promise<void> {
  const { device, network } = clientKeys(ctx, account.email, caller);
  const keys = [...(withDevice ? [device] : []), ...(caller.ip === "unknown" ? [] : [network])].sort();
  const expiresAt = new Date(ctx.now().getTime() + TTL_MS);
  await tx.$executeRaw`
    INSERT INTO "RecognizedClient" ("key", "accountId", "expiresAt")
    SELECT unnest(${keys}::text[]), ${account.id}::uuid, ${expiresAt}::timestamptz
    ON CONFLICT ("key") DO UPDATE SET "accountId" = EXCLUDED."accountId", "expiresAt" = EXCLUDED."expiresAt"`;
  await tx.$executeRaw`
    DELETE FROM "RecognizedClient" WHERE "key" IN (SELECT "key" FROM "RecognizedClient"
      WHERE "accountId" = ${account.id}::uuid ORDER BY "expiresAt" DESC, "key" OFFSET ${MAX_CLIENTS}::integer)`;
}

/** The Set-Cookie header by which a device is recognized. It signs nobody in. */
export function setDeviceCookie({ config, now }: Pick<Context, "config" | "now">, deviceId: string): string {
  return setCookie(config, deviceCookieName(config), deviceId, new Date(now().getTime() + TTL_MS));
}
