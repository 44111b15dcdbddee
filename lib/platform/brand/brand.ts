import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { AppError } from "../../errors";
import type { Config } from "../config";
import { logoType } from "../config/brand";
import { type Accent, darkAccent, lightAccent } from "./colors";

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
