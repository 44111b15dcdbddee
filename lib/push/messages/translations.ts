/** The text of a notification in another language. */
export type Translation = { title: string; body: string };

/** The identifier of a device's locale as a language tag: iOS writes `de_AT`, or `en_US@calendar=japanese`. */
export function toLanguageTag(locale: string): string {
  return (locale.split(/[@.]/, 1)[0] ?? "").replaceAll("_", "-").toLowerCase();
}

/**
 * Finds the language tag that serves a device's locale best, by lookup (RFC 4647, section 3.4): `de-at` serves de-AT, or
 * else `de` does. null: the default text. The tags are in lower case.
 */
export function findTranslation(tags: { has: (tag: string) => boolean }, locale: string | null): string | null {
  let tag = locale === null ? "" : toLanguageTag(locale);
  while (tag !== "" && !tags.has(tag)) {
    const shorter = tag.slice(0, Math.max(tag.lastIndexOf("-"), 0));
    tag = /(?:^|-)[a-z0-9]$/.test(shorter) ? shorter.slice(0, Math.max(shorter.lastIndexOf("-"), 0)) : shorter;
  }
  return tag === "" ? null : tag;
}
