const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

/** A date, such as "20 Nov 2026". */
export function Day({ at }: { at: Date }) {
  return <time dateTime={at.toISOString()}>{DAY.format(at)}</time>;
}

/** A date and time, such as "20 Nov 2026, 14:05 UTC". */
export function Moment({ at }: { at: Date }) {
  return <time dateTime={at.toISOString()}>{MINUTE.format(at)} UTC</time>;
}
