import type { Context } from "../../context";
import type { AttestationReceipt, PushDevice } from "../../platform/db/generated/client";
import type { Receipt } from "./receipt";

type Deps = Pick<Context, "appAttest" | "config" | "db" | "dbNow" | "isDraining" | "log">;
type DueReceipt = Pick<AttestationReceipt, "deviceId" | "receipt"> &
  Pick<PushDevice, "bundleId" | "environment" | "publicKey">;

/** Receipts that one call sends: an hour, and the next one, has time for the others. */
const MAX_RECEIPTS = 100;

/**
 * Asks Apple for newer receipts of attested keys, which say how many keys of the app each device has attested in the last 30
 * days (Apple, "Assessing fraud risk"). A receipt is sent once it is due, and not again for an hour if Apple does not respond;
 * several processes may do this at the same time. Does nothing without a key.
 */
export async function refreshReceipts(deps: Deps): Promise<void> {
  const { appAttest } = deps;
  if (!appAttest) return;
  const { readReceipt } = await import("./receipt"); // loads packages for ASN.1
  for (let sent = 0; sent < MAX_RECEIPTS && !deps.isDraining; sent++) {
    const due = await claim(deps);
    if (!due) return;
    const answer = await appAttest(due.receipt, due.environment === "sandbox" ? "sandbox" : "production");
    const receipt = typeof answer === "object" ? ownOf(deps, due, readReceipt(answer.receipt)) : null;
    if (typeof answer === "object" && receipt) await keep(deps, due, { ...receipt, bytes: answer.receipt });
    else await postpone(deps, due, typeof answer === "object" ? "invalid" : answer);
  }
}

/** Claims the receipt that has been due longest, for an hour by the database's clock. */
async function claim({ db, dbNow }: Deps): Promise<DueReceipt | undefined> {
  const [row] = await db.$queryRaw<DueReceipt[]>`
    UPDATE "AttestationReceipt" AS claimed SET "nextAttemptAt" = ${dbNow()} + interval '1 hour'
    FROM "PushDevice" AS device
    WHERE device.id = claimed."deviceId" AND claimed."deviceId" = (
      SELECT "deviceId" FROM "AttestationReceipt" WHERE "nextAttemptAt" <= ${dbNow()}
      ORDER BY "nextAttemptAt" LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING claimed."deviceId"::text, receipt, "bundleId", environment::text, "publicKey"`;
  return row;
}

/** Returns a receipt of the device's own key; null for any other: an app could have shown the receipt of another device. */
function ownOf({ config }: Deps, { bundleId, publicKey }: DueReceipt, receipt: Receipt | null): Receipt | null {
  const isOwn =
    receipt?.appId === `${config.APNS_TEAM_ID}.${bundleId}` && publicKey && receipt.publicKey.equals(publicKey);
  return isOwn ? receipt : null;
}

type NewReceipt = Pick<Receipt, "riskMetric" | "notBefore"> & { bytes: Uint8Array };

/** Not if the device has attested another key meanwhile. */
async function keep(
  { db, dbNow }: Deps,
  { deviceId, receipt }: DueReceipt,
  { bytes, riskMetric, notBefore }: NewReceipt,
) {
  await db.$executeRaw`
    UPDATE "AttestationReceipt" SET receipt = ${bytes}, "riskMetric" = ${riskMetric}::integer, "riskMetricAt" = ${dbNow()},
      "nextAttemptAt" = GREATEST(${notBefore}::timestamptz, ${dbNow()} + interval '1 day')
    WHERE "deviceId" = ${deviceId}::uuid AND receipt = ${receipt}`;
}

/** Until when a receipt is not sent again. Apple keeps what it counts for 30 days, and begins again with a new attestation. */
const POSTPONED = { too_early: "1 day", unknown: "7 days", invalid: null } as const;

async function postpone({ db, dbNow, log }: Deps, { deviceId, receipt }: DueReceipt, why: keyof typeof POSTPONED) {
  if (why === "invalid")
    log.warn({ deviceId }, "the receipt of an attested key is not the device's, or cannot be read");
  await db.$executeRaw`
    UPDATE "AttestationReceipt" SET "nextAttemptAt" = ${dbNow()} + ${POSTPONED[why]}::interval
    WHERE "deviceId" = ${deviceId}::uuid AND receipt = ${receipt}`;
}
