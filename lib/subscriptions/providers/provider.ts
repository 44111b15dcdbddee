import type { Context } from "../../context";
import type { Config } from "../../platform/config";
import type { ProviderEvent } from "../events";

/** A webhook delivery. `raw` is the body as received, since signatures cover its bytes. */
export type Delivery = {
  raw: Uint8Array;
  headers: { get: (name: string) => string | null };
  /** The sender that the URL names, `?provider=`. */
  provider?: string | undefined;
  /** The sender's network, and the limits by it. */
  network: string;
  limits: Pick<Context["limits"], "consume" | "refund">;
  /** Parses the body as JSON. Call it after authentication. @throws AppError malformed_json */
  json: () => unknown;
};

/** Entitlement ids by a provider's product or price id: `BILLING_PRODUCTS`. */
export type Products = Config["BILLING_PRODUCTS"];

/** A billing provider. docs/guides/billing.md describes how to add one. */
export type Provider = {
  /** The provider's name in the database, and in `?provider=`. */
  name: string;
  /** Whether a delivery looks like this provider's, by its signature's header or field. Proves nothing. */
  recognizes: (delivery: Delivery, config: Config) => boolean;
  /**
   * Authenticates a delivery. Returns its body: the parsed JSON, or what was signed in it.
   * @throws AppError webhook_not_configured, webhook_unauthorized, malformed_json
   */
  authenticate: (config: Config, delivery: Delivery, now: Date) => unknown;
  /**
   * Fetches by the API what a delivery only names.
   * @throws AppError billing_api_not_configured, unavailable
   */
  complete?: (billing: Context["billing"], body: unknown, now: Date) => Promise<unknown>;
  /** Returns the event's id, 1 to 255 characters, the same for every delivery of it. @throws AppError validation_failed */
  eventId: (body: unknown, delivery: Delivery) => string;
  /** Returns the part of the body to store: all that `read` needs, without personal data. */
  toPayload: (body: unknown) => unknown;
  /**
   * Reads a payload, new or stored years ago. Ignores fields that are missing or invalid. `products` has the entitlements
   * where the provider sends none.
   */
  read: (body: unknown, receivedAt: Date, products: Products) => ProviderEvent;
};
