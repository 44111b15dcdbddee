import type { Tx } from "../context";
import { toLiveActivity, toStartToken } from "./live-activities/schema";
import { tokenSuffix } from "./schema";

/** Returns an account's devices for the data export, newest first. Tokens and endpoints are cut to their last 4 characters. */
export async function exportDevices(tx: Tx, accountId: string) {
  const devices = await tx.pushDevice.findMany({
    where: { accountId },
    omit: { accountId: true, keyId: true, publicKey: true, keyCounter: true, webPushKeys: true },
    include: { liveActivities: true, liveActivityStartTokens: true },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  return devices.map(({ token, liveActivities, liveActivityStartTokens, ...device }) => ({
    ...device,
    tokenSuffix: tokenSuffix(token),
    liveActivities: liveActivities.map(toLiveActivity),
    liveActivityStartTokens: liveActivityStartTokens.map(toStartToken),
  }));
}
