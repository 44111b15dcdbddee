import { call } from "@/tests/support/api";
import { withContext } from "@/tests/support/context";
import { apple, appleBody, type Notification, PROVIDERS, paddleHeader, stripeHeader } from "./providers";

const PATH = "/api/subscription/billing-provider-webhook";

export type Receipt = readonly [number, { status?: string; eventId?: string; code?: string }];

/** Delivers a body to the webhook, where the providers are configured. */
export function deliverWith(
  body: string,
  headers: Record<string, string>,
  query = "",
  config = {},
  ip?: string,
): Promise<Receipt> {
  return withContext({ config: { ...PROVIDERS, ...config } }, async () => {
    const all = { "content-type": "application/json", ...headers };
    const response = await call("POST", `${PATH}${query}`, { body, headers: all, ...(ip && { ip }) });
    return [response.status, (await response.json()) as Receipt[1]] as const;
  });
}

export function sendStripe(event: unknown, options: { at?: Date; secret?: string } = {}): Promise<Receipt> {
  const body = JSON.stringify(event);
  return deliverWith(body, stripeHeader(body, options));
}

export function sendPaddle(event: unknown, options: { ms?: number; secret?: string } = {}): Promise<Receipt> {
  const body = JSON.stringify(event);
  return deliverWith(body, paddleHeader(body, options));
}

export const sendApple = (given: Notification, chain = apple, ip?: string, config = {}): Promise<Receipt> =>
  deliverWith(appleBody(given, chain), {}, "", config, ip);
