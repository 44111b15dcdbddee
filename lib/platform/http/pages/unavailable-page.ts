import type { Config } from "../../config";
import { LOCALES, type Locale, preferredLocale } from "../../locale";

type Brand = Pick<Config, "BRAND_NAME" | "BRAND_SUPPORT">;

const TEXTS: Record<Locale, { title: string; lead: string; downloads: string; help: string }> = {
  en: {
    title: "Temporarily unavailable",
    lead: "This page is temporarily unavailable. No data is lost. Try again in a minute.",
    downloads: '<a href="/download">Downloads</a> still work.',
    help: "Do you need help?",
  },
  de: {
    title: "Vorübergehend nicht verfügbar",
    lead: "Diese Seite ist vorübergehend nicht verfügbar. Es gehen keine Daten verloren. Versuchen Sie es in einer Minute erneut.",
    downloads: '<a href="/download">Downloads</a> funktionieren weiterhin.',
    help: "Brauchen Sie Hilfe?",
  },
};

/**
 * The page shown in place of those that need the database while it is unavailable. A static document, because a Next
 * page cannot set status 503. `nonce` is the one of the Content-Security-Policy.
 */
export function unavailablePage(brand: Brand, nonce: string, acceptLanguage: string | null): string {
  const locale = preferredLocale(acceptLanguage) ?? LOCALES[0];
  const { title, lead, downloads, help } = TEXTS[locale];
  const { BRAND_NAME: name, BRAND_SUPPORT: support } = brand;
  const link = support && `<a href="${escapeHtml(support.href)}">${escapeHtml(support.label)}</a>`;
  return `<!doctype html>
<html lang="${locale}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${escapeHtml(name)}</title>
<style nonce="${nonce}">body { font: 1rem/1.55 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem }</style>
<main>
<h1>${title}</h1>
<p>${lead}</p>
<p>${downloads}</p>
${link ? `<p>${help} ${link}</p>\n` : ""}</main>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
