/**
 * Parses Retry-After, seconds or an HTTP date (RFC 9110, section 10.2.3), as seconds from now; undefined if it is absent or
 * invalid.
 */
export function parseRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$|GMT$/.test(text)) return undefined; // Date.parse reads "-5" as a date in May
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) : undefined;
}
