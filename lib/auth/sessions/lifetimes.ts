const DAY_MS = 24 * 60 * 60 * 1000;

/** How long a session lasts without use, and in total. */
export const LIFETIMES = {
  cookie: { idleMs: 7 * DAY_MS, absoluteMs: 30 * DAY_MS },
  token: { idleMs: 30 * DAY_MS, absoluteMs: 90 * DAY_MS },
} as const;
