import { z } from "zod";

/**
 * Trimmed, lower-cased, at most 254 characters with 64 before the @ (RFC 5321, 4.5.3.1). ASCII alone, and held
 * against that before it is lower-cased: U+212A, the Kelvin sign, would become a "k".
 */
export const Email = z
  .string()
  .trim()
  .max(254)
  .pipe(z.email("Must be an e-mail address"))
  .refine((email) => email.lastIndexOf("@") <= 64, "Must have at most 64 characters before the @")
  .transform((email) => email.toLowerCase())
  .meta({ description: "An e-mail address, in any case.", examples: ["ann@example.com"] });
