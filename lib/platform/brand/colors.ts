type Rgb = readonly [red: number, green: number, blue: number];

/** A link or button, and the text on it. */
export type Accent = { accent: string; onAccent: string };
/** What accents stand on: the page's background and the surface of cards. */
type ColorScheme = { background: string; surface: string; onAccent: string; towards: string };

/** Web Content Accessibility Guidelines 2.2, 1.4.3 (AA). */
const MIN_CONTRAST = 4.5;
const STEP = 0.02;

/** The colors of base.css and of emails. The text on an accent is at least as far from it as they are. */
const LIGHT: ColorScheme = { background: "#f3f5f8", surface: "#ffffff", onAccent: "#ffffff", towards: "#000000" };
const DARK: ColorScheme = { background: "#0f1519", surface: "#1e2229", onAccent: "#0a1014", towards: "#ffffff" };

/** The brand's color for light pages: darkened until text in it, and white text on it, is legible. */
export const lightAccent = (color: string): Accent => legibleAccent(color, LIGHT);

/** The brand's color for dark pages: lightened in the same way. */
export const darkAccent = (color: string): Accent => legibleAccent(color, DARK);

function legibleAccent(color: string, { background, surface, onAccent, towards }: ColorScheme): Accent {
  const isLegible = (accent: string) =>
    [background, surface, onAccent].every((ground) => contrast(accent, ground) >= MIN_CONTRAST);
  let share = 0;
  let accent = color;
  while (share < 1 && !isLegible(accent)) {
    share += STEP;
    accent = mix(color, towards, Math.min(share, 1));
  }
  return { accent, onAccent };
}

/** The contrast ratio of two colors, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** WCAG 2.2, "relative luminance". */
function luminance(color: string): number {
  const linear = rgbOf(color).map((value) => {
    const channel = value / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (linear[0] ?? 0) + 0.7152 * (linear[1] ?? 0) + 0.0722 * (linear[2] ?? 0);
}

function mix(color: string, other: string, share: number): string {
  const target = rgbOf(other);
  const channels = rgbOf(color).map((value, i) => Math.round(value + ((target[i] ?? 0) - value) * share));
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function rgbOf(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 0xff, value & 0xff];
}
