import type { Caller } from "../../audit/caller";
import type { Context, Tx } from "../../context";
import { deviceCookieName, setCookie } from "../cookie";

type Deps = Pick<Context, "db" | "limits" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a client is recognized after its last sign-in: longer than any session lives. */
const TTL_MS = 180 * DAY_MS;
/** The most clients that an account recognizes. Those that signed in longest ago are removed first. */
const MAX_CLIENTS = 50;

/** The keys of a caller's device and network for an email. They are HMACs, and reveal none of the three. */
export function clientKeys({ limits }: Pick<Deps, "limits">, email: string, { deviceId, ip }: Caller) {
  return {
    device: limits.privateKey(`device ${deviceId} ${email}`),
    network: limits.privateKey(`network ${ip} ${email}`),
  };
}

/** A client that an account recognizes, by its device cookie or only by its network. */
export type RecognizedClient = { key: string; isDevice: boolean };

/** Finds the caller among the clients that an account recognizes: by device, else by network; null for a stranger. */
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
 * Remembers the client that signed in to an account or reset its password. `withDevice` if the response sets the device
 * cookie; native apps have no cookie and are recognized by their network.
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

/** The Set-Cookie header of the device cookie. It identifies a browser and signs nobody in. */
export function setDeviceCookie({ config, now }: Pick<Context, "config" | "now">, deviceId: string): string {
  return setCookie(config, deviceCookieName(config), deviceId, new Date(now().getTime() + TTL_MS));
}
