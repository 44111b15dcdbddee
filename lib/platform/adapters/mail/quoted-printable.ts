/** A part's encoding, which nodemailer writes last in the header, and the body that follows. */
const ENCODED = /(?<=^Content-Transfer-Encoding: )quoted-printable(\r\n\r\n)([\s\S]*)/im;

/**
 * A message whose parts in quoted-printable (RFC 2045, section 6.7) are turned into 8bit. Their text is UTF-8. Parts end at
 * the message's own boundary (RFC 2046, section 5.1.1): a soft line break in a link can also be followed by two hyphens.
 */
export function decodeQuotedPrintable(message: string): string {
  const [, boundary] = /boundary="([^"]+)"/.exec(message) ?? [];
  if (!boundary) return decodePart(message);
  const delimiter = `\r\n--${boundary}`;
  return message.split(delimiter).map(decodePart).join(delimiter);
}

function decodePart(part: string): string {
  return part.replace(ENCODED, (_, blankLine: string, encoded: string) => {
    const bytes = encoded
      .replace(/=\r\n/g, "")
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return `8bit${blankLine}${Buffer.from(bytes, "latin1")}`;
  });
}
