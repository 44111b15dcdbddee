/**
 * What is counted, by UTC hour. "events": those of the hour. "total": since midnight, as of the end of the hour, because
 * distinct accounts cannot be added up. "level": how many there were.
 */
export const METRICS = {
  sign_ups: "events",
  active_accounts: "total",
  active_subscriptions: "level",
  subscriptions_started: "events",
  subscriptions_renewed: "events",
  subscriptions_canceled: "events",
  subscriptions_expired: "events",
  update_checks: "total",
  notifications_sent: "events",
  notifications_failed: "events",
} as const;

export type Metric = keyof typeof METRICS;

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;

/** The start of an hour or of a day in UTC. */
export function startOf(at: Date, lengthMs: number): Date {
  return new Date(Math.floor(at.getTime() / lengthMs) * lengthMs);
}
