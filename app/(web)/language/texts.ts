import type { Locale } from "@/lib/platform/locale";

/** The texts of a page, or of a part of it, in each language. */
export type Texts<T> = Readonly<Record<Locale, T>>;

/** Declares texts. A text that another language than English lacks, or has besides, is a type error. */
export function defineTexts<T>(texts: { en: T } & Record<Exclude<Locale, "en">, NoInfer<T>>): Texts<T> {
  return texts;
}
