import type { Config } from "../../config";
import type { ProviderEvent } from "../events";

/** A webhook delivery: the body to the byte, since signatures are over bytes, and its headers. */
export type Delivery = {
  raw: Uint8Array;
  headers: { get: (name: string) => string | null };
  /** The body as JSON, for after its authenticity is known. @throws AppError malformed_json */
  json: () => unknown;
};

/** What is different from one billing provider to the next: docs/guides/billing.md, "Another provider". */
export type Provider = {
  /** Told apart by this in the database. */
  name: string;
  /** @throws AppError webhook_not_configured, webhook_unauthorized */
  authenticate: (config: Config, delivery: Delivery, now: Date) => void;
  /** The event's id, the same on every delivery of it: 1 to 255 characters. @throws AppError validation_failed */
  eventId: (body: unknown, delivery: Delivery) => string;
  /** What of a body may be kept: all that `read` reads, nothing that describes the person. */
  withoutAttributes: (body: unknown) => unknown;
  /** Reads a body that is fit to be stored, now or years later. Whatever is missing or wrong is left out. */
  read: (body: unknown, receivedAt: Date) => ProviderEvent;
};
