import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { AppError } from "../errors";
import type { Config } from "./config";
import { logoType } from "./config/brand";

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

function rgbOf(color: string): [red: number, green: number, blue: number] {
  const value = Number.parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 0xff, value & 0xff];
}

/** The parts of the configuration that the public pages and the emails show. */
export type BrandConfig = Pick<
  Config,
  | "BRAND_NAME"
  | "BRAND_COLOR"
  | "BRAND_COLOR_DARK"
  | "BRAND_LOGO"
  | "BRAND_LOGO_DARK"
  | "BRAND_PRODUCTS"
  | "BRAND_SUPPORT"
  | "BRAND_IMPRINT_URL"
>;

/** The accents of light and dark pages; null: the pages' own. */
export function brandAccents(config: BrandConfig): { light: Accent; dark: Accent } | null {
  const { BRAND_COLOR: color, BRAND_COLOR_DARK: dark } = config;
  if (color === undefined) return null;
  return { light: lightAccent(color), dark: darkAccent(dark ?? color) };
}

/** The style sheet with the brand's colors, which pages load after their own. */
export function brandStylesheet(config: BrandConfig): string {
  const accents = brandAccents(config);
  if (!accents) return "";
  const tokens = ({ accent, onAccent }: Accent) => `html:root { --accent: ${accent}; --on-accent: ${onAccent} }`;
  return `${tokens(accents.light)}\n@media (prefers-color-scheme: dark) { ${tokens(accents.dark)} }\n`;
}

/** The path of the brand's style sheet; null if it would be empty. It changes with the content. */
export function brandStylesheetPath(config: BrandConfig): string | null {
  const text = brandStylesheet(config);
  if (text === "") return null;
  return `/brand/style.css?v=${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;
}

/** A logo's bytes and media type. @throws AppError not_found if none is configured, or its file is gone */
export async function readLogo(path: string | undefined): Promise<{ bytes: Buffer; type: string }> {
  try {
    const bytes = await readFile(/*turbopackIgnore: true*/ path ?? "");
    const type = logoType(bytes);
    if (type !== null) return { bytes, type };
  } catch {
    // reported below
  }
  throw new AppError("not_found");
}

/**
 * A product's name for customers, by its ID in the release catalog or at the billing provider; null if it has none.
 * Google Play's IDs name a base plan after a colon, which may be left out.
 */
export function productName({ BRAND_PRODUCTS: names }: Pick<BrandConfig, "BRAND_PRODUCTS">, id: string): string | null {
  return names.get(id) ?? names.get(id.split(":", 1)[0] ?? "") ?? null;
}
