/** The modules around a code that have to stay empty (ISO/IEC 18004, 6.3.8). */
const QUIET_ZONE = 4;

/** Encodes a text as a QR code: an SVG document, black on white whatever the page's colors are. */
export async function qrCodeSvg(text: string): Promise<string> {
  // Loaded at the first use, because few starts need it at once.
  const { default: encodeQR } = await import("qr");
  const rows = encodeQR(text, "raw", { ecc: "medium", border: QUIET_ZONE });
  const squares = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  const size = rows.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`,
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${squares.join("")}"/></svg>`,
  ].join("");
}
