import type { Locale } from "../locale";
import type { Block } from "./texts/texts";

const FONT = "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
const BUTTON =
  "display:inline-block;padding:10px 18px;border-radius:8px;background:#1f5fbf;color:#ffffff;font-weight:600";
const NAME = "padding:2px 16px 2px 0;color:#5b6472;vertical-align:top;text-align:left;font-weight:400";

/** The light colors are inline. Clients that support a style sheet show the dark ones, too. */
const DARK = `@media (prefers-color-scheme: dark) {
.page { background: #15181d !important; color: #e8eaee !important }
.card { background: #1e2229 !important; border-color: #363c46 !important }
.quiet { color: #a4adba !important }
.button { background: #8ab4f8 !important; color: #10131a !important }
}`;

type Message = { subject: string; blocks: readonly Block[]; footer: string };

/** A message as HTML that loads nothing from elsewhere. All its texts are escaped. */
export function renderHtml({ subject, blocks, footer }: Message, locale: Locale): string {
  return `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${DARK}</style>
</head>
<body class="page" style="margin:0;padding:24px 12px;background:#f3f5f8;color:#1b2027;${FONT}">
<div class="card" style="max-width:560px;margin:0 auto;padding:12px 28px;background:#ffffff;border:1px solid #dbe0e7;border-radius:12px">
<h1 style="margin:16px 0;font-size:21px;line-height:1.3">${escapeHtml(subject)}</h1>
${blocks.map(toHtml).join("\n")}
</div>
<p class="quiet" style="max-width:560px;margin:16px auto;padding:0 28px;font-size:14px;color:#5b6472">${escapeHtml(footer)}</p>
</body>
</html>
`;
}

function toHtml(block: Block): string {
  if (typeof block === "string") return `<p style="margin:16px 0;overflow-wrap:anywhere">${escapeHtml(block)}</p>`;
  if ("link" in block) {
    const style = `${BUTTON};text-decoration:none`;
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
