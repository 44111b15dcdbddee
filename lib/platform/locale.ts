/** The languages of emails, pages and browser notifications. The first one is used if an account has none of them. */
export const LOCALES = ["en", "de"] as const;
export type Locale = (typeof LOCALES)[number];

/** Each language's name in itself. */
export const LOCALE_NAMES: Record<Locale, string> = { en: "English", de: "Deutsch" };

/** Longer headers are cut: browsers send a few dozen characters. */
const MAX_HEADER_LENGTH = 1_000;

/** The locale of a language tag such as "de-AT", by its first subtag (RFC 4647, section 3.4); null if there is none. */
export function toLocale(tag: string | null | undefined): Locale | null {
  const language = tag?.trim().split(/[-_]/, 1)[0]?.toLowerCase();
  return LOCALES.find((locale) => locale === language) ?? null;
}

/** The locale that an Accept-Language header prefers (RFC 9110, section 12.5.4); null if it lists none of ours. */
export function preferredLocale(acceptLanguage: string | null): Locale | null {
  const ranges = (acceptLanguage ?? "").slice(0, MAX_HEADER_LENGTH).split(",");
  const weighted = ranges.map((range) => {
    const [tag, ...parameters] = range.split(";");
    const quality = parameters.find((parameter) => /^\s*q=/i.test(parameter))?.replace(/^\s*q=/i, "");
    return { locale: toLocale(tag), quality: Number(quality ?? 1) };
  });
  const accepted = weighted.filter(({ locale, quality }) => locale !== null && quality > 0);
  return accepted.sort((a, b) => b.quality - a.quality)[0]?.locale ?? null;
}
