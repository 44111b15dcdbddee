import type { Tx } from "../context";
import { tokenSuffix } from "./schema";

/** An account's devices for the data export, newest first, as JSON: each token is cut to its last 4 characters. */
export async function exportDevices(tx: Tx, accountId: string) {
  const devices = await tx.pushDevice.findMany({
    where: { accountId },
    omit: { accountId: true, keyId: true, publicKey: true, keyCounter: true },
    orderBy: [{ createdAt: "desc" }, { id: "desc" }],
  });
  return devices.map(({ token, ...device }) => ({ ...device, tokenSuffix: tokenSuffix(token) }));
}
