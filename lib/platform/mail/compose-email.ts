import { type BrandConfig, brandAccents } from "../brand/brand";
import type { Config } from "../config";
import { LOCALES, type Locale } from "../locale";
import type { Email } from "./emails";
import { renderHtml } from "./render-html";
import { renderText } from "./render-text";
import { EMAIL_TEXTS } from "./texts/email-texts";
import type { EmailInput } from "./texts/text-types";

type Recipient = { to: string; locale: Locale | null; config: Pick<Config, "baseUrl"> & BrandConfig };

/** Composes an email in the recipient's language, as plain text and as HTML. */
export function composeEmail<Kind extends keyof EmailInput>(
  kind: Kind,
  { to, locale: given, config }: Recipient,
  input: EmailInput[Kind],
): Email {
  const locale = given ?? LOCALES[0];
  const { emails, greeting, footer, operatorFooter, support, imprint } = EMAIL_TEXTS[locale];
  const { subject, body, isForOperator } = emails[kind](to, input);
  const { BRAND_NAME: brand, BRAND_SUPPORT: contact, BRAND_IMPRINT_URL: imprintUrl } = config;
  const host = new URL(config.baseUrl).host;
  const footers = [
    isForOperator ? operatorFooter(host) : footer(brand, host),
    ...(contact && !isForOperator ? [support(contact.label)] : []),
    ...(imprintUrl ? [imprint(imprintUrl)] : []),
  ];
  const message = { brand, accents: brandAccents(config), subject, blocks: [greeting, ...body], footers };
  return { to, locale, subject, text: renderText(message), html: renderHtml(message, locale) };
}
