import type { Locale } from "../locale";

/**
 * The client of a request. `ip` is its IPv4 address, its IPv6 network (/64) or "unknown"; `userAgent` has at most 256
 * characters; `deviceId` comes from the device cookie, or is new (`isNewDevice`) if there is none; `locale` is the one of our
 * languages that the client prefers.
 */
export type Caller = {
  ip: string;
  userAgent: string | null;
  deviceId: string;
  isNewDevice?: true;
  locale?: Locale | null;
};
