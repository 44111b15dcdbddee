import { createHmac, randomUUID, sign, X509Certificate } from "node:crypto";
import { extension, issue, pemOf } from "@/dev/app-attest/certificates";
import { clock } from "@/tests/support/clock";

const INTERMEDIATE = "1.2.840.113635.100.6.2.1";
const LEAF = "1.2.840.113635.100.6.11.1";
const marker = (id: string) => extension(id, Buffer.from([0x05, 0x00]));

export type Json = Record<string, unknown>;

/** A chain of certificates such as Apple's: the library checks its two extensions. `shownRoot`: it names another's root. */
export function newAppleChain({ shownRoot }: { shownRoot?: string } = {}) {
  const root = issue({ name: "Test Root CA", isAuthority: true });
  const between = issue({ name: "Test WWDR", isAuthority: true, extensions: [marker(INTERMEDIATE)] }, root);
  const leaf = issue({ name: "Test Signing", extensions: [marker(LEAF)] }, between);
  const x5c = [leaf.der, between.der, shownRoot ? new X509Certificate(shownRoot).raw : root.der].map((der) =>
    der.toString("base64"),
  );
  const signed = (payload: unknown) => {
    const parts = [{ alg: "ES256", x5c }, payload].map((part) =>
      Buffer.from(JSON.stringify(part)).toString("base64url"),
    );
    const input = parts.join(".");
    const key = { key: leaf.privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${input}.${sign("sha256", Buffer.from(input), key).toString("base64url")}`;
  };
  return { rootPem: pemOf(root), signed };
}
export const apple = newAppleChain();

const STRIPE_SECRET = "whsec_stripelive";
const PADDLE_SECRET = "pdl_ntfset_live";
export const PADDLE_SANDBOX_SECRET = "pdl_ntfset_sandbox";
const BUNDLE_ID = "com.example";
const APPLE_ID = 41_234;

/** Three providers, beside the one that the tests are configured for. */
export const PROVIDERS = {
  BILLING_STRIPE_WEBHOOK_SECRET: [STRIPE_SECRET],
  BILLING_PADDLE_WEBHOOK_SECRET: [PADDLE_SECRET],
  BILLING_PADDLE_SANDBOX_WEBHOOK_SECRET: [PADDLE_SANDBOX_SECRET],
  BILLING_APP_STORE_APPS: [{ bundleId: BUNDLE_ID, appleId: APPLE_ID }],
  BILLING_APP_STORE_ROOT_CA: apple.rootPem,
  BILLING_PRODUCTS: new Map([
    ["price_pro", ["pro"]],
    ["prod_pro", ["pro"]],
    ["plink_lifetime", ["pro"]],
    ["pri_01gsz8x8sawmvhz1pv30nge1ke", ["chat"]],
    ["pro_01gsz97mq9pa4fkyy0wqenepkz", ["domains"]],
    ["com.example.product", ["pro"]],
    ["com.example.premium", ["pro", "storage"]],
    ["price_premium", ["pro", "storage"]],
  ]),
};

/** Stripe's header over a body ("Verify webhook signatures manually"). */
export function stripeHeader(payload: string, { at = clock.now(), secret = STRIPE_SECRET } = {}) {
  const t = Math.floor(at.getTime() / 1000);
  return { "stripe-signature": `t=${t},v1=${createHmac("sha256", secret).update(`${t}.${payload}`).digest("hex")}` };
}

/** Paddle's header ("Verify webhook signatures"). */
export function paddleHeader(body: string, { ms = clock.now().getTime(), secret = PADDLE_SECRET } = {}) {
  const ts = Math.floor(ms / 1000);
  const h1 = createHmac("sha256", secret).update(`${ts}:${body}`).digest("hex");
  return { "paddle-signature": `ts=${ts};h1=${h1}` };
}

export type Notification = {
  type: string;
  subtype?: string;
  transaction?: Json;
  renewalInfo?: Json;
  data?: Json;
  /** In `appData`, instead of `data`. */
  appTransaction?: Json;
  uuid?: string;
  at?: Date;
};

/** A notification as the App Store sends it, signed by a chain. */
export function appleBody(given: Notification, { signed } = apple): string {
  const { type, subtype, transaction, renewalInfo, uuid = randomUUID(), at = clock.now() } = given;
  const signedDate = at.getTime();
  const environment = String(given.data?.environment ?? "Production");
  const nested = (part: Json | undefined) => part && signed({ ...part, environment, signedDate, bundleId: BUNDLE_ID });
  const data = {
    environment,
    appAppleId: APPLE_ID,
    bundleId: BUNDLE_ID,
    bundleVersion: "1.2.3",
    signedTransactionInfo: nested(transaction),
    signedRenewalInfo: nested(renewalInfo),
    ...given.data,
  };
  const payload = { notificationType: type, subtype, notificationUUID: uuid, data, version: "2.0", signedDate };
  if (given.appTransaction) {
    const app = { bundleId: BUNDLE_ID, appAppleId: APPLE_ID };
    const signedApp = { ...app, receiptType: environment, receiptCreationDate: signedDate, ...given.appTransaction };
    const appData = { ...app, environment, signedAppTransactionInfo: signed(signedApp) };
    return JSON.stringify({ signedPayload: signed({ ...payload, data: undefined, appData }) });
  }
  return JSON.stringify({ signedPayload: signed(payload) });
}
