type Given = { BILLING_PROVIDER: string; BILLING_WEBHOOK_SIGNING_SECRET?: string | undefined };

/** With an empty or public key anybody could sign. Standard Webhooks specification, "Signature scheme". */
export function weakWebhookSecret({
  BILLING_PROVIDER: provider,
  BILLING_WEBHOOK_SIGNING_SECRET: secret,
}: Given): string[] {
  if (provider !== "standard-webhooks" || secret === undefined) return [];
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (key.length >= 24 && !/^wh[ps]k_/.test(secret)) return [];
  return ["BILLING_WEBHOOK_SIGNING_SECRET: has to be whsec_ and the base64 of 24 to 64 random bytes"];
}
