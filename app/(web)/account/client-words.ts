/** The most particular first: each also names those below it. */
const BROWSERS = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bDarwin\//, "Mac"],
  [/\bLinux\b/, "Linux"],
] as const;
const MOST_CHARACTERS = 40;

/** A user agent (RFC 9110, 10.1.5) as people know it: "Firefox on Windows". What is no browser goes by its product. */
export function clientInWords(userAgent: string | null): string {
  if (!userAgent) return "An unknown program";
  const nameIn = (names: typeof BROWSERS | typeof SYSTEMS) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const program = nameIn(BROWSERS) ?? userAgent.split(/[/ ]/, 1)[0]?.slice(0, MOST_CHARACTERS);
  const system = nameIn(SYSTEMS);
  return [program || "An unknown program", system].filter(Boolean).join(" on ");
}
