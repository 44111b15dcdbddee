import { LOCALES, type Locale } from "../locale";
import type { Email } from "./emails";
import { renderHtml } from "./render-html";
import { renderText } from "./render-text";
import { de } from "./texts/de";
import { en } from "./texts/en";
import type { EmailInput, EmailTexts } from "./texts/texts";

const TEXTS: Record<Locale, EmailTexts> = { en, de };

type Recipient = { to: string; locale: Locale | null; baseUrl: string };

/** Composes an email in the recipient's language, as plain text and as HTML. */
export function composeEmail<Kind extends keyof EmailInput>(
  kind: Kind,
  { to, locale: given, baseUrl }: Recipient,
  input: EmailInput[Kind],
): Email {
  const locale = given ?? LOCALES[0];
  const { emails, greeting, footer, operatorFooter } = TEXTS[locale];
  const { subject, body, isForOperator } = emails[kind](to, input);
  const writeFooter = isForOperator ? operatorFooter : footer;
  const message = { subject, blocks: [greeting, ...body], footer: writeFooter(new URL(baseUrl).host) };
  return { to, locale, subject, text: renderText(message), html: renderHtml(message, locale) };
}
