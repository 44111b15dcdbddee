import { type BrandConfig, brandAccents } from "../brand/brand";
import type { Config } from "../config";
import { LOCALES, type Locale } from "../locale";
import type { Email } from "./emails";
import { renderHtml } from "./render-html";
import { de } from "./texts/de";
import { en } from "./texts/en";
import type { Block, EmailInput, EmailTexts } from "./texts/text-types";

/** The texts of all emails, by language. */
const EMAIL_TEXTS: Record<Locale, EmailTexts> = { en, de };

/** RFC 5322, section 2.1.1, recommends 78 characters. */
const MAX_LINE_LENGTH = 76;

/** A message's plain text. Links stand on lines of their own. */
function renderText({ blocks, footers }: { blocks: readonly Block[]; footers: readonly string[] }): string {
  return `${[...blocks.map(toText), footers.join("\n")].join("\n\n")}\n`;
}

function toText(block: Block): string {
  if (typeof block === "string") return wrap(block);
  if ("link" in block) return block.link;
  if ("list" in block) return block.list.map((entry) => `- ${entry}`).join("\n");
  return block.facts.map(([name, value]) => `${name}: ${value}`).join("\n");
}

/** Breaks a paragraph between words. */
function wrap(paragraph: string): string {
  const lines = [""];
  for (const word of paragraph.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + 1 + word.length > MAX_LINE_LENGTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

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
