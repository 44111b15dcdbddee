import { NodeRuntime, Webhooks } from "@paddle/paddle-node-sdk";

NodeRuntime.initialize(); // the API client does so, which a webhook does not need

/** Whether a secret signed a body within the last five seconds, by this machine's clock (Paddle, "Verify signatures"). */
export async function isSigned(raw: Uint8Array, header: string, secrets: readonly string[]): Promise<boolean> {
  if (!/(?:^|;)ts=\d+(?:;|$)/.test(header) || !/(?:^|;)h1=\w+(?:;|$)/.test(header)) return false;
  const body = new TextDecoder().decode(raw);
  const checks = secrets.map((secret) => new Webhooks().isSignatureValid(body, secret, header));
  return (await Promise.all(checks)).includes(true);
}
