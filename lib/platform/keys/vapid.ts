import { createECDH } from "node:crypto";
import type { Context } from "../../context";
import { dataKey } from "./data-keys";

/** The keys that identify the service to push services (RFC 8292), in base64url. */
type VapidKeys = { publicKey: string; privateKey: string };

/** Returns VAPID_PRIVATE_KEY with its public key, or the stored key, which was created once. */
export async function vapidKeys(deps: Pick<Context, "config" | "db">): Promise<VapidKeys> {
  const configured = deps.config.VAPID_PRIVATE_KEY;
  const key = configured ? Buffer.from(configured, "base64url") : (await dataKey(deps, "vapid")).key;
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(key);
  return { publicKey: curve.getPublicKey("base64url"), privateKey: key.toString("base64url") };
}
