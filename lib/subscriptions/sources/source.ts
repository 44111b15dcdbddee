import type { z } from "zod";
import type { Context } from "../../context";
import { AppError, isAppError } from "../../errors";
import { fieldMessage } from "../../platform/field-message";
import type { ProviderEvent } from "../events";
import type { NewEvent } from "../inbox/store";
import type { Provider } from "../providers/provider";
import { sanitizeJson } from "../sanitize";

export type SourceDeps = Pick<Context, "billing" | "config" | "db" | "now">;

/** What the state that an API returns is stored as. */
export type StateType = "SNAPSHOT" | "IMPORT";

/**
 * A purchase as a provider's API returns it. `toEvent` makes its event, which also names the customer of that id, and the
 * payload from which a replay reads the event again, if there is one, with the event's id.
 */
export type FoundPurchase = {
  provider: string;
  email: string | null;
  toEvent: (customer?: string) => { event: ProviderEvent; toPayload: ((eventId: string) => unknown) | null };
};

/** The time whose events a sweep reads, and where it continues; null at the beginning. */
export type SweepWindow = { from: Date; until: Date; position: string | null };

/**
 * The API of a provider. Each method throws BillingApiError, or AppError billing_api_failed for a response that is not as
 * documented.
 */
export type Source = {
  provider: string;
  api: Api;
  /** Whether there is a key. */
  isOpen: (deps: Pick<Context, "billing">) => boolean;
  /** The shortest time from one request to the next, by the provider's limits. */
  intervalMs: number;
  /** How long the provider keeps the events that it has sent. */
  eventDays?: number;
  /**
   * Reads what a reference names: a customer of RevenueCat by the App User ID, a purchase of the others by its original
   * transaction. Empty: the API does not know it.
   */
  readPurchases: (deps: SourceDeps, reference: string, requestedAt: Date) => Promise<FoundPurchase[]>;
  /** Reads the next page of the events that the provider has sent, in any order. `next` null: there are no more. */
  readEvents?: (
    deps: SourceDeps,
    window: SweepWindow,
    requestedAt: Date,
  ) => Promise<{ events: NewEvent[]; next: string | null }>;
};

/** A provider's API in messages, and the setting of its key. */
export type Api = { name: string; setting: string };

export function notConfigured(setting: string): AppError {
  return new AppError("billing_api_not_configured", { detail: `${setting} is not set: the provider's API needs it.` });
}

/** An error that a repetition does not help against. The message of an API has no secret. */
export function failed({ name, setting }: Api, error: unknown): AppError {
  if (isAppError(error)) return error;
  const { message, status } = error as Error & { status?: number };
  const isKey = status === 401 || status === 403;
  const detail = `${name}: ${message}${isKey ? `. Check ${setting} and what it may read.` : ""}`;
  return new AppError("billing_api_failed", { detail, cause: error });
}

/** @throws AppError billing_api_failed for a response of another form */
export function parseResponse<Schema extends z.ZodType>(api: Api, schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = issue ? `: ${issue.path.join("/")} ${issue.message}` : "";
  throw failed(api, new Error(`the response is not as documented${at}`));
}

/** A purchase that a provider's reader reads as it reads a delivery. */
export function asDelivery(
  provider: Provider,
  { config }: Pick<SourceDeps, "config">,
  receivedAt: Date,
  deliveryOf: (eventId: string, customer?: string) => unknown,
): FoundPurchase["toEvent"] {
  return (customer) => {
    const toPayload = (eventId: string) => provider.toPayload(sanitizeJson(deliveryOf(eventId, customer)));
    return { event: provider.read(toPayload("unnamed"), receivedAt, config.BILLING_PRODUCTS), toPayload };
  };
}

/** An event that an API returns as it was delivered. */
export function toNewEvent(
  provider: Provider,
  { config }: Pick<SourceDeps, "config">,
  receivedAt: Date,
  eventId: string,
  delivery: unknown,
): NewEvent {
  const payload = provider.toPayload(sanitizeJson(delivery));
  const event = provider.read(payload, receivedAt, config.BILLING_PRODUCTS);
  return { provider: provider.name, eventId, event, payload, receivedAt };
}
