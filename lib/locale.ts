/** The languages of emails. The first one is used if an account has none of them. */
export const LOCALES = ["en", "de"] as const;
export type Locale = (typeof LOCALES)[number];

/** The locale of a language tag such as "de-AT", by its first subtag (RFC 4647, section 3.4); null if there is none. */
export function toLocale(tag: string | null | undefined): Locale | null {
  const language = tag?.trim().split(/[-_]/, 1)[0]?.toLowerCase();
  return LOCALES.find((locale) => locale === language) ?? null;
}
