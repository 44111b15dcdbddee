/** The body of a part in quoted-printable, up to the next boundary or the end of the message. */
const PART = /(?<=^Content-Transfer-Encoding: )quoted-printable(\r\n\r\n)([\s\S]*?)(?=\r\n--|$(?![\s\S]))/gim;

/** A message whose parts in quoted-printable (RFC 2045, section 6.7) are turned into 8bit. Their text is UTF-8. */
export function decodeQuotedPrintable(message: string): string {
  return message.replace(PART, (_, blankLine: string, encoded: string) => {
    const bytes = encoded
      .replace(/=\r\n/g, "")
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return `8bit${blankLine}${Buffer.from(bytes, "latin1")}`;
  });
}
