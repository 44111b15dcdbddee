import type { Config } from "../../config";
import type { ProviderEvent } from "../events";

/** A webhook delivery. `raw` is the body as received, since signatures cover its bytes. */
export type Delivery = {
  raw: Uint8Array;
  headers: { get: (name: string) => string | null };
  /** Parses the body as JSON. Call it after authentication. @throws AppError malformed_json */
  json: () => unknown;
};

/** A billing provider. docs/guides/billing.md describes how to add one. */
export type Provider = {
  /** The provider's name in the database. */
  name: string;
  /** @throws AppError webhook_not_configured, webhook_unauthorized */
  authenticate: (config: Config, delivery: Delivery, now: Date) => void;
  /** Returns the event's id, 1 to 255 characters, the same for every delivery of it. @throws AppError validation_failed */
  eventId: (body: unknown, delivery: Delivery) => string;
  /** Returns the part of the body to store: all that `read` needs, without personal data. */
  toPayload: (body: unknown) => unknown;
  /** Reads a payload, new or stored years ago. Ignores fields that are missing or invalid. */
  read: (body: unknown, receivedAt: Date) => ProviderEvent;
};
