import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { list } from "./values";

/** Larger images would delay every page. */
const MAX_LOGO_BYTES = 256 * 1024;

/** `BRAND_NAME`: it is part of titles, headers and subjects, so it is one line. */
export const brandName = z
  .string()
  .trim()
  .min(1)
  .max(60, "must be at most 60 characters long")
  .regex(/^[^\p{Cc}<>]*$/u, "must be one line without < and >");

/** `BRAND_COLOR`: a color in hexadecimal, in lower case. */
export const color = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^#[\da-f]{6}$/, "must be a color in hexadecimal, such as #0a5a78");

/** `BRAND_PRODUCTS`: the names of products by the catalog's product or by the billing provider's product ID. */
export const productNames = list.pipe(
  z
    .array(z.string().regex(/^[^=]+=\s*\S.*$/, "must be a product's ID and its name: com.example.pro=Example Pro"))
    .transform((entries): ReadonlyMap<string, string> => {
      const pairs = entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]);
      return new Map(pairs.map(([id = "", name = ""]) => [id.trim(), name.trim()]));
    }),
);

/** `BRAND_LOGO`: the path of an SVG, PNG or WebP file. */
export const logo = z
  .string()
  .trim()
  .superRefine((path, ctx) => {
    const error = logoError(path);
    if (error) ctx.addIssue(error);
  });

function logoError(path: string): string | undefined {
  try {
    if (statSync(path).size > MAX_LOGO_BYTES) return `must be a file of at most ${MAX_LOGO_BYTES / 1024} KiB`;
    return logoType(readFileSync(path)) === null ? "must be an SVG, PNG or WebP image" : undefined;
  } catch {
    return "must be the path of a file that can be read";
  }
}

/** The media type of a logo, by its content; null: another one. */
export function logoType(bytes: Buffer): string | null {
  if (bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) return "image/png";
  if (bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP") return "image/webp";
  return /<svg[\s>]/.test(bytes.toString("utf8", 0, 4096)) ? "image/svg+xml" : null;
}

/** A page of the company, such as its privacy policy. */
export const webPage = z.url({ protocol: /^https?$/, error: "must be a URL with https://" });

/** `BRAND_SUPPORT`: an email address or a URL, as the target of a link. */
export const support = z
  .string()
  .trim()
  .transform((value, ctx) => {
    if (z.email().safeParse(value).success) return { label: value, href: `mailto:${value}` };
    if (webPage.safeParse(value).success) return { label: value.replace(/^https?:\/\//, ""), href: value };
    ctx.addIssue("must be an email address or a URL with https://");
    return z.NEVER;
  });
