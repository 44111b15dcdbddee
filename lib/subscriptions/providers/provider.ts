import type { Config } from "../../config";
import type { ProviderEvent } from "../events";

/** A webhook delivery: the body to the byte, since signatures are over bytes, and its headers. */
export type Delivery = {
  raw: Uint8Array;
  headers: { get: (name: string) => string | null };
  /** The body as JSON, for after its authenticity is known. @throws AppError malformed_json */
  json: () => unknown;
};

/** What is different from one billing provider to the next. */
export type Provider = {
  /** Told apart by this in the database. */
  name: string;
  /** @throws AppError webhook_not_configured, webhook_unauthorized */
  authenticate: (config: Config, delivery: Delivery, now: Date) => void;
  /**
   * Reads a body, already JSON and fit to be stored.
   * @throws AppError validation_failed where it names no event; whatever else is missing or wrong is left out.
   */
  read: (body: unknown, receivedAt: Date) => ProviderEvent;
};
