import Stripe from "stripe";

const { signature } = Stripe.webhooks;
const TOLERANCE_SECONDS = 300;

/** Whether one of the secrets signed a body at most five minutes ago (Stripe, "Verify webhook signatures"). */
export function isSigned(raw: Uint8Array, header: string, secrets: readonly string[], now: Date): boolean {
  return secrets.some((secret) => {
    try {
      return signature?.verifyHeader(raw, header, secret, TOLERANCE_SECONDS, undefined, now.getTime()) ?? false;
    } catch (error) {
      if (error instanceof Stripe.errors.StripeSignatureVerificationError) return false;
      throw error;
    }
  });
}
