import { Environment, SignedDataVerifier, VerificationException } from "@apple/app-store-server-library";
import type { AppStoreApp } from "../../platform/config/billing";

/** What Apple signed: the notification, and what it contains in signed form. */
export type SignedNotification = { notification: unknown; transaction: unknown; renewalInfo: unknown };

/** Those of Xcode and of local tests are not signed by Apple. */
const ENVIRONMENTS = [Environment.PRODUCTION, Environment.SANDBOX];

/**
 * Verifies a notification for one of the apps, in production or the sandbox, with the chain of certificates that it
 * contains. Makes no request for revoked certificates. Returns null if Apple did not sign it for any of them.
 * `claimed`: the environment that it names, if it names one.
 */
export async function verify(signed: string, apps: readonly AppStoreApp[], root: string, claimed?: string) {
  for (const { appleId, bundleId } of apps) {
    for (const environment of ENVIRONMENTS) {
      if (claimed !== undefined && claimed !== environment) continue;
      const verifier = new SignedDataVerifier([Buffer.from(root)], false, environment, bundleId, appleId);
      const found = await verifyWith(verifier, signed);
      if (found) return found;
    }
  }
  return null;
}

async function verifyWith(verifier: SignedDataVerifier, signed: string): Promise<SignedNotification | null> {
  try {
    const notification = await verifier.verifyAndDecodeNotification(signed);
    const { signedTransactionInfo: transaction, signedRenewalInfo: renewal } = notification.data ?? {};
    return {
      notification,
      transaction: transaction ? await verifier.verifyAndDecodeTransaction(transaction) : null,
      renewalInfo: renewal ? await verifier.verifyAndDecodeRenewalInfo(renewal) : null,
    };
  } catch (error) {
    if (error instanceof VerificationException) return null;
    throw error;
  }
}
