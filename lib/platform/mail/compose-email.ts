import { type Accent, type BrandConfig, brandAccents } from "../brand";
import type { Config } from "../config";
import { LOCALES, type Locale } from "../locale";
import { type Block, type Email, type EmailInput, type EmailTexts, OPERATOR_EMAILS } from "./emails";
import { en } from "./english";
import { de } from "./german";

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
  const [subject, ...body] = emails[kind](to, input);
  const isForOperator = OPERATOR_EMAILS.includes(kind);
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

/** A notice as a device shows it: without the recipient's address, since anybody can read a locked screen. */
export const composeOnDevice = ({ locale, subject }: Email) => ({ title: subject, body: EMAIL_TEXTS[locale].onDevice });

const FONT = "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
const NAME = "padding:2px 16px 2px 0;color:#50616b;vertical-align:top;text-align:left;font-weight:400";

/** Without a color of the brand. */
const ACCENTS = { light: { accent: "#0a5a78", onAccent: "#ffffff" }, dark: { accent: "#72c7e6", onAccent: "#06212c" } };

/** The light colors are inline. Clients that support a style sheet show the dark ones, too. */
const darkStyles = ({ accent, onAccent }: Accent) => `@media (prefers-color-scheme: dark) {
.page { background: #0f1519 !important; color: #e3eaee !important }
.card { background: #161f25 !important; border-color: #2d3b44 !important }
.quiet { color: #a0b1bb !important }
.brand { color: ${accent} !important }
.button { background: ${accent} !important; color: ${onAccent} !important }
}`;

type Message = {
  brand: string;
  accents: { light: Accent; dark: Accent } | null;
  subject: string;
  blocks: readonly Block[];
  footers: readonly string[];
};

/** A message as HTML that loads nothing from elsewhere. All its texts are escaped. */
function renderHtml({ brand, accents, subject, blocks, footers }: Message, locale: Locale): string {
  const { light, dark } = accents ?? ACCENTS;
  return `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${darkStyles(dark)}</style>
</head>
<body class="page" style="margin:0;padding:24px 12px;background:#f5f7f8;color:#15232b;${FONT}">
<p class="brand" style="max-width:560px;margin:0 auto 14px;padding:0 28px;font-size:17px;font-weight:650;color:${light.accent}">${escapeHtml(brand)}</p>
<div class="card" style="max-width:560px;margin:0 auto;padding:12px 28px;background:#ffffff;border:1px solid #d4dce1;border-radius:12px">
<h1 style="margin:16px 0;font-size:21px;line-height:1.3">${escapeHtml(subject)}</h1>
${blocks.map((block) => toHtml(block, light)).join("\n")}
</div>
<p class="quiet" style="max-width:560px;margin:16px auto;padding:0 28px;font-size:14px;color:#50616b">${footers.map(escapeHtml).join("<br>\n")}</p>
</body>
</html>
`;
}

function toHtml(block: Block, { accent, onAccent }: Accent): string {
  if (typeof block === "string") return `<p style="margin:16px 0;overflow-wrap:anywhere">${escapeHtml(block)}</p>`;
  if ("link" in block) {
    const style = `display:inline-block;padding:10px 18px;border-radius:8px;background:${accent};color:${onAccent};font-weight:600;text-decoration:none`;
    return `<p style="margin:20px 0"><a class="button" href="${escapeHtml(block.link)}" style="${style}">${escapeHtml(block.label)}</a></p>`;
  }
  if ("list" in block) {
    const entries = block.list.map((entry) => `<li>${escapeHtml(entry)}</li>`).join("\n");
    return `<ul style="margin:16px 0;padding-left:24px">\n${entries}\n</ul>`;
  }
  const rows = block.facts.map(
    ([name, value]) =>
      `<tr><th class="quiet" scope="row" style="${NAME}">${escapeHtml(name)}</th><td style="padding:2px 0;overflow-wrap:anywhere">${escapeHtml(value)}</td></tr>`,
  );
  return `<table style="margin:16px 0;border-collapse:collapse">\n${rows.join("\n")}\n</table>`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes text for HTML's content and for attributes in quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
