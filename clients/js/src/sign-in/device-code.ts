import type { Client } from "../http/client.js";
import { HomeportError } from "../http/problem.js";
import { readJson } from "../http/request.js";
import { clientIdOf, exchange } from "./oauth.js";

/** RFC 8628, section 3.5. */
const SLOW_DOWN_SECONDS = 5;

export type DeviceCode = {
  /** The user enters it at `verificationUri`. */
  userCode: string;
  verificationUri: string;
  /** The same with the code in it, for a link or a QR code. */
  verificationUriComplete: string;
};

/**
 * Signs in a command line or a television: `show` shows a code, which the user enters in any browser (RFC 8628).
 * @throws HomeportError `access_denied` if the user refuses, `expired_token` after ten minutes
 */
export async function signInWithDeviceCode(
  client: Client,
  show: (code: DeviceCode) => void,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const body = new URLSearchParams({ client_id: clientIdOf(client) });
  const started = (await readJson(await client.send("POST", "/api/auth/oauth/device", { body, signal }))) as Started;
  show({
    userCode: started.user_code,
    verificationUri: started.verification_uri,
    verificationUriComplete: started.verification_uri_complete,
  });
  let intervalSeconds = started.interval;
  for (;;) {
    await client.wait(intervalSeconds * 1000, signal);
    const code = await poll(client, started.device_code);
    if (code === "signed_in") return;
    if (code === "slow_down") intervalSeconds += SLOW_DOWN_SECONDS;
  }
}

type Started = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  interval: number;
};

/** Asks once. A network that is out of reach for a moment does not end the sign-in; the code's expiry does. */
async function poll(client: Client, deviceCode: string): Promise<string> {
  try {
    await exchange(client, { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: deviceCode });
    return "signed_in";
  } catch (error) {
    const code = error instanceof HomeportError ? error.code : "";
    if (["authorization_pending", "slow_down", "network_error"].includes(code)) return code;
    throw error;
  }
}
